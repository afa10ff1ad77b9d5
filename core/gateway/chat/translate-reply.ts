import { utf8 } from "../../crypto/encoding.ts";
import type { InboundResponse, System } from "../../ports.ts";
import { TransportError } from "../../net/transport-error.ts";
import { BODY_HEADERS, headerValue } from "../wire/header-hygiene.ts";
import { type Json, jsonObject, parsedJson } from "../../http/json.ts";
import { sseEvents, sseData } from "../../http/sse.ts";
import { streamOf } from "../wire/reply-body.ts";
import { blocksOf } from "./blocks.ts";
import type {
  Translation,
  ReplyContext,
  StreamWriter,
  StreamReader,
  ChatReply,
  ChatDelta,
  MessageDelta,
} from "./reply.ts";
import { bodyUpTo } from "../../http/stream.ts";
import { type ProviderFailure, readFailure } from "./failures/failure.ts";
import { type CachedReply, lastText } from "../wire/cached-reply.ts";

/** Milliseconds between the words of an error and the break of its stream: most clients drop what they have not read by then. */
const ERROR_PAUSE = 200;

/** Translates a provider's answer to a chat: success, stream or error. Throws `TransportError` for anything else. */
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
    const kept = headers.filter(([name]) => !BODY_HEADERS.has(name));
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
    const { status: code, retryAfter } = failure;
    const written = replied("application/json", {
      status: code,
      body: utf8(JSON.stringify(front.failure(failure))),
    });
    const isTold = retryAfter === undefined || headerValue(headers, "retry-after") !== null;
    const wait = isTold ? [] : [["retry-after", String(retryAfter)] as const];
    return { ...written, headers: [...written.headers, ...wait] };
  }
  const answered = translator.reply(native ?? {}, chat);
  const { finishReason: reason, toolCalls } = answered;
  const reply: ChatReply =
    reason === null
      ? answered
      : { ...answered, finishReason: endedBy(reason, toolCalls.length > 0) };
  // Some models do not stream, and send a whole answer even when asked for a stream.
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

/** Parses the text as a JSON object or list; null for anything else. */
function parsedReply(text: string): Json | null {
  const value = parsedJson(text);
  return typeof value === "object" && value !== null ? jsonObject(value) : null;
}

/**
 * Returns the failure that an answer reports, whatever its status; null for a success. Throws `TransportError` for an
 * unreadable answer.
 */
function failureOf(
  { translator }: Pick<Translation, "translator">,
  native: Json | null,
  status: number,
  text: string,
): ProviderFailure | null {
  const error = native === null ? null : translator.errorOf(native);
  if (status >= 400) return readFailure(native === null ? text.slice(0, 500) : error, status);
  if (error != null) return readFailure(error, status);
  // An answer must not be made up of an error page.
  if (native === null || Array.isArray(native))
    throw new TransportError("broken", "The provider's answer is not a JSON object");
  return null;
}

/** Writes a whole answer as the events of a stream. */
function writeAtOnce(reply: ChatReply, writer: StreamWriter): string {
  const { id, model, usage, stopSequence } = reply;
  const start: MessageDelta = { role: "assistant", content: "" };
  let calls = 0;
  const deltas = blocksOf(reply).map((block): MessageDelta => {
    const { kind, text } = block;
    if (kind === "thought")
      return block.reasoning === undefined ? {} : { thought: text, reasoning: block.reasoning };
    if (kind === "text") return { content: text };
    if (kind === "refusal") return { refusal: text };
    if (kind === "image") return { images: [text] };
    const call = reply.toolCalls[calls];
    return call === undefined ? {} : { tool_calls: [{ ...call, index: calls++ }] };
  });
  const written = [start, ...deltas].map((delta) => writer.add({ id, model, delta })).join("");
  const finishReason = reply.finishReason ?? "stop";
  const stop = stopSequence === undefined ? {} : { stopSequence };
  return written + writer.add({ delta: {}, finishReason, ...stop, usage }) + writer.end();
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
  let hasCalls = false;
  let size = 0;
  // Read on to the very end, also behind a `done`: stopping there would look like a client that left.
  for await (const { data } of sseEvents(source, { signal: left })) {
    size += data.length;
    if (size > ANSWER_LIMIT)
      throw new TransportError("broken", "The provider's stream is too long to translate");
    const given = deltaOf(reader, data);
    hasCalls ||= (given.delta?.tool_calls ?? []).length > 0;
    const { finishReason: reason } = given;
    const event: ChatDelta =
      reason === undefined ? given : { ...given, finishReason: endedBy(reason, hasCalls) };
    ended ||= ends(event, reader);
    const text =
      event.error == null ? textOrFailure(() => writer.add(event)) : readFailure(event.error, 0);
    if (typeof text !== "string") {
      yield writer.error(text);
      await breakOff(system, left);
    } else if (text !== "") yield text;
  }
  // A stream that stops before its end was cut off: no end is made up for it.
  if (!ended) throw new TransportError("broken", "The provider broke off its stream");
  const end = textOrFailure(() => writer.end());
  if (typeof end === "string") return yield end;
  yield writer.error(end);
  await breakOff(system, left);
}

