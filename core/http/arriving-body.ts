import type { BodyHold } from "../work/body-budget.ts";
import type { Platform, System } from "../ports.ts";
import { ApiError } from "./api-error.ts";
import { bytePieces, joinInParts, withPrefix } from "./stream.ts";
import { TIMER_OVER } from "../time/timer-over.ts";

/** Bodies up to this many bytes weigh as little as the rest of their request, and do not count. */
export const UNCOUNTED: number = 16 * 1024;
/** Milliseconds for a body to arrive; for one that does not count, or without a byte of one that does. */
const ARRIVAL_MS = 300_000;
const STALL_MS = 30_000;

/** The memory budget for an arriving body. */
export interface ArrivingRoom {
  readonly system: System;
  /** Counts more bytes; false when the budget has too little left. */
  take(bytes: number): boolean;
  /** Gives all counted bytes back. */
  clear(): void;
  /** Whether the body may stream through unread when the budget is used up. @default false */
  mayPass?(): boolean;
}

/** The part of a platform that counts the memory of bodies. */
export type BodyPlatform = Pick<Platform, "system" | "bodies">;

/** Room for one body; `release` gives it back once the body's use is over. */
export function arrivingRoom(
  { system, bodies }: BodyPlatform,
  isJson: boolean,
): ArrivingRoom & { release(): void } {
  let held: BodyHold | undefined;
  return {
    system,
    take(bytes) {
      held ??= bodies?.hold();
      return held?.take(weightOf(bytes, isJson)) ?? true;
    },
    clear: () => held?.clear(),
    release: () => held?.release(),
  };
}

/** JSON counts twice: as bytes and as text. */
export function weightOf(bytes: number, isJson: boolean): number {
  return isJson ? 2 * bytes : bytes;
}

/** The answer when the process holds as many bodies as it may. */
export function bodiesFull(): ApiError {
  return new ApiError("bodies_full", { headers: { "retry-after": "1" } });
}

/** The answer to a client that left, or whose framing is wrong: runtimes report either in errors of their own. */
export function brokenOff(cause: unknown): never {
  throw new ApiError("invalid_request", { message: "Request body broke off", cause });
}

/**
 * Reads a body of at most {@link UNCOUNTED} announced bytes at once, which runtimes do several times faster than as a stream.
 * Throws `request_timeout` when it has not arrived after 30 s, and `invalid_request` when it breaks off.
 */
export async function readSmall(
  request: Request,
  system: System | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const arriving = request.arrayBuffer().catch(brokenOff);
  if (system === undefined) return new Uint8Array(await arriving);
  const over = new AbortController();
  const late = Promise.withResolvers<never>();
  system.sleep(STALL_MS, over.signal).then(
    () => late.reject(tooSlow()),
    () => undefined,
  );
  try {
    return new Uint8Array(await Promise.race([arriving, late.promise]));
  } finally {
    over.abort(TIMER_OVER);
    arriving.catch(() => undefined);
  }
}

/**
 * Reads a body; with `room` it counts among those in memory, and has to arrive in time. A body of over `limit` bytes,
 * or one that may pass when memory is full, comes back as a stream: the bytes read so far, then the rest. Throws
 * `bodies_full` when memory is full, `request_timeout` when the body stalls, and `invalid_request` when it breaks off.
 */
export async function readArriving(
  body: ReadableStream<Uint8Array>,
  limit: number,
  room: ArrivingRoom | undefined,
): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>> {
  const reader = body.getReader();
  // A body may come a byte at a time, and a piece of its own costs a hundred times that.
  const pieces = bytePieces();
  let size = 0;
  let isFull = false;
  const clock = room === undefined ? undefined : arrivalClock(reader, () => size, room.system);
  try {
    while (size <= limit) {
      const { done, value } = await reader.read().catch(brokenOff);
      clock?.check();
      if (done && isFull) throw bodiesFull();
      if (done) return await joinInParts(pieces.list, room);
      size += value.length;
      // The rest is read all the same: a client that could not send it would not read the refusal.
      if (isFull) continue;
      pieces.add(value);
      if (size <= UNCOUNTED || room === undefined || room.take(value.length)) continue;
      if (room.mayPass?.() === true) break;
      isFull = true;
      pieces.list.length = 0;
      room.clear();
    }
  } finally {
    clock?.stop();
  }
  if (!isFull) return withPrefix(pieces.list, reader);
  await reader.cancel().catch(() => undefined);
  throw bodiesFull();
}

/** The answer to a client that does not send the bytes that it announced. */
function tooSlow(): ApiError {
  return new ApiError("request_timeout", {
    message: "The request body did not arrive in time",
    headers: { connection: "close" },
  });
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
    stop: () => over.abort(TIMER_OVER),
  };
}
