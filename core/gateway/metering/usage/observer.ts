import { type AddUsage, addUsage } from "../../providers/usage.ts";
import { awsEventUsage } from "../../providers/amazon/aws-events.ts";
import { addingModels } from "./answer-models.ts";
import { bytePieces } from "../../../http/stream.ts";
import type { ContentDecoder } from "../../../ports.ts";
import type { ContentDecoding } from "../../../http/body/content-decoder.ts";
import { jsonUsage } from "./json-usage.ts";
import type { BodyBudget } from "../../../work/body-budget.ts";
import { keptCopy } from "./kept-copy.ts";
import { isJsonOrText } from "../../wire/body-bytes.ts";
import { isLastEvent, LAST_EVENT_LIMIT } from "../../wire/last-event.ts";
import { loggedBody } from "../../observe/log/log-row.ts";
import { type PassedTokens, passedTokens } from "./passed-tokens.ts";
import { usageScanner } from "./sse-usage.ts";
import { textBlocks } from "./text-blocks.ts";
import {
  failureOfAnswer,
  failureOfEvents,
  failureOfFirstEvent,
} from "../../chat/failures/told-failure.ts";
import { noUsage, type TokenUsage } from "../../chat/usage.ts";
import type { AnswerWatch, Observation } from "../../call/recording.ts";

