import { parsedObject } from "../../../http/json.ts";
import { jsonReader, nextToken } from "../../../http/json/json-reader.ts";
import type { StreamChange } from "../../../ports.ts";
import { eventEnds } from "../../../http/sse.ts";
import { joinBytes } from "../../../http/stream.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const LF = 0x0a;
const CR = 0x0d;
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d] as const;
const NAME = new TextEncoder().encode('"usage"');
const NULL = new TextEncoder().encode("null");
const DATA = new TextEncoder().encode("data:");

/** Bytes of an event above which it is passed on as it is: it reports no usage. */
const EVENT_LIMIT = 256 * 1024;
/** Bytes of a blank line, with the end of the line before it, that may have come without its end. */
const BEGUN = 2;
const NOTHING = new Uint8Array(0);
const decoder = new TextDecoder();
const latin1 = new TextDecoder("latin1");
const ends = eventEnds<Uint8Array>((bytes, at) => bytes[at]);

/**
 * Turns the stream of a provider that was asked for usage (`stream_options.include_usage`) into the one that it would have
 * sent unasked: OpenAI adds one event without choices that reports, and `"usage":null` to all others
 * (https://platform.openai.com/docs/api-reference/chat/create#chat-create-stream_options). All other bytes stay, but an
 * event that came in pieces leaves in one.
 * @param isOwn Whether the chunks have no other user, so that they may be changed in place: a new one costs a microsecond
 */
export function withoutUnaskedUsage(isOwn: boolean = false): StreamChange {
  let room = NOTHING;
  let used = 0;
  let isTooLong = false;
  const keep = (bytes: Uint8Array): void => {
    if (used + bytes.length > room.length) {
      const larger = new Uint8Array(Math.max(2 * room.length, used + bytes.length, 1024));
      larger.set(room.subarray(0, used));
      room = larger;
    }
    room.set(bytes, used);
    used += bytes.length;
  };
  const take = (chunk: Uint8Array): Uint8Array => {
    const held = used;
    keep(chunk);
    const all = room.subarray(0, used);
    const end = ends.last(all, Math.max(0, held - BEGUN));
    const isLong = end === -1 && (isTooLong || used > EVENT_LIMIT);
    const cut = isLong ? used - BEGUN : end;
    if (cut <= 0) return NOTHING;
    const out = all.slice(0, cut);
    room.copyWithin(0, cut, used);
    used -= cut;
    const begin = isTooLong && !isLong ? ends.first(out) : 0;
    isTooLong = isLong;
    return isLong ? out : joinBytes([out.subarray(0, begin), changed(out.subarray(begin))]);
  };
  return {
    push: (chunk) => {
      if (used > 0 || isTooLong || !endsEvent(chunk)) return take(chunk);
      return (isOwn ? shortened(chunk) : null) ?? changed(chunk);
    },
    end() {
      const rest = room.slice(0, used);
      used = 0;
      return isTooLong ? rest : changed(rest);
    },
  };
}

function endsEvent(bytes: Uint8Array): boolean {
  return bytes[bytes.length - 1] === LF && bytes[bytes.length - 2] === LF;
}

/** Returns the bytes of whole events, without what was only sent because it was asked for. */
function changed(bytes: Uint8Array): Uint8Array {
  const kept: Uint8Array[] = [];
  let end = bytes.length;
  // Backwards, because providers put it last.
  for (let at = lastName(bytes, end); at !== -1;) {
    const line = lineAround(bytes, at);
    const cut = cutAt(bytes, at, line);
    if (cut !== null) {
      kept.push(bytes.subarray(cut.end, end));
      end = cut.begin;
    }
    // An event has one such member; what is within another is looked at until it is found.
    at = lastName(bytes, cut === null ? at : Math.min(cut.begin, line.begin));
  }
  if (end === bytes.length) return bytes;
  kept.push(bytes.subarray(0, end));
  return joinBytes(kept.toReversed());
}

/** One event, changed in place; null for what takes more than that. */
function shortened(bytes: Uint8Array): Uint8Array | null {
  const end = bytes.length - 2;
  if (bytes.indexOf(LF) !== end) return null;
  const at = lastName(bytes, end);
  if (at === -1) return bytes;
  const cut = cutAt(bytes, at, { begin: 0, end });
  if (cut === null) return null;
  bytes.copyWithin(cut.begin, cut.end);
  return bytes.subarray(0, bytes.length - (cut.end - cut.begin));
}

