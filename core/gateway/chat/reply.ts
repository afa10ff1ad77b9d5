import { utf8 } from "../../crypto/encoding.ts";
import type { HeaderPair, InboundResponse, System } from "../../ports.ts";
import { TransportError } from "../../transport-error.ts";
import type { Chat, ChatReasoning, ChatUsage, ExtraContent } from "./chat-format.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { type Json, jsonObject, parsedJson } from "../../http/json.ts";
import { sseEvents } from "../../http/sse.ts";
import { streamOf } from "../wire/reply-body.ts";
import { textStream } from "./text-stream.ts";
import { ANSWER_LIMIT, wholeText } from "./whole-text.ts";

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
  /** What the model drew, as `data:` URLs. @default nothing */
  readonly images?: readonly string[];
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
  /** What the model drew, as `data:` URLs. */
  readonly images?: readonly string[];
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
  /** Whether a clean end after a finish reason ends the answer as well; a `done` always does. */
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

/** The chat that an answer replies to. */
export interface ReplyContext {
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
  reply(reply: ChatReply, context: ReplyContext): object;
  stream(context: ReplyContext): StreamWriter;
  failure(message: string, status: number): object;
}

/** A chat on its way from one format to another. */
export interface Translation {
  readonly front: ChatFront;
  readonly translator: ChatTranslator;
  readonly chat: Chat;
  readonly given: Json;
}

/** Milliseconds between the words of an error and the break of its stream: most clients drop what they have not read by then. */
const ERROR_PAUSE = 200;

/** Headers of a native answer that describe bytes which the translation replaces. */
const replaced: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "content-encoding",
  "etag",
]);

/** Translates a provider's answer to a chat: success, stream or error. Throws `TransportError` for what is no answer. */
export async function translateReply(
  translation: Translation,
  answer: InboundResponse,
  system: System,
): Promise<InboundResponse> {
  const { front, translator, chat, given } = translation;
  const { status, headers, body } = answer;
  if (body === null) return answer;
  const created = Math.floor(system.now() / 1000);
  const context: ReplyContext = { chat, given, id: system.id(), created };
  const replied = (type: string, more: Pick<InboundResponse, "status" | "body">) => {
    const kept = headers.filter(([name]) => !replaced.has(name));
    return { ...more, headers: [...kept, ["content-type", `${type}; charset=utf-8`] as const] };
  };
  const isStream = /^text\/event-stream/i.test(headerValue(headers, "content-type") ?? "");
  if (status < 400 && isStream) {
    const source = body instanceof Uint8Array ? streamOf(body) : body;
    const translated = textStream(source, (bytes, left) =>
      events({ ...translation, system }, context, bytes, left),
    );
    return replied("text/event-stream", { status, body: translated });
  }
  const text = await wholeText(body);
  const native = parsedReply(text);
  const failure = failureOf(translation, native, status, text);
  if (failure !== null) {
    const written = front.failure(failure.message, failure.status);
    return replied("application/json", {
      status: failure.status,
      body: utf8(JSON.stringify(written)),
    });
  }
  const reply = translator.reply(native ?? {}, chat);
  // Some models do not stream, and answer as if nobody had asked for it.
  return chat.stream === true
    ? replied("text/event-stream", {
        status,
        body: utf8(writeAtOnce(reply, front.stream(context))),
      })
    : replied("application/json", {
        status,
        body: utf8(JSON.stringify(front.reply(reply, context))),
      });
}

/** The text as a JSON object or list; null when it is none. */
export function parsedReply(text: string): Json | null {
  const value = parsedJson(text);
  return typeof value === "object" && value !== null ? jsonObject(value) : null;
}

/** What went wrong; null for an answer. Throws `TransportError` for what is none. Some providers report an error with a status of success. */
export function failureOf(
  { translator }: Pick<Translation, "translator">,
  native: Json | null,
  status: number,
  text: string,
): { readonly message: string; readonly status: number } | null {
  const failed = native !== null && (native["error"] != null || native["success"] === false);
  if (status < 400 && !failed) {
    // An answer must not be made up of an error page.
    if (native === null || Array.isArray(native))
      throw new TransportError("broken", "The provider's answer is not a JSON object");
    return null;
  }
  const said = native === null ? text.slice(0, 500) : translator.errorMessage(native);
  return {
    message: typeof said === "string" && said !== "" ? said : `The provider answered ${status}`,
    status: status < 400 ? 502 : status,
  };
}

/** A whole answer as the events of a stream. */
function writeAtOnce(reply: ChatReply, writer: StreamWriter): string {
  const { id, model, text, refusal, reasoning = [], images = [], toolCalls, usage } = reply;
  const deltas: MessageDelta[] = [
    { role: "assistant", content: "" },
    ...reasoning.map((one) => ({ thought: one.text, reasoning: one })),
    { content: text },
    ...(refusal === undefined ? [] : [{ refusal }]),
    ...(images.length === 0 ? [] : [{ images }]),
    ...toolCalls.map((call, index) => ({ tool_calls: [{ ...call, index }] })),
  ];
  const written = deltas.map((delta) => writer.add({ id, model, delta })).join("");
  const finishReason = reply.finishReason ?? "stop";
  return written + writer.add({ delta: {}, finishReason, usage }) + writer.end();
}

async function* events(
  { front, translator, chat, system }: Translation & { readonly system: System },
  context: ReplyContext,
  source: ReadableStream<Uint8Array>,
  left: AbortSignal,
): AsyncGenerator<string> {
  const reader = translator.stream(chat);
  const writer = front.stream(context);
  let ended = false;
  let size = 0;
  // Read on to the very end, also behind a `done`: stopping there would look like a client that left.
  for await (const { data } of sseEvents(source, { signal: left })) {
    size += data.length;
    if (size > ANSWER_LIMIT)
      throw new TransportError("broken", "The provider's stream is too long to translate");
    const event = deltaOf(reader, data);
    if (event.error !== undefined) {
      yield writer.error(event.error);
      await system.sleep(ERROR_PAUSE, left);
      throw new TransportError("broken", "The provider ended its stream with an error");
    }
    ended ||= ends(event, reader);
    const text = writer.add(event);
    if (text !== "") yield text;
  }
  // A stream that stops before its end was cut off: no end is made up for it.
  if (!ended) throw new TransportError("broken", "The provider broke off its stream");
  yield writer.end();
}

/** Whether an answer may be over with this. */
export function ends({ done, finishReason }: ChatDelta, { endsByItself }: StreamReader): boolean {
  return done === true || (endsByItself && finishReason !== undefined);
}

/** What the data of an event adds. */
export function deltaOf(reader: StreamReader, data: string): ChatDelta {
  return data === "[DONE]" ? (reader.finish?.() ?? {}) : reader.read(parsedReply(data) ?? {});
}
