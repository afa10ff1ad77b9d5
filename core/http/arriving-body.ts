import { type BytePieces, bytePieces } from "./stream.ts";
import type { System } from "../ports.ts";
import { ApiError } from "./api-error.ts";

/** Bodies up to this many bytes weigh as little as the rest of their request, and do not count. */
export const UNCOUNTED: number = 16 * 1024;
/** Longer ones count as they arrive: what is only announced takes no room from others. */
export const READ_AT_ONCE: number = 256 * 1024;
/** Milliseconds for a body that counts to arrive, and without a byte of it. */
const ARRIVAL_MS = 300_000;
const STALL_MS = 30_000;

/** Of JSON the text is made, too. */
export function weightOf(bytes: number, isJson: boolean): number {
  return isJson ? 2 * bytes : bytes;
}

/** The answer where the process holds as much as it may. */
export function bodiesFull(): ApiError {
  return new ApiError("bodies_full", { headers: { "retry-after": "1" } });
}

/** The answer to a client that does not send what it has announced. */
function tooSlow(): ApiError {
  return new ApiError("request_timeout", {
    message: "The request body did not arrive in time",
    headers: { connection: "close" },
  });
}

/** Rejects with `request_timeout` when a body that is read at once takes too long. Not for small ones: it costs a timer. */
export async function inTime<T>(arriving: Promise<T>, system: System): Promise<T> {
  const over = new AbortController();
  const late = system.sleep(ARRIVAL_MS, over.signal).then(
    () => Promise.reject(tooSlow()),
    () => arriving,
  );
  try {
    return await Promise.race([arriving, late]);
  } finally {
    over.abort();
    late.catch(() => undefined);
  }
}

/** Ends the reading of a body that stands still, or takes too long: it holds memory that others need. */
function arrivalClock(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  size: () => number,
  system: System,
): { check(): void; stop(): void } {
  const over = new AbortController();
  let isLate = false;
  const watch = async (): Promise<void> => {
    for (let waited = 0, seen = -1; waited < ARRIVAL_MS && seen !== size(); waited += STALL_MS) {
      seen = size();
      await system.sleep(STALL_MS, over.signal);
    }
    isLate = true;
    await reader.cancel();
  };
  watch().catch(() => undefined);
  return {
    check() {
      if (isLate) throw tooSlow();
    },
    stop: () => over.abort(),
  };
}

/** What a body may take while it arrives. */
export interface ArrivingRoom {
  readonly system: System;
  /** False when there is no room for so many more bytes. */
  take(bytes: number): boolean;
  clear(): void;
  /** Whether what finds no room may be left unread. @default false */
  mayPass?(): boolean;
}

/** What was read of a body. */
export interface ArrivedBody {
  readonly pieces: BytePieces;
  /** False for one over the limit, and for one without room that may be left unread. */
  readonly isWhole: boolean;
  /** Whether there was no room, so that the pieces were let go. */
  readonly isFull: boolean;
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
}

/**
 * Reads up to `limit` bytes of a body, which have to find room and to arrive in time. Throws `bodies_full` for a whole one
 * without room, `request_timeout`, and 400 for one that breaks off.
 */
export async function readArriving(
  body: ReadableStream<Uint8Array>,
  limit: number,
  room: ArrivingRoom,
): Promise<ArrivedBody> {
  const reader = body.getReader();
  let pieces = bytePieces();
  let size = 0;
  let isFull = false;
  const clock = arrivalClock(reader, () => size, room.system);
  try {
    while (size <= limit) {
      const { done, value } = await reader.read().catch(brokenOff);
      clock.check();
      if (done && isFull) throw bodiesFull();
      if (done) return { pieces, isWhole: true, isFull, reader };
      size += value.length;
      // Taken all the same: a client that could not send the rest would not read the refusal.
      if (isFull) continue;
      pieces.add(value);
      if (size <= UNCOUNTED || room.take(value.length)) continue;
      if (room.mayPass?.() === true) break;
      isFull = true;
      pieces = bytePieces();
      room.clear();
    }
  } finally {
    clock.stop();
  }
  return { pieces, isWhole: false, isFull, reader };
}

/** The client left, or its framing is wrong: runtimes report either in errors of their own. */
export function brokenOff(cause: unknown): never {
  throw new ApiError("invalid_request", { message: "Request body broke off", cause });
}
