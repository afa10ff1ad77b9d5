import { utf8 } from "../crypto/encoding.ts";
import { formatEvent } from "../http/sse.ts";
import type { HeaderPair, InboundResponse, System } from "../ports.ts";
import { TransportError } from "../transport-error.ts";
import type { Chat, ChatUsage } from "./chat-format.ts";
import { headerValue } from "./header-hygiene.ts";
import { type Json, jsonObject } from "./json-access.ts";
import { sseEvents } from "./sse-events.ts";

/** A tool call in OpenAI's form. */
export interface ChatToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
  readonly extra_content?: unknown;
}

/** A whole answer, provider-neutral. */
export interface ChatReply {
  readonly id: string;
  readonly model: string;
  readonly text: string;
  readonly toolCalls: readonly ChatToolCall[];
  /** Null while a streamed answer goes on. */
  readonly finishReason: string | null;
  readonly usage: ChatUsage;
}

/** What one event of a stream adds. */
export interface ChatDelta {
  readonly id?: string;
  readonly model?: string;
  readonly delta?: Readonly<Record<string, unknown>>;
  readonly finishReason?: string;
  /** Cumulative; the last one counts. */
  readonly usage?: ChatUsage;
  readonly done?: boolean;
  readonly error?: string;
}

/** Reads the events of one stream, in order. */
export interface StreamReader {
  read(event: Json): ChatDelta;
  /** Whether a clean end after a finish reason ends the answer; else only a `done` does. */
  readonly endsByItself: boolean;
  /** What a literal `[DONE]` says. @default nothing */
  finish?(): ChatDelta;
}

/** Translates OpenAI chat completions into a provider's own format and its answers back. */
export interface ChatTranslator {
  request(chat: Chat): {
    rest: string;
    query: string;
    body: object;
    headers: readonly HeaderPair[];
  };
  reply(body: Json): ChatReply;
  stream(): StreamReader;
  /** The message of a provider's error body. */
  errorMessage(body: Json): unknown;
}

/** Headers of a native answer that describe bytes which the translation replaces. */
const replaced: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "content-encoding",
  "etag",
]);

/** Bytes of a whole answer that is translated. */
const REPLY_LIMIT = 32 * 1024 * 1024;

/** Translates a provider's answer to `chat`: success, stream or error. */
export async function translateReply(
  translator: ChatTranslator,
  chat: Chat,
  answer: InboundResponse,
  system: System,
): Promise<InboundResponse> {
  const kept = answer.headers.filter(([name]) => !replaced.has(name));
  if (answer.body === null) return answer;
  const isStream = /^text\/event-stream/i.test(headerValue(answer.headers, "content-type") ?? "");
  const created = Math.floor(system.now() / 1000);
  if (answer.status < 400 && isStream) {
    const headers: HeaderPair[] = [...kept, ["content-type", "text/event-stream; charset=utf-8"]];
    const source = answer.body instanceof Uint8Array ? streamOf(answer.body) : answer.body;
    return {
      status: answer.status,
      headers,
      body: encoded(chunks(translator, chat, source, created)),
    };
  }
  const native = await parsed(answer.body);
  const body =
    answer.status < 400
      ? completion(translator.reply(native), chat, created)
      : failure(translator, native, answer.status);
  const headers: HeaderPair[] = [...kept, ["content-type", "application/json; charset=utf-8"]];
  return { status: answer.status, headers, body: utf8(JSON.stringify(body)) };
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
}

async function parsed(body: Uint8Array | ReadableStream<Uint8Array>): Promise<Json> {
  let text = "";
  const decoder = new TextDecoder();
  if (body instanceof Uint8Array) text = decoder.decode(body);
  else {
    let size = 0;
    for await (const chunk of iterate(body)) {
      size += chunk.length;
      if (size > REPLY_LIMIT)
        throw new TransportError("broken", "The provider's answer is too long to translate");
      text += decoder.decode(chunk, { stream: true });
    }
  }
  try {
    return jsonObject(JSON.parse(text));
  } catch {
    return { error: { message: text.slice(0, 500) } };
  }
}

async function* iterate(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function failure(translator: ChatTranslator, native: Json, status: number): object {
  const message = translator.errorMessage(native);
  return {
    error: {
      message: typeof message === "string" ? message : `The provider answered ${status}`,
      type: status >= 500 ? "server_error" : "invalid_request_error",
      param: null,
      code: null,
    },
  };
}

function completion(reply: ChatReply, chat: Chat, created: number): object {
  const { id, model, text, toolCalls, finishReason, usage } = reply;
  const message = {
    role: "assistant",
    content: text === "" && toolCalls.length > 0 ? null : text,
    refusal: null,
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finishReason ?? "stop" }];
  return {
    id,
    object: "chat.completion",
    created,
    model: model === "" ? chat.model : model,
    choices,
    usage,
  };
}

async function* chunks(
  translator: ChatTranslator,
  chat: Chat,
  source: ReadableStream<Uint8Array>,
  created: number,
): AsyncGenerator<string> {
  const reader = translator.stream();
  const base: ChunkBase = { id: "", object: "chat.completion.chunk", created, model: chat.model };
  let usage: ChatUsage | undefined;
  let ended = false;
  // Read on to the very end, also behind a `done`: stopping there would look like a client that left.
  for await (const { data } of sseEvents(source)) {
    const event = deltaOf(reader, data);
    if (event.error !== undefined) {
      yield formatEvent({
        data: JSON.stringify({ error: { message: event.error, type: "server_error" } }),
      });
      throw new TransportError("broken", "The provider ended its stream with an error");
    }
    base.id = event.id || base.id;
    base.model = event.model || base.model;
    usage = event.usage ?? usage;
    ended ||= reader.endsByItself ? event.finishReason !== undefined : event.done === true;
    if (event.delta !== undefined) yield chunkText(base, event);
  }
  // A stream that stops before its end was cut off: no end is made up for it.
  if (!ended) throw new TransportError("broken", "The provider broke off its stream");
  if (chat.stream_options?.include_usage === true && usage !== undefined) {
    yield formatEvent({ data: JSON.stringify({ ...base, choices: [], usage }) });
  }
  yield formatEvent({ data: "[DONE]" });
}

function deltaOf(reader: StreamReader, data: string): ChatDelta {
  return data === "[DONE]" ? (reader.finish?.() ?? {}) : reader.read(asObject(data));
}

interface ChunkBase {
  id: string;
  readonly object: "chat.completion.chunk";
  readonly created: number;
  model: string;
}

function chunkText(base: ChunkBase, { delta, finishReason }: ChatDelta): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finishReason ?? null }];
  return formatEvent({ data: JSON.stringify({ ...base, choices }) });
}

function asObject(data: string): Json {
  try {
    return jsonObject(JSON.parse(data));
  } catch {
    return {};
  }
}

/** Texts as a byte stream, one per pull; leaving it ends the source. */
function encoded(source: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await source.next();
        if (done === true) controller.close();
        else controller.enqueue(utf8(value));
      },
      async cancel() {
        await source.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
