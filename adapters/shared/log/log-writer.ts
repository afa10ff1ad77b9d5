import type { Log } from "../../../core/ports.ts";
import { unref } from "../work/unref.ts";

/** Takes what it can at once, and returns how many bytes that were; throws what the system says. Never waits. */
export type LineTarget = (bytes: Uint8Array) => number;

/** Opens a target. `onReady` has what is held back tried again at once. */
export type OpenTarget = (onReady: () => void) => LineTarget;

/** Writes lines without waiting for their reader. */
export interface LogWriter {
  /** Writes whole lines. Neither waits nor throws: what cannot be written now is held back, or dropped and counted. */
  write(text: string): void;
  /** Tries once to write what is held back: at the end of the process, nothing else will. */
  flush(): void;
  /** Sets the log that reports dropped lines, once the lines held back before them are written. */
  tellDropped(log: Log): void;
  /** Lines that were dropped since the start. */
  dropped(): number;
}

/** Bytes that are held back at most, some 4000 lines. */
const HELD_BYTES = 1024 * 1024;
/** Milliseconds until the next attempt: a reader that keeps up has room again at once, one that is stuck is asked rarely. */
const SOONEST_MS = 1;
const LATEST_MS = 100;

const TOO_SLOW = "the reader of the log is too slow";

const encoder = new TextEncoder();

/** Makes a writer; the target is opened with the first line. `first` is the log until another one is given. */
export function logWriter(open: OpenTarget, first: Log): LogWriter {
  const held: Uint8Array[] = [];
  let heldBytes = 0;
  let total = 0;
  /** Dropped lines that are not reported yet. */
  let unreported = 0;
  let reason = "";
  let log = first;

  const drop = (bytes: Uint8Array): void => {
    const lines = bytes.reduce((count, byte) => (byte === 10 ? count + 1 : count), 0);
    total += lines;
    unreported += lines;
  };
  const attempt = attempts(
    () => open(flush),
    (why) => void (reason = why),
  );
  const hold = (bytes: Uint8Array): void => {
    held.push(bytes);
    heldBytes += bytes.length;
  };
  const flush = (): void => {
    while (held[0] !== undefined) {
      const rest = attempt(held[0]);
      heldBytes -= held[0].length - rest.length;
      if (rest.length > 0) return void (held[0] = rest);
      held.shift();
    }
    if (unreported === 0) return;
    const lines = unreported;
    unreported = 0;
    log("error", `${lines} log lines were dropped`, { lines, reason });
  };
  const plan = retry(() => {
    const before = heldBytes;
    flush();
    return heldBytes === 0 ? "done" : heldBytes < before ? "progress" : "stuck";
  });
  return {
    write(text) {
      if (text === "") return;
      const bytes = encoder.encode(text);
      const isFirst = held.length === 0 && unreported === 0;
      const rest = isFirst ? attempt(bytes) : bytes;
      if (rest.length === 0) return;
      // Lines stay in order: while some are missing, further ones would hide where.
      if (isFirst || (unreported === 0 && heldBytes + rest.length <= HELD_BYTES)) hold(rest);
      else drop(rest);
      plan();
    },
    flush,
    tellDropped(given) {
      log = given;
    },
    dropped: () => total,
  };
}

/** Writes what fits, and returns the rest; throws nothing. */
function attempts(
  open: () => LineTarget,
  fail: (reason: string) => void,
): (bytes: Uint8Array) => Uint8Array {
  let target: LineTarget | undefined;
  return (bytes) => {
    try {
      target ??= open();
      const rest = bytes.subarray(target(bytes));
      if (rest.length > 0) fail(TOO_SLOW);
      return rest;
    } catch (error) {
      fail(reasonOf(error));
      return bytes;
    }
  };
}

/** Plans work, and again until it is done: soon while it makes progress, less and less often while it is stuck. */
function retry(work: () => "done" | "progress" | "stuck"): () => void {
  let pauseMs = SOONEST_MS;
  let isPlanned = false;
  const plan = (): void => {
    if (isPlanned) return;
    isPlanned = true;
    const timer = setTimeout(() => {
      isPlanned = false;
      const outcome = work();
      pauseMs = outcome === "stuck" ? Math.min(2 * pauseMs, LATEST_MS) : SOONEST_MS;
      if (outcome !== "done") plan();
    }, pauseMs);
    unref(timer);
  };
  return plan;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && error.code === "EAGAIN" ? TOO_SLOW : error.message;
}
