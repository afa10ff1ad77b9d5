import { type AddUsage, addUsage } from "../../providers/usage.ts";
import { awsEventUsage } from "../../providers/amazon/aws-events.ts";
import { bytePieces } from "../../../http/stream.ts";
import type { ContentDecoder } from "../../../ports.ts";
import type { ContentDecoding } from "../../wire/content-decoder.ts";
import { jsonUsage } from "./json-usage.ts";
import { isLastEvent, LAST_EVENT_LIMIT } from "../../wire/last-event.ts";
import { loggedBody } from "../log/log-row.ts";
import { usageScanner } from "./sse-usage.ts";
import { noUsage, type TokenUsage } from "../../chat/usage.ts";
import type { AnswerWatch } from "../../call/recording.ts";

/** How encoded answers are read. */
export interface Reading {
  readonly decoding: ContentDecoding;
  readonly unreadable: (encoding: string) => void;
}

/** Bytes of a JSON answer that are parsed for its usage. */
const JSON_LIMIT = 10 * 1024 * 1024;

/**
 * Watches an answer with these headers; at most `keep` bytes of its decoded text are kept for the log.
 * `add` reads their usage by their family; `unreadable` is told an encoding that this runtime cannot undo: then only the size is known.
 */
export function observer(
  contentType: string,
  contentEncoding: string,
  keep: number,
  reading: Reading,
  add: AddUsage = addUsage,
): AnswerWatch {
  const encoding = contentEncoding.trim().toLowerCase();
  if (encoding === "" || encoding === "identity") return plainObserver(contentType, keep, add);
  const decoder = reading.decoding.decoder(encoding);
  if (decoder !== null) return decodingObserver(decoder, contentType, keep, add);
  reading.unreadable(encoding);
  return sizeObserver();
}

function plainObserver(contentType: string, keep: number, add: AddUsage): AnswerWatch {
  const type = contentType.toLowerCase();
  if (type.startsWith("text/event-stream")) return eventObserver(keep, add);
  if (type.startsWith("application/vnd.amazon.eventstream")) return awsEventObserver();
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/.test(type);
  const isText = isJson || type.startsWith("text/");
  const limit = isJson ? Math.max(keep, JSON_LIMIT) : isText ? keep : 0;
  const pieces = bytePieces();
  let size = 0;
  return {
    push(chunk) {
      size += chunk.length;
      const room = limit - pieces.size;
      if (room > 0) pieces.add(chunk.length > room ? chunk.subarray(0, room) : chunk);
    },
    finish() {
      const isWhole = pieces.size === size;
      const text = decode(pieces.whole(), isWhole);
      const usage = isJson && isWhole ? jsonUsage(text, add) : noUsage;
      return { usage, body: loggedBody(isText && keep > 0 ? text : null, size, keep) };
    },
  };
}

/** For server-sent events: their text is searched for usage block by block, and kept up to a limit. */
function eventObserver(keep: number, add: AddUsage): AnswerWatch {
  const scanner = usageScanner(add);
  let kept = "";
  let end = "";
  let size = 0;
  const blocks = textBlocks((text) => {
    scanner.push(text);
    end = (end + text.slice(-LAST_EVENT_LIMIT)).slice(-LAST_EVENT_LIMIT);
    // A character is a byte or more.
    if (kept.length < keep) kept += text;
  });
  return {
    push(chunk) {
      size += chunk.length;
      blocks.push(chunk);
    },
    finish() {
      blocks.end();
      const body = loggedBody(keep > 0 ? kept : null, size, keep);
      return { usage: scanner.usage(), body, isOver: isLastEvent(end) };
    },
  };
}

/** For the binary events of Amazon, of which nothing is kept. */
function awsEventObserver(): AnswerWatch {
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

/** For what is no text, and encodings that cannot be undone here: counts, keeps nothing. */
function sizeObserver(usage: () => TokenUsage = () => noUsage): AnswerWatch {
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
function decodingObserver(
  { readable, writable }: ContentDecoder,
  contentType: string,
  keep: number,
  add: AddUsage,
): AnswerWatch {
  const inner = plainObserver(contentType, keep, add);
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
    async finish() {
      writer.close().catch(() => undefined);
      await drained;
      const seen = await inner.finish();
      return failed ? { ...seen, body: { ...seen.body, complete: false } } : seen;
    },
  };
}

/** Turns bytes that come in small chunks into large pieces of text. */
export interface TextBlocks {
  push(chunk: Uint8Array): void;
  /** Hands over what is left, after the last chunk. */
  end(): void;
}

/** Bytes of a piece. */
const BLOCK = 64 * 1024;
/** Bytes of the first room; most streams of a minute are shorter than a block. */
const FIRST_ROOM = 4 * 1024;

/**
 * Copies chunks into blocks and decodes each block as UTF-8, at once and not chunk by chunk: a call of the decoder costs
 * more than the text of an event. A chunk that was copied is free, whatever buffer of the network it was cut from.
 *
 * @param size Bytes of a block; its text is handed over when it is full
 */
export function textBlocks(onText: (text: string) => void, size: number = BLOCK): TextBlocks {
  const decoder = new TextDecoder();
  let room = new Uint8Array(0);
  let used = 0;
  const flush = (isMore: boolean): void => {
    const text = decoder.decode(room.subarray(0, used), { stream: isMore });
    used = 0;
    if (text !== "") onText(text);
  };
  const add = (piece: Uint8Array): void => {
    if (used + piece.length > room.length) {
      const wanted = Math.max(4 * room.length, used + piece.length, FIRST_ROOM);
      const larger = new Uint8Array(Math.min(size, wanted));
      larger.set(room.subarray(0, used));
      room = larger;
    }
    room.set(piece, used);
    used += piece.length;
    if (used === size) flush(true);
  };
  return {
    push(chunk) {
      for (let at = 0; at < chunk.length;) {
        const end = Math.min(chunk.length, at + size - used);
        add(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
        at = end;
      }
    },
    end: () => flush(false),
  };
}
