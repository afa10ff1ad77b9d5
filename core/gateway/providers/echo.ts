import { misfitText } from "../../http/fields/misfit.ts";
import * as v from "valibot";
import { utf8 } from "../../crypto/encoding.ts";
import { jsonExcess, parsedJson } from "../../http/json.ts";
import { chatUsage, type ChatUsage } from "../chat/chat-format.ts";
import { chatFront } from "../chat/formats/chat-reply.ts";
import type { ChatDelta, ReplyContext } from "../chat/reply.ts";
import { noUsage } from "../chat/usage.ts";
import type { InboundResponse, OutboundRequest, System, Transport } from "../../ports.ts";

const MODEL = "echo-demo";

const content = v.union([
  v.string(),
  v.array(v.looseObject({ type: v.string(), text: v.optional(v.string()) })),
  v.null(),
]);

const chatRequest = v.looseObject({
  model: v.optional(v.string(), MODEL),
  messages: v.pipe(
    v.array(v.looseObject({ role: v.string(), content: v.optional(content) })),
    v.minLength(1, "expected at least one message"),
  ),
  stream: v.nullish(v.boolean()),
  stream_options: v.nullish(v.looseObject({ include_usage: v.nullish(v.boolean()) })),
});

type ChatRequest = v.InferOutput<typeof chatRequest>;

/**
 * Makes the demo provider: it speaks OpenAI's format, needs no key and no network, and answers with the last user message.
 * The same request gets the same answer, but for `id` and `created`.
 */
export function echoTransport(system: System): Transport {
  return { send: (request) => Promise.resolve(echo(request, system)) };
}

function echo(request: OutboundRequest, system: System): InboundResponse {
  const path = request.url.replace(/^echo:\/*(?:v1\/)?/, "").replace(/\?.*$/s, "");
  if (path === "models" && request.method === "GET") {
    return reply(200, {
      object: "list",
      data: [{ id: MODEL, object: "model", created: 0, owned_by: "causey demo" }],
    });
  }
  if (path !== "chat/completions") {
    return failure(
      404,
      `The demo provider has "chat/completions" and "models", not "${path.slice(0, 64)}": ask another provider for it, such as "/v1/{account_id}/{gateway_id}/openai/${path.slice(0, 64)}"`,
    );
  }
  if (request.method !== "POST") return failure(405, "Send a POST request");
  const chat = readChat(request.body);
  if (typeof chat === "string") return failure(400, chat);
  const { model, stream_options } = chat;
  const context: ReplyContext = {
    chat: { model, messages: [], stream_options },
    given: {},
    id: system.id(),
    created: Math.floor(system.now() / 1000),
  };
  return chat.stream === true ? streamed(chat, context) : whole(chat, context);
}

function readChat(body: OutboundRequest["body"]): ChatRequest | string {
  if (!(body instanceof Uint8Array)) return "The demo provider takes a JSON body of at most 10 MB";
  const text = new TextDecoder().decode(body);
  const excess = jsonExcess(text);
  if (excess !== null) return `Request body has ${excess}`;
  const value = parsedJson(text);
  if (value === undefined) return "Request body is not valid JSON";
  const result = v.safeParse(chatRequest, value);
  if (result.success) return result.output;
  return misfitText(result.issues);
}

function answerTo(chat: ChatRequest): string {
  const last = chat.messages.findLast(({ role }) => role === "user") ?? chat.messages.at(-1);
  return textOf(last?.content);
}

function textOf(value: ChatRequest["messages"][number]["content"]): string {
  if (typeof value === "string") return value;
  return (value ?? []).map((part) => part.text ?? "").join("");
}

/** One token per word: stated here because no tokenizer is meant. */
function words(text: string): string[] {
  return text.match(/\s*\S+/g) ?? [];
}

function usageOf(chat: ChatRequest, answer: string): ChatUsage {
  const tokensIn = chat.messages.reduce(
    (sum, message) => sum + words(textOf(message.content)).length,
    0,
  );
  return chatUsage({ ...noUsage, tokensIn, tokensOut: words(answer).length });
}

function whole(chat: ChatRequest, context: ReplyContext): InboundResponse {
  const text = answerTo(chat);
  const said = { id: "", model: chat.model, text, toolCalls: [], finishReason: "stop" };
  return reply(200, chatFront.reply({ ...said, usage: usageOf(chat, text) }, context));
}

function streamed(chat: ChatRequest, context: ReplyContext): InboundResponse {
  const text = answerTo(chat);
  const writer = chatFront.stream(context);
  const deltas: ChatDelta[] = [
    { delta: { role: "assistant", content: "" } },
    ...words(text).map((word) => ({ delta: { content: word } })),
    { delta: {}, finishReason: "stop", usage: usageOf(chat, text) },
  ];
  const events = [...deltas.map((delta) => () => writer.add(delta)), () => writer.end()];
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const event = events.shift();
        if (event === undefined) controller.close();
        else controller.enqueue(utf8(event()));
      },
    },
    { highWaterMark: 0 },
  );
  return { status: 200, headers: [["content-type", "text/event-stream; charset=utf-8"]], body };
}

function failure(status: number, message: string): InboundResponse {
  return reply(status, chatFront.failure({ kind: "invalid", message, status }));
}

function reply(status: number, body: object): InboundResponse {
  return {
    status,
    headers: [["content-type", "application/json; charset=utf-8"]],
    body: utf8(JSON.stringify(body)),
  };
}
