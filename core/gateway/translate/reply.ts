import { utf8 } from "../../crypto/encoding.ts";
import type { HeaderPair, InboundResponse, System } from "../../ports.ts";
import { TransportError } from "../../transport-error.ts";
import type { Chat, ChatReasoning, ChatUsage, ExtraContent } from "./chat-format.ts";
import { headerValue } from "../header-hygiene.ts";
import { type Json, jsonObject } from "../json-access.ts";
import { sseEvents } from "../sse-events.ts";

/** A tool call in OpenAI's form. */
export interface ChatToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
  readonly extra_content?: ExtraContent;
}

/** A whole answer, provider-neutral. */
export interface ChatReply {
  readonly id: string;
  readonly model: string;
  readonly text: string;
  /** Why the model does not answer. @default it does */
  readonly refusal?: string;
  readonly reasoning?: readonly ChatReasoning[];
  readonly toolCalls: readonly ChatToolCall[];
  /** Null while a streamed answer goes on. */
  readonly finishReason: string | null;
  readonly usage: ChatUsage;
}

/** A tool call, or a piece of one. */
export interface ToolCallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: "function";
  readonly function: { readonly name?: string; readonly arguments?: string };
  readonly extra_content?: ExtraContent;
}

/** What one event adds to the message. */
export interface MessageDelta {
  readonly role?: "assistant";
  readonly content?: string;
  readonly refusal?: string;
  /** A piece of a thought. */
  readonly thought?: string;
  /** A thought that is complete, with what its provider wants back; its text was told before. */
  readonly reasoning?: ChatReasoning;
  readonly tool_calls?: readonly ToolCallDelta[];
}

/** What one event of a stream adds. */
export interface ChatDelta {
  readonly id?: string;
  readonly model?: string;
  readonly delta?: MessageDelta;
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

/** Translates chats into a provider's own format and its answers back. */
export interface ChatTranslator {
  /** Whether images must be in the request, because the provider fetches none. */
  readonly wantsInlineImages?: boolean;
  request(chat: Chat): {
    rest: string;
    query: string;
    body: object;
    headers: readonly HeaderPair[];
  };
  reply(body: Json, chat: Chat): ChatReply;
  stream(chat: Chat): StreamReader;
  /** The message of a provider's error body. */
  errorMessage(body: Json): unknown;
}

/** What an answer is written for. */
export interface Asked {
  readonly chat: Chat;
  /** The client's request, for formats whose answers repeat some of it. */
  readonly given: Json;
  /** Unique, for providers that name none. */
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
}

/** Writes the events of one stream. */
export interface StreamWriter {
  /** The events that tell what a delta adds; empty when there is nothing to tell. */
  add(delta: ChatDelta): string;
  end(): string;
  error(message: string): string;
}

/** A format in which clients ask, and are answered. */
export interface ChatFront {
  /** Reads a request; what cannot be translated is a 400 (`chat_format`) that names it. */
  read(given: Json): Chat;
  reply(reply: ChatReply, asked: Asked): object;
  stream(asked: Asked): StreamWriter;
  failure(message: string, status: number): object;
}

/** A chat on its way from one format to another. */
export interface Translation {
  readonly front: ChatFront;
  readonly translator: ChatTranslator;
  readonly chat: Chat;
  readonly given: Json;
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

/** Translates a provider's answer to a chat: success, stream or error. */
export async function translateReply(
  translation: Translation,
  answer: InboundResponse,
  system: System,
): Promise<InboundResponse> {
  const { front, translator, chat, given } = translation;
  const kept = answer.headers.filter(([name]) => !replaced.has(name));
  if (answer.body === null) return answer;
  const isStream = /^text\/event-stream/i.test(headerValue(answer.headers, "content-type") ?? "");
  const created = Math.floor(system.now() / 1000);
  const asked: Asked = { chat, given, id: system.id(), created };
  if (answer.status < 400 && isStream) {
    const headers: HeaderPair[] = [...kept, ["content-type", "text/event-stream; charset=utf-8"]];
    const source = answer.body instanceof Uint8Array ? streamOf(answer.body) : answer.body;
    return { status: answer.status, headers, body: encoded(events(translation, asked, source)) };
  }
  const native = await parsed(answer.body);
  const body =
    answer.status < 400
      ? front.reply(translator.reply(native, chat), asked)
      : failure(translation, native, answer.status);
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

function failure({ front, translator }: Translation, native: Json, status: number): object {
  const message = translator.errorMessage(native);
  return front.failure(
    typeof message === "string" ? message : `The provider answered ${status}`,
    status,
  );
}

async function* events(
  { front, translator, chat }: Translation,
  asked: Asked,
  source: ReadableStream<Uint8Array>,
): AsyncGenerator<string> {
  const reader = translator.stream(chat);
  const writer = front.stream(asked);
  let ended = false;
  // Read on to the very end, also behind a `done`: stopping there would look like a client that left.
  for await (const { data } of sseEvents(source)) {
    const event = deltaOf(reader, data);
    if (event.error !== undefined) {
      yield writer.error(event.error);
      throw new TransportError("broken", "The provider ended its stream with an error");
    }
    ended ||= reader.endsByItself ? event.finishReason !== undefined : event.done === true;
    const text = writer.add(event);
    if (text !== "") yield text;
  }
  // A stream that stops before its end was cut off: no end is made up for it.
  if (!ended) throw new TransportError("broken", "The provider broke off its stream");
  yield writer.end();
}

function deltaOf(reader: StreamReader, data: string): ChatDelta {
  return data === "[DONE]" ? (reader.finish?.() ?? {}) : reader.read(asObject(data));
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
