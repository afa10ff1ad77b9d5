import { misfitText } from "../../http/fields/misfit.ts";
import * as v from "valibot";
import { utf8 } from "../../crypto/encoding.ts";
import { jsonExcess, parsedJson } from "../../http/json.ts";
import { formatEvent } from "../../http/sse.ts";
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
  const id = `chatcmpl-${system.id()}`;
  const created = Math.floor(system.now() / 1000);
  return chat.stream === true ? streamed(chat, id, created) : whole(chat, id, created);
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

function usageOf(chat: ChatRequest, answer: string): Record<string, number> {
  const prompt = chat.messages.reduce(
    (sum, message) => sum + words(textOf(message.content)).length,
    0,
  );
  const completion = words(answer).length;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
}

function whole(chat: ChatRequest, id: string, created: number): InboundResponse {
  const text = answerTo(chat);
  return reply(200, {
    id,
    object: "chat.completion",
    created,
    model: chat.model,
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: text, refusal: null },
        logprobs: null,
        finish_reason: "stop",
      },
    ],
    usage: usageOf(chat, text),
  });
}

function streamed(chat: ChatRequest, id: string, created: number): InboundResponse {
  const text = answerTo(chat);
  const base = { id, object: "chat.completion.chunk", created, model: chat.model };
  const choice = (delta: object, finish: string | null = null): object => ({
    ...base,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  });
  const events: object[] = [
    choice({ role: "assistant", content: "" }),
    ...words(text).map((word) => choice({ content: word })),
    choice({}, "stop"),
  ];
  if (chat.stream_options?.include_usage === true) {
    events.push({ ...base, choices: [], usage: usageOf(chat, text) });
  }
  const lines = [...events.map((event) => JSON.stringify(event)), "[DONE]"];
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const line = lines.shift();
        if (line === undefined) controller.close();
        else controller.enqueue(utf8(formatEvent({ data: line })));
      },
    },
    { highWaterMark: 0 },
  );
  return { status: 200, headers: [["content-type", "text/event-stream; charset=utf-8"]], body };
}

function failure(status: number, message: string): InboundResponse {
  return reply(status, {
    error: { message, type: "invalid_request_error", param: null, code: null },
  });
}

function reply(status: number, body: object): InboundResponse {
  return {
    status,
    headers: [["content-type", "application/json; charset=utf-8"]],
    body: utf8(JSON.stringify(body)),
  };
}
