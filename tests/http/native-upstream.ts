import type { IncomingMessage, ServerResponse } from "node:http";
import { anthropicReply } from "./native-anthropic.ts";
import { geminiReply } from "./native-gemini.ts";
import type { NativeReply, NativeRequest } from "./native-model.ts";
import { openaiReply } from "./native-openai.ts";

/** How often each `x-test-id` has asked for a failure so far. */
const failures = new Map<string, number>();

/**
 * The mode `native`: answers in the format of the provider whose path was asked for, streamed when the
 * client wants it so. `x-test-failures: n` makes the first n requests of an `x-test-id` fail with a 503,
 * `x-test-hold: true` keeps the second half of a stream back until the client leaves.
 */
export async function nativeMode(
  req: IncomingMessage,
  res: ServerResponse,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const header = (name: string): string | undefined => {
    const value = req.headers[name];
    return Array.isArray(value) ? value[0] : value;
  };
  const id = header("x-test-id") ?? "";
  const failed = failures.get(id) ?? 0;
  if (failed < Number(header("x-test-failures") ?? 0)) {
    failures.set(id, failed + 1);
    return send(res, { status: 503, json: { error: { message: "Overloaded", type: "server" } } });
  }
  try {
    const type = header("content-type") ?? "";
    const request: NativeRequest = {
      method: req.method ?? "",
      path: req.url ?? "",
      header,
      json: type.startsWith("application/json") ? JSON.parse(new TextDecoder().decode(bytes)) : {},
      form: () => new Response(bytes, { headers: { "content-type": type } }).formData(),
    };
    const reply = (await openaiReply(request)) ?? anthropicReply(request) ?? geminiReply(request);
    if (reply !== undefined && "events" in reply && header("x-test-hold") === "true") {
      return hold(res, reply.events);
    }
    send(res, reply ?? { status: 404, json: { error: { message: "No such path" } } });
  } catch (error) {
    send(res, { status: 500, json: { error: { message: String(error) } } });
  }
}

function hold(res: ServerResponse, events: string): void {
  const all = events.split(/(?<=\n\n)/u);
  res.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  res.write(all.slice(0, Math.ceil(all.length / 2)).join(""));
}

function send(res: ServerResponse, reply: NativeReply): void {
  if ("json" in reply) {
    const text = JSON.stringify(reply.json);
    const headers = { "content-type": "application/json", ...reply.headers };
    res.writeHead(reply.status ?? 200, headers).end(text);
  } else if ("events" in reply) {
    res.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" }).end(reply.events);
  } else {
    res.writeHead(200, { "content-type": reply.type }).end(reply.bytes);
  }
}