/** How encoded answers are read. */
export interface Reading {
  readonly decoding: ContentDecoding;
  readonly unreadable: (encoding: string) => void;
  /** Whether the tokens are counted that pass, for answers that are left. @default false */
  readonly counts?: boolean;
  /** Whether the models are read that an answer names. @default false */
  readonly namesModels?: boolean;
  /** The memory for what is kept of all answers under way. @default it is not counted */
  readonly copies?: BodyBudget | undefined;
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i;
/** Bytes of a JSON answer that are parsed for its usage. */
const JSON_LIMIT = 10 * 1024 * 1024;

/** The headers of an answer, and how its usage adds up. */
export interface ObservedAnswer {
  readonly contentType: string;
  readonly contentEncoding: string;
  /** Characters of the answer that are kept. */
  readonly keep: number;
  readonly add?: AddUsage | undefined;
}

/**
 * Watches an answer with these headers; at most `keep` bytes of its decoded text are kept for the log.
 * `add` reads their usage by their family; `unreadable` is told an encoding that this runtime cannot undo: then only the size is known.
 */
export function observer(
  reading: Reading,
  { contentType, contentEncoding, keep, add = addUsage }: ObservedAnswer,
): AnswerWatch {
  const encoding = contentEncoding.trim().toLowerCase();
  const names = reading.namesModels === true;
  const plain = plainObserver(contentType, keep, {
    add: names ? addingModels(add) : add,
    isReadWhole: names,
    copies: reading.copies,
  });
  const isCounted = reading.counts === true && isCountable(contentType);
  const inner = isCounted ? countingObserver(plain, JSON_TYPE.test(contentType)) : plain;
  if (encoding === "" || encoding === "identity") return inner;
  const decoder = reading.decoding.decoder(encoding);
  if (decoder !== null) return decodingObserver(decoder, inner);
  reading.unreadable(encoding);
  return sizeObserver();
}

/** Whether the tokens of a type can be seen passing: not those of sound and pictures. */
function isCountable(type: string): boolean {
  return isJsonOrText(type) || /^application\/vnd\.amazon\.eventstream/i.test(type);
}

/**
 * Counts beside what is watched. JSON of one chunk, which is kept for its usage anyway, is counted only when that is asked:
 * most providers tell it.
 */
function countingObserver(inner: PlainWatch, isKept: boolean): PlainWatch {
  let only: Uint8Array | null = null;
  let counter: PassedTokens | null = null;
  const counting = (): PassedTokens => {
    if (counter !== null) return counter;
    counter = passedTokens();
    if (only !== null) counter.push(only);
    only = null;
    return counter;
  };
  return {
    push(chunk) {
      inner.push(chunk);
      if (isKept && only === null && counter === null) only = chunk;
      else counting().push(chunk);
    },
    // JSON is of use only whole: it is not counted on its way.
    ...(isKept ? {} : { passed: () => counting().now() }),
    finish: () => ({ ...inner.finish(), passed: () => counting().end() }),
  };
}

/** Watches bytes without an encoding. */
interface PlainWatch extends AnswerWatch {
  finish(): Observation;
}

interface PlainReading {
  readonly add: AddUsage;
  readonly isReadWhole: boolean;
  readonly copies: BodyBudget | undefined;
}

function plainObserver(
  contentType: string,
  keep: number,
  { add, isReadWhole, copies }: PlainReading,
): PlainWatch {
  const type = contentType.toLowerCase();
  if (type.startsWith("text/event-stream")) return eventObserver(keep, add, copies);
  if (type.startsWith("application/vnd.amazon.eventstream")) return awsEventObserver();
  const copy = keptCopy(copies);
  const isJson = JSON_TYPE.test(type);
  const isText = isJson || type.startsWith("text/");
  const limit = isJson ? Math.max(keep, JSON_LIMIT) : isText ? keep : 0;
  const pieces = bytePieces();
  let size = 0;
  return {
    push(chunk) {
      size += chunk.length;
      const room = limit - pieces.size;
      if (room <= 0) return;
      const part = chunk.length > room ? chunk.subarray(0, room) : chunk;
      if (copy.take(part.length)) pieces.add(part);
    },
    finish() {
      copy.release();
      const isWhole = pieces.size === size;
      const text = decode(pieces.whole(), isWhole);
      const usage = isJson && isWhole ? jsonUsage(text, add, isReadWhole) : noUsage;
      const told = isJson && isWhole ? failureOfAnswer(text) : null;
      const failure = told === null ? null : { ...told, isAll: true };
      return {
        usage,
        failure,
        body: loggedBody(isText && keep > 0 ? text : null, size, Math.min(keep, pieces.size)),
      };
    },
  };
}

/** Characters at the end of a stream that are looked through for a failure: it is the last that a provider says. */
const END_LIMIT = 4096;

/** For server-sent events: their text is searched for usage block by block, and kept up to a limit. */
function eventObserver(keep: number, add: AddUsage, copies: BodyBudget | undefined): PlainWatch {
  const [copy, event] = [keptCopy(copies), keptCopy(copies)];
  const scanner = usageScanner(add, (length) => event.reach(length));
  let kept = "";
  let end = "";
  let size = 0;
  const blocks = textBlocks((text) => {
    scanner.push(text);
    end = (end + text.slice(-END_LIMIT)).slice(-END_LIMIT);
    // A character is a byte or more.
    if (kept.length < keep && copy.take(text.length)) kept += text;
  });
  return {
    push(chunk) {
      size += chunk.length;
      blocks.push(chunk);
    },
    finish() {
      blocks.end();
      copy.release();
      event.release();
      const shown = copy.isCut ? Math.min(keep, kept.length) : keep;
      const body = loggedBody(keep > 0 ? kept : null, size, shown);
      const told = failureOfEvents(end);
      const isAll = told !== null && failureOfFirstEvent(end) !== null && size <= END_LIMIT;
      const failure = told === null ? null : { ...told, isAll };
      const isOver = isLastEvent(end.slice(-LAST_EVENT_LIMIT));
      return { usage: scanner.usage(), failure, body, isOver };
    },
  };
}

/** For the binary events of Amazon, of which nothing is kept. */
function awsEventObserver(): PlainWatch {
  const events = awsEventUsage();
  const bytes = sizeObserver(() => events.usage());
  return {
    push(chunk) {
      events.push(chunk);
      bytes.push(chunk);
    },
    finish: () => bytes.finish(),
  };
}

const utf8Decoder = new TextDecoder();

/** Decodes once over all bytes; of what was cut off, a character that the cut divides is left out. */
function decode(bytes: Uint8Array, isWhole: boolean): string {
  return isWhole ? utf8Decoder.decode(bytes) : new TextDecoder().decode(bytes, { stream: true });
}

/** Counts the bytes of bodies that are not text, or whose encoding cannot be undone here; keeps nothing of them. */
function sizeObserver(usage: () => TokenUsage = () => noUsage): PlainWatch {
  let size = 0;
  return {
    push(chunk) {
      size += chunk.length;
    },
    finish: () => ({ usage: usage(), body: { text: null, size, complete: size === 0 } }),
  };
}

/** Bytes that wait to be decoded, and decoded bytes, above which an answer is not read on: it may unpack to anything. */
const UNDECODED_LIMIT = 16 * 1024 * 1024;

const DECODED_LIMIT = 256 * 1024 * 1024;

/** Decodes beside the client's stream, so that neither waits for the other. */
function decodingObserver({ readable, writable }: ContentDecoder, inner: PlainWatch): AnswerWatch {
  const writer = writable.getWriter();
  const reader = readable.getReader();
  let failed = false;
  let waiting = 0;
  // A stream that was cut off, no such encoding at all, or too much of it: keep what was decoded.
  const fail = (): void => {
    failed = true;
    reader.cancel().catch(() => undefined);
  };
  const drained = (async () => {
    let size = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      inner.push(value);
      size += value.byteLength;
      if (size > DECODED_LIMIT) throw new RangeError("Unpacks to too much");
    }
  })().catch(fail);
  return {
    push(chunk) {
      if (failed) return;
      waiting += chunk.byteLength;
      if (waiting > UNDECODED_LIMIT) fail();
      else writer.write(new Uint8Array(chunk)).then(() => (waiting -= chunk.byteLength), fail);
    },
    ...(inner.passed === undefined ? {} : { passed: () => inner.passed?.() ?? 0 }),
    async finish() {
      writer.close().catch(() => undefined);
      await drained;
      const seen = inner.finish();
      return failed ? { ...seen, body: { ...seen.body, complete: false } } : seen;
    },
  };
}
