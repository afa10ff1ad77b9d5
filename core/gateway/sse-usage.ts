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
const QUOTE = 34;
/** `"usage` in ASCII. */
const USAGE = [QUOTE, 117, 115, 97, 103, 101];

/**
 * Works on bytes: a chunk boundary may fall anywhere, also inside a character or between CR and LF. One pass
 * finds the ends of events (HTML standard, 9.2.6) and the few that contain `"usage`; only those are decoded.
 */
export function usageScanner(): UsageScanner {
  let usage = noUsage;
  /** The unfinished event, as far as it is looked at: all `carried` bytes up to the limit. */
  const carry = growingBytes();
  let carried = 0;
  let lineIsEmpty = true;
  let afterCr = false;
  let matched = 0;
  let mentionsUsage = false;

  const event = (rest: Uint8Array): Usage => {
    if (!mentionsUsage || carried + rest.length > EVENT_LIMIT) return usage;
    if (carried === 0) return usageIn(rest, usage);
    carry.add(rest);
    return usageIn(carry.bytes(), usage);
  };
  const reset = (): void => {
    carry.clear();
    carried = 0;
    mentionsUsage = false;
  };
  return {
    push(chunk) {
      let start = 0;
      for (let i = 0; i < chunk.length; i++) {
        const byte = chunk[i];
        if (byte !== LF && byte !== CR) {
          lineIsEmpty = false;
          afterCr = false;
          if (byte !== USAGE[matched]) matched = byte === QUOTE ? 1 : 0;
          else if (++matched === USAGE.length) {
            mentionsUsage = true;
            matched = 0;
          }
          continue;
        }
        const isHalf = byte === LF && afterCr;
        afterCr = byte === CR;
        if (isHalf) continue;
        matched = 0;
        if (lineIsEmpty) {
          if (mentionsUsage) usage = event(chunk.subarray(start, i));
          reset();
          start = i + 1;
        }
        lineIsEmpty = true;
      }
      if (start === chunk.length) return;
      // What exceeds the limit is no longer looked at, but its end is still to be found.
      carried += chunk.length - start;
      if (carried <= EVENT_LIMIT) carry.add(chunk.subarray(start));
    },
    usage: () => event(new Uint8Array(0)),
  };
}

/** What the data of one event says; nothing when it is not JSON, or cut off. */
function usageIn(event: Uint8Array, usage: Usage): Usage {
  const data = new TextDecoder()
    .decode(event)
    .split(/\r\n|\r|\n/)
    .map((line) => /^data(?:: ?|$)(.*)$/s.exec(line)?.[1])
    .filter((value) => value !== undefined);
  try {
    return addUsage(usage, JSON.parse(data.join("\n")));
  } catch {
    return usage;
  }
}

/** Bytes in one piece; twice as much room each time, so that whoever sends byte by byte costs no object for each. */
function growingBytes(): { add(more: Uint8Array): void; bytes(): Uint8Array; clear(): void } {
  let room: Uint8Array = new Uint8Array(0);
  let used = 0;
  return {
    add(more) {
      if (used + more.length > room.length) {
        const larger = new Uint8Array(Math.max(2 * room.length, used + more.length));
        larger.set(room.subarray(0, used));
        room = larger;
      }
      room.set(more, used);
      used += more.length;
    },
    bytes: () => room.subarray(0, used),
    clear() {
      used = 0;
    },
  };
}