/** Breaks a stream off once its client had the time to read the error. */
async function breakOff(system: System, left: AbortSignal): Promise<never> {
  await system.sleep(ERROR_PAUSE, left);
  throw new TransportError("broken", "The provider ended its stream with an error");
}

/** Returns the events that `write` makes, or the failure of a provider whose pieces make no answer. */
function textOrFailure(write: () => string): string | ProviderFailure {
  try {
    return write();
  } catch (error) {
    if (error instanceof TransportError) return readFailure(error.message, 0);
    throw error;
  }
}

/** Returns why an answer ended: Gemini, Ollama and others say "stop" of one with calls, and clients would not make them. */
function endedBy(reason: string, hasCalls: boolean): string {
  return reason === "stop" && hasCalls ? "tool_calls" : reason;
}

/** Whether an answer may be over with this. */
function ends({ done, finishReason }: ChatDelta, { endsByItself }: StreamReader): boolean {
  return done === true || (endsByItself && finishReason !== undefined);
}

function deltaOf(reader: StreamReader, data: string): ChatDelta {
  return data === "[DONE]" ? (reader.finish?.() ?? {}) : reader.read(parsedReply(data) ?? {});
}

/**
 * Streams texts that are made of a byte stream, as bytes, one text per pull. Leaving it ends the source, also before the
 * first text and while one is waited for: `make` is given a signal for that.
 */
function textStream(
  source: ReadableStream<Uint8Array>,
  make: (source: ReadableStream<Uint8Array>, left: AbortSignal) => AsyncGenerator<string>,
): ReadableStream<Uint8Array> {
  const left = new AbortController();
  const texts = make(source, left.signal);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await texts.next();
        if (done === true) controller.close();
        else controller.enqueue(utf8(value));
      },
      async cancel(reason) {
        left.abort(reason);
        // A generator that has not begun would never read it.
        if (!source.locked) await source.cancel(reason);
        await texts.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

/** The largest answer that is translated, in bytes, whole or as a stream: a stream's content is kept for its last event. */
const ANSWER_LIMIT: number = 32 * 1024 * 1024;

/** Reads a body as text; throws `TransportError` beyond 32 MiB, and for one that cannot be read or decoded to its end. */
export async function wholeText(body: Uint8Array | ReadableStream<Uint8Array>): Promise<string> {
  const bytes = await bodyUpTo(body, ANSWER_LIMIT).catch((cause: unknown) => {
    if (cause instanceof TransportError) throw cause;
    throw new TransportError("broken", "The provider broke off its answer", { cause });
  });
  if (bytes !== null) return new TextDecoder().decode(bytes);
  throw new TransportError("broken", "The provider's answer is too long to translate");
}

/** Whether a provider's whole answer can be translated to its end: another one is not cached. */
export function endsWell(
  translation: Translation,
  { status, headers, chunks }: CachedReply,
): boolean {
  // No encoding was asked for, and one that comes anyway is undone elsewhere.
  if ((headerValue(headers, "content-encoding") ?? "identity") !== "identity") return true;
  const text = lastText(chunks, Number.POSITIVE_INFINITY);
  try {
    const type = headerValue(headers, "content-type") ?? "";
    if (!/^text\/event-stream/i.test(type))
      return failureOf(translation, parsedReply(text), status, text) === null;
    const reader = translation.translator.stream(translation.chat);
    const deltas = sseData(text).map((data) => deltaOf(reader, data));
    return (
      deltas.every(({ error }) => error == null) && deltas.some((delta) => ends(delta, reader))
    );
  } catch {
    return false;
  }
}
