import { textEventEnds } from "../../../http/sse.ts";
import { bytePieces } from "../../../http/stream.ts";
import type { InboundResponse, System } from "../../../ports.ts";
import { TIMER_OVER } from "../../../time/timer-over.ts";
import type { ContentDecoding } from "../../../http/body/content-decoder.ts";
import { headerValue } from "../../wire/header-hygiene.ts";
import { peekStream, type PeekedStream } from "../../wire/peek.ts";
import { plainBody } from "../../wire/reply-body.ts";
import type { ProviderFailure } from "./failure.ts";
import {
  FAILURE_HEAD,
  FAILURE_LIMIT,
  failureOfAnswer,
  failureOfFirstEvent,
  mayBeFailure,
} from "./told-failure.ts";

/** An answer of which is known whether it begins as a failure. */
export interface PeekedAnswer {
  readonly answer: InboundResponse;
  readonly failure: ProviderFailure | null;
}

/** Milliseconds within which a stream of success has to show its first event; a later one is taken as it comes. */
const FIRST_EVENT_MS = 10_000;

export interface PeekParts {
  readonly system: System;
  readonly decoding: ContentDecoding;
}

/**
 * Looks whether an answer with a status of success is a failure: a JSON object with an error, or a stream whose first event
 * is one. It reads as little as that takes, and 64 KiB at most. Encoded streams are passed on unread.
 */
export async function peekFailure(
  answer: InboundResponse,
  parts: PeekParts,
): Promise<PeekedAnswer> {
  const { status, headers, body } = answer;
  const type = headerValue(headers, "content-type") ?? "";
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(type);
  const isStream = /^text\/event-stream\b/i.test(type);
  const isPlain = /^(?:identity)?$/i.test(headerValue(headers, "content-encoding") ?? "");
  if (status >= 300 || body === null || !(isJson || (isStream && isPlain)))
    return { answer, failure: null };
  const read = isStream ? failureOfFirstEvent : failureOfAnswer;
  if (body instanceof Uint8Array)
    return { answer, failure: await failureIn([body], answer, parts, read) };
  const peeked = isStream ? await firstEvent(body, parts) : await wholeBody(body, isPlain);
  const failure =
    isStream || peeked.isWhole ? await failureIn(peeked.chunks, answer, parts, read) : null;
  return { answer: { ...answer, body: peeked.stream }, failure };
}

type ReadFailure = (text: string) => ProviderFailure | null;

async function failureIn(
  chunks: readonly Uint8Array[],
  { headers }: InboundResponse,
  { decoding }: PeekParts,
  read: ReadFailure,
): Promise<ProviderFailure | null> {
  const given = joined(chunks);
  if (given.length > FAILURE_LIMIT) return null;
  try {
    const plain = plainBody({ headers, body: given }, decoding);
    const bytes = plain instanceof ReadableStream ? await decoded(plain) : plain;
    return bytes === null ? null : read(new TextDecoder().decode(bytes));
  } catch {
    // A body that cannot be decoded here is passed on unread.
    return null;
  }
}

/** Returns what a decoder gives up to its end, or to its error: JSON that is not whole is not read as a failure. */
async function decoded(plain: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const isLong = reading((text) => text.length > FAILURE_LIMIT);
  const { chunks, stream } = await peekStream(plain, isLong, null);
  stream.cancel().catch(() => undefined);
  return joined(chunks);
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const pieces = bytePieces();
  for (const chunk of chunks) pieces.add(chunk);
  return pieces.whole();
}

/** Reads a JSON answer as far as it can be a failure. */
function wholeBody(body: ReadableStream<Uint8Array>, isPlain: boolean): Promise<PeekedStream> {
  const isLong = (text: string): boolean =>
    text.length > FAILURE_LIMIT || (isPlain && text.length >= FAILURE_HEAD && !mayBeFailure(text));
  return peekStream(body, reading(isLong), null);
}

/** Reads a stream up to the end of its first event. */
async function firstEvent(
  body: ReadableStream<Uint8Array>,
  { system }: PeekParts,
): Promise<PeekedStream> {
  const over = new AbortController();
  const late = system.sleep(FIRST_EVENT_MS, over.signal).catch(() => undefined);
  const isEnough = reading((text) => text.length > FIRST_EVENT_LIMIT || hasEvent(text));
  const peeked = await peekStream(body, isEnough, late);
  over.abort(TIMER_OVER);
  return peeked;
}

/** Whether there is an event with data that is complete; comments and events without data may come before it. */
function hasEvent(text: string): boolean {
  const data = text.search(/(?:^|[\r\n])data:/);
  return data !== -1 && textEventEnds.first(text, data + 1) !== -1;
}

/** Characters of a stream that are looked through for its first event. */
const FIRST_EVENT_LIMIT = 16 * 1024;

/** Asks `isEnough` about the text so far. */
function reading(isEnough: (text: string) => boolean): (chunk: Uint8Array) => boolean {
  const decoder = new TextDecoder();
  let text = "";
  return (chunk) => {
    text += decoder.decode(chunk, { stream: true });
    return isEnough(text);
  };
}
