import { ApiError } from "../../http/api-error.ts";
import type { Log, System } from "../../ports.ts";
import { TIMER_OVER } from "../../time/timer-over.ts";

/** Turns texts into vectors of one length, in their order. */
export type Embed = (
  texts: string[],
  signal: AbortSignal,
) => Promise<readonly (Float32Array | readonly number[])[]>;

export interface AskEmbedder {
  readonly embed: Embed;
  /** Milliseconds that a request waits for its vector. */
  readonly timeoutMs: number;
  readonly system: System;
  readonly log: Log;
}

/** Questions at the embedder at once; further ones do without. */
const AT_ONCE = 8;
/** Milliseconds that an embedder has to end a question that was given up. */
const GRACE = 1000;
/** Milliseconds after which a question that was given up, and has not ended since, makes room for another one. */
const LOST = 60_000;
/** Longest vector that is taken. */
const MAX_DIMENSIONS = 8192;
/** Milliseconds between two warnings. */
const WARNING_PAUSE = 60_000;

/** Makes a function that asks for the vector (length 1) of a text; null on any failure. It never rejects. */
export function questionVectors({
  embed,
  timeoutMs,
  system,
  log,
}: AskEmbedder): (text: string, client: AbortSignal) => Promise<Float32Array | null> {
  // When each of them was asked.
  const underway = new Map<AbortSignal, number>();
  let quietUntil = 0;
  const warn = (reason: string): null => {
    const now = system.monotonic();
    if (now >= quietUntil) {
      quietUntil = now + WARNING_PAUSE;
      log("warn", "The semantic cache got no vector from its embedder", { reason });
    }
    return null;
  };
  const ask = async (text: string, signal: AbortSignal): Promise<Float32Array | null> => {
    try {
      const [vector] = await embed([text], signal);
      return unitVector(vector) ?? warn("its answer is not a vector");
    } catch (error) {
      return signal.aborted ? null : warn(reasonOf(error));
    } finally {
      underway.delete(signal);
    }
  };
  return async (text, client) => {
    const now = system.monotonic();
    for (const [lost, asked] of underway) if (now - asked > timeoutMs + LOST) underway.delete(lost);
    if (underway.size >= AT_ONCE || client.aborted) return null;
    const late = new AbortController();
    const done = new AbortController();
    const signal = AbortSignal.any([client, late.signal]);
    underway.set(signal, now);
    const given = new Promise<null>((resolve) => {
      signal.addEventListener("abort", () => resolve(null), { once: true });
    });
    const timer = system.sleep(timeoutMs, done.signal).then(
      () => {
        warn(`no answer within ${timeoutMs} ms`);
        late.abort();
      },
      () => undefined,
    );
    const asking = ask(text, signal);
    const vector = await Promise.race([asking, given]);
    // Else workerd would end it with its client, before it makes room.
    if (signal.aborted) system.waitUntil(Promise.race([asking, system.sleep(GRACE)]));
    done.abort(TIMER_OVER);
    await timer;
    return vector;
  };
}

/** Returns a message that may be logged. Our own messages contain no text and no secret; those of others might. */
function reasonOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  return error instanceof Error ? error.name : "it failed";
}

/** Returns a copy of length 1; null for anything but a vector. */
function unitVector(vector: unknown): Float32Array | null {
  if (!(vector instanceof Float32Array) && !Array.isArray(vector)) return null;
  if (vector.length === 0 || vector.length > MAX_DIMENSIONS) return null;
  const unit = Float32Array.from(vector as ArrayLike<number>);
  const sum = unit.reduce((total, value) => total + value * value, 0);
  if (!(sum > 0) || !Number.isFinite(sum)) return null;
  const factor = 1 / Math.sqrt(sum);
  return unit.map((value) => value * factor);
}
