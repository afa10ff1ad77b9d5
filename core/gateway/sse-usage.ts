import { addUsage, noUsage, type Usage } from "./usage.ts";

/** Reads the usage out of a server-sent event stream while its bytes pass by. */
export interface UsageScanner {
  push(chunk: Uint8Array): void;
  /** What has been seen so far; after the last chunk this includes an event without its blank line. */
  usage(): Usage;
}

/** Bytes of one event that are looked at; a longer event cannot be a usage report. */
const EVENT_LIMIT = 1024 * 1024;

const LF = 10;
const CR = 13;
const COLON = 58;
const SPACE = 32;
/** `data`, `"usage` in ASCII. */
const DATA = [100, 97, 116, 97];
const USAGE = [34, 117, 115, 97, 103, 101];

/**
 * Works on bytes: a chunk boundary may fall anywhere, also inside a character or between CR and LF, and
 * only the few events that contain `"usage` are decoded and parsed (HTML standard, 9.2.6).
 */
export function usageScanner(): UsageScanner {
  const events = eventReader();
  /** The unfinished line, in pieces; what exceeds the limit is left out. */
  let carry: Uint8Array[] = [];
  let carried = 0;
  let afterCr = false;
  const endLine = (piece: Uint8Array): void => {
    if (carried === 0) return events.line(piece);
    events.line(join([...carry, piece], carried + piece.length));
    carry = [];
    carried = 0;
  };
  return {
    push(chunk) {
      let start = afterCr && chunk[0] === LF ? 1 : 0;
      if (chunk.length > 0) afterCr = false;
      for (let i = start; i < chunk.length; i++) {
        const byte = chunk[i];
        if (byte !== LF && byte !== CR) continue;
        endLine(chunk.subarray(start, i));
        if (byte === CR) {
          if (i + 1 === chunk.length) afterCr = true;
          else if (chunk[i + 1] === LF) i++;
        }
        start = i + 1;
      }
      if (start >= chunk.length || carried > EVENT_LIMIT) return;
      carry.push(chunk.subarray(start));
      carried += chunk.length - start;
    },
    usage() {
      if (carried > 0) endLine(new Uint8Array(0));
      return events.usage();
    },
  };
}

interface EventReader {
  /** Takes a whole line without its end; an empty one ends the event. */
  line(line: Uint8Array): void;
  usage(): Usage;
}

function eventReader(): EventReader {
  const decoder = new TextDecoder();
  let usage = noUsage;
  /** The data lines of the unfinished event. */
  let data: Uint8Array[] = [];
  let size = 0;
  let mentionsUsage = false;
  const parsed = (): Usage => {
    if (!mentionsUsage || size > EVENT_LIMIT) return usage;
    try {
      return addUsage(usage, JSON.parse(data.map((line) => decoder.decode(line)).join("\n")));
    } catch {
      return usage; // Not JSON, or cut off: no report.
    }
  };
  return {
    line(line) {
      if (line.length === 0) {
        usage = parsed();
        if (data.length > 0) data = [];
        size = 0;
        mentionsUsage = false;
        return;
      }
      const value = dataOf(line);
      if (value === null) return;
      size += value.length;
      if (size > EVENT_LIMIT) data = [];
      else data.push(value);
      mentionsUsage ||= contains(value, USAGE);
    },
    usage: parsed,
  };
}

/** The value of a `data` line, or null for a comment or another field. */
function dataOf(line: Uint8Array): Uint8Array | null {
  for (let i = 0; i < DATA.length; i++) if (line[i] !== DATA[i]) return null;
  if (line.length === DATA.length) return line.subarray(DATA.length);
  if (line[DATA.length] !== COLON) return null;
  const at = DATA.length + (line[DATA.length + 1] === SPACE ? 2 : 1);
  return line.subarray(at);
}

function contains(line: Uint8Array, needle: readonly number[]): boolean {
  const first = needle[0] ?? 0;
  const last = line.length - needle.length;
  for (let at = line.indexOf(first); at !== -1 && at <= last; at = line.indexOf(first, at + 1)) {
    let length = 1;
    while (length < needle.length && line[at + length] === needle[length]) length++;
    if (length === needle.length) return true;
  }
  return false;
}

function join(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const out = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    out.set(piece, at);
    at += piece.length;
  }
  return out;
}
