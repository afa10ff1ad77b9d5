import { expect } from "vitest";
import { sseEvents } from "../../core/http/sse.ts";
import { type GatewayUnderTest, jsonInit } from "./gateway-app.ts";
import { streamReply } from "./gateway-transport.ts";

type Member = Readonly<Record<string, unknown>>;

export const greeting = [{ role: "user", content: "Hi" }];
/** A question in each format. */
const questions: Readonly<Record<string, object>> = {
  "chat/completions": { messages: greeting },
  messages: { messages: greeting, max_tokens: 64 },
  responses: { input: "Hi" },
};
export const askedFormats: readonly string[] = Object.keys(questions);

/** Asks a gateway's models of every provider in one of the formats. */
export function askIn(gate: GatewayUnderTest, format: string, more: object): Promise<Response> {
  return gate.send(`open/compat/${format}`, jsonInit({ ...questions[format], ...more }));
}

/** Lets a provider answer with the events of a stream. */
export function streamEvents(
  { transport }: GatewayUnderTest,
  events: readonly object[],
  last = "",
): void {
  const lines = events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
  transport.behave = () => streamReply([...lines, last]);
}

/** An event of a stream in OpenAI's chat format. */
export const chatChunk = (delta: object, finish_reason: string | null = null) => ({
  id: "c1",
  choices: [{ index: 0, delta, finish_reason }],
});

/** The events of a stream of any format. */
export async function anyEventsOf(response: Response): Promise<Member[]> {
  const events: Member[] = [];
  for await (const { data } of sseEvents(response.body!)) {
    if (data !== "[DONE]") events.push(JSON.parse(data) as Member);
  }
  return events;
}

/** What a stream says, whatever its format. */
export async function streamedText(response: Response): Promise<string> {
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const events = (await anyEventsOf(response)) as unknown as {
    type?: string;
    delta?: string | { text?: string };
    choices?: { delta: { content?: string } }[];
  }[];
  return events
    .map(({ type, delta, choices }) => {
      if (type === "response.output_text.delta") return delta as string;
      if (type !== undefined) return typeof delta === "object" ? (delta.text ?? "") : "";
      return choices?.[0]?.delta.content ?? "";
    })
    .join("");
}
