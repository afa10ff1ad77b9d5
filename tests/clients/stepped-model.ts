import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dataEvents, spokenParts } from "../http/native-model.ts";

/** A model that streams half of its answer, and the other half when it is told to. */
export interface SteppedModel {
  readonly url: string;
  /** How many requests came. */
  readonly requests: number;
  /** How many of them were broken off. */
  readonly aborted: number;
  /** Sends the other half of what has begun, and of all that comes. */
  release(): void;
  /** Holds back the other half of what comes from now on. */
  hold(): void;
  close(): void;
}

/** The text that ends the first half. */
export const halfway: string = spokenParts[1] ?? "";

const usage = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };
const chunk = (choices: readonly unknown[], more: object = {}): object => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "gpt-4o",
  choices,
  ...more,
});
const said = (content: string): object =>
  chunk([{ index: 0, delta: { role: "assistant", content }, finish_reason: null }]);
const begin = dataEvents(spokenParts.slice(0, 2).map(said));
const rest =
  dataEvents([
    ...spokenParts.slice(2).map(said),
    chunk([{ index: 0, delta: {}, finish_reason: "stop" }]),
    chunk([], { usage }),
  ]) + "data: [DONE]\n\n";

/** Starts the model on a free port. */
export async function startSteppedModel(): Promise<SteppedModel> {
  const waiting = new Set<ServerResponse>();
  let isHeld = true;
  const counts = { requests: 0, aborted: 0 };
  const server = createServer((request, response) => {
    counts.requests++;
    request.resume();
    response.on("close", () => {
      waiting.delete(response);
      if (!response.writableFinished) counts.aborted++;
    });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(begin);
    if (isHeld) waiting.add(response);
    else response.end(rest);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get requests() {
      return counts.requests;
    },
    get aborted() {
      return counts.aborted;
    },
    release() {
      isHeld = false;
      for (const response of waiting) response.end(rest);
    },
    hold() {
      isHeld = true;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
