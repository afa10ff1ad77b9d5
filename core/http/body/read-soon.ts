import { bytePieces, joinBytes, pulledStream, type StreamRead, withPrefix } from "../stream.ts";
import type { System } from "../../ports.ts";
import { TIMER_OVER } from "../../time/timer-over.ts";

/** Bytes of a response that are looked at in one turn, and for the announcement. */
export const RESPONSE_SLICE: number = 64 * 1024;

/**
 * A stream of bytes that were read and of what follows them, in slices; its next chunk is on the way. With a `system` other
 * work goes on between the slices: what changes them may take milliseconds for each.
 */
export function piecesOf(
  bytes: Uint8Array,
  next: Promise<StreamRead>,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  system?: Pick<System, "sleep">,
): ReadableStream<Uint8Array> {
  let left = bytes;
  let arriving: Promise<StreamRead> | null = next;
  // A failure comes to the reader, if there is one.
  next.catch(() => undefined);
  let passed = 0;
  return pulledStream(
    async () => {
      if (passed >= RESPONSE_SLICE) {
        passed = 0;
        await system?.sleep(0);
      }
      if (left.length === 0) {
        const { done, value } = await (arriving ?? reader.read());
        arriving = null;
        if (done) return { done, value };
        left = value;
      }
      const value = left.subarray(0, RESPONSE_SLICE);
      left = left.subarray(RESPONSE_SLICE);
      passed += value.length;
      return { done: false, value };
    },
    (reason) => reader.cancel(reason),
  );
}

/** Turns of microtasks that a body which is there as a whole takes at most to begin, and to end. */
const TURNS = 32;

/** Whether a read that is under way finds the end, without waiting. */
export async function endsAtOnce(next: Promise<StreamRead>): Promise<boolean> {
  return (await settlesAtOnce(next)) && (await next.catch(() => null))?.done === true;
}

/** Whether a body is there. Some runtimes (Workers) read none without their event loop: it is there if it comes with another that is. */
export async function begins(beginning: Promise<StreamRead>): Promise<boolean> {
  if (await settlesAtOnce(beginning)) return true;
  await new Response(" ").text();
  return await settlesAtOnce(beginning);
}

async function settlesAtOnce(read: Promise<StreamRead>): Promise<boolean> {
  const seen = { settled: false };
  const settle = (): void => void (seen.settled = true);
  read.then(settle, settle);
  for (let turn = 0; turn < TURNS && !seen.settled; turn++) await Promise.resolve();
  return seen.settled;
}

/** Milliseconds of a moment: too short for a reader to notice. */
const SOON_MS = 10;

/** A whole body of at most `limit` bytes if it arrives within a moment (10 ms); else a stream of the same bytes. */
export async function readSoon(
  body: ReadableStream<Uint8Array>,
  limit: number,
  system: Pick<System, "sleep"> | undefined,
): Promise<Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>> {
  const reader = body.getReader();
  const pieces = bytePieces();
  const moment = momentOf(system);
  try {
    for (;;) {
      const next = reader.read();
      const arrived = next.then(
        () => true,
        () => true,
      );
      // A read that is done counts, however late the timer finds it.
      const isThere = (await Promise.race([arrived, moment.over])) || (await begins(next));
      const read = isThere ? await next.catch(() => null) : null;
      // A failure comes to the reader of the response.
      if (read === null) return piecesOf(pieces.whole(), next, reader);
      if (read.done) return joinBytes(pieces.list);
      pieces.add(read.value);
      if (pieces.size > limit) return withPrefix(pieces.list, reader);
    }
  } finally {
    moment.end();
  }
}

/** A moment that passes; `over` resolves to false then. */
function momentOf(system: Pick<System, "sleep"> | undefined): {
  readonly over: Promise<false>;
  end(): void;
} {
  const { promise: over, resolve } = Promise.withResolvers<false>();
  const pass = (): void => resolve(false);
  if (system === undefined) {
    // eslint-disable-next-line no-restricted-properties -- a host without a platform has no System, which would sleep
    const late = AbortSignal.timeout(SOON_MS);
    late.addEventListener("abort", pass, { once: true });
    return { over, end: () => late.removeEventListener("abort", pass) };
  }
  const ended = new AbortController();
  system.sleep(SOON_MS, ended.signal).then(pass, pass);
  return { over, end: () => ended.abort(TIMER_OVER) };
}