/** How far back to look next for `"usage"` behind each byte: as far as it can stand within the name. */
const SHIFTS: Uint8Array = new Uint8Array(256).fill(NAME.length);
for (let at = NAME.length - 1; at > 0; at--) SHIFTS[NAME[at] ?? 0] = at;

/** Returns the last place of `"usage"` before `before`; -1 = not found. */
function lastName(bytes: Uint8Array, before: number): number {
  for (let at = before - NAME.length; at >= 0;) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE && isAt(bytes, at, NAME)) return at;
    at -= SHIFTS[byte] ?? 1;
  }
  return -1;
}

function isAt(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
  return true;
}

interface Cut {
  readonly begin: number;
  readonly end: number;
}

/**
 * Returns the part to cut because of a `"usage"` at `at`: the member that is null, or the event that reports; null =
 * nothing.
 */
function cutAt(bytes: Uint8Array, at: number, line: Cut): Cut | null {
  const colon = skipSpace(bytes, at + NAME.length);
  if (bytes[colon] !== COLON) return null;
  const value = skipSpace(bytes, colon + 1);
  const isNull = isAt(bytes, value, NULL);
  if (!isNull && bytes[value] !== OPEN) return null;
  if (!isAt(bytes, line.begin, DATA)) return null;
  const begin = line.begin + DATA.length;
  if (isNull) {
    const behind = value + NULL.length;
    const isOwn =
      endsPlainly(bytes, behind, line.end) || isMember(bytes.subarray(begin, line.end), at - begin);
    return isOwn ? member(bytes, at, behind) : null;
  }
  return isReport(decoder.decode(bytes.subarray(begin, line.end)))
    ? eventAround(bytes, line)
    : null;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09;
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isSpace(bytes[at])) at++;
  return at;
}

function lineAround(bytes: Uint8Array, at: number): Cut {
  // Most chunks are one line and a blank one.
  const last = bytes.length - 2;
  if (at < last && bytes.indexOf(LF) === last && endsEvent(bytes)) return { begin: 0, end: last };
  let begin = at;
  while (begin > 0 && bytes[begin - 1] !== LF && bytes[begin - 1] !== CR) begin--;
  let end = at;
  while (end < bytes.length && bytes[end] !== LF && bytes[end] !== CR) end++;
  return { begin, end };
}

/** Whether only plain members follow up to the one bracket that closes: then what they follow is a member of the whole. */
function endsPlainly(bytes: Uint8Array, from: number, end: number): boolean {
  let closed = 0;
  for (let at = from; at < end; at++) {
    const byte = bytes[at];
    if (byte === CLOSE) closed++;
    else if (closed > 0 && !isSpace(byte)) return false;
    else if (byte === OPEN || byte === OPEN_LIST || byte === CLOSE_LIST || byte === BACKSLASH)
      return false;
  }
  return closed === 1;
}

/** Whether the `"usage"` at a place is a member of the whole. Each byte is a character here, so that places are the same. */
function isMember(json: Uint8Array, place: number): boolean {
  const reader = jsonReader(latin1.decode(json.subarray(0, place + NAME.length)));
  let token = nextToken(reader);
  while (reader.start < place && token !== "wrong") token = nextToken(reader);
  return token === "name" && reader.start === place && reader.open.length === 1;
}

/** Returns a member with the comma that parts it from the others. */
function member(bytes: Uint8Array, begin: number, end: number): Cut {
  let before = begin;
  while (isSpace(bytes[before - 1])) before--;
  if (bytes[before - 1] === COMMA) return { begin: before - 1, end };
  const behind = skipSpace(bytes, end);
  return { begin, end: bytes[behind] === COMMA ? skipSpace(bytes, behind + 1) : end };
}

/** Whether an event says what was used and nothing else. */
function isReport(data: string): boolean {
  const { choices, usage } = parsedObject(data) ?? {};
  return (
    Array.isArray(choices) && choices.length === 0 && typeof usage === "object" && usage !== null
  );
}

/** Returns the whole event that a line belongs to, with its blank line. */
function eventAround(bytes: Uint8Array, { begin: line, end: lineEnd }: Cut): Cut {
  const end = ends.first(bytes, lineEnd);
  return { begin: Math.max(0, ends.last(bytes, 0, line)), end: end === -1 ? bytes.length : end };
}
