import type { AnswerSilence, HeaderPair } from "../../../core/ports.ts";
import { TransportError } from "../../../core/net/transport-error.ts";

/** How long an answer that has begun may send nothing where the request says nothing else, in ms: models may think for minutes. */
export const ANSWER_SILENCE_MS = 600_000;

/** The most that a timer takes, in ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A {@link AnswerSilence} of one answer. */
export interface SilenceLimit {
  readonly ms: number;
  /** The bytes that are handed on before the answer breaks off; empty for most. */
  last(): Uint8Array<ArrayBuffer>;
}

/** Returns the limit on the silence of an answer with these headers. */
export function silenceLimit(
  silence: AnswerSilence | undefined,
  headers: readonly HeaderPair[],
): SilenceLimit {
  return {
    ms: Math.min(silence?.ms ?? ANSWER_SILENCE_MS, LONGEST_TIMER_MS),
    last: () => silence?.last?.(headers) ?? new Uint8Array(0),
  };
}

/** The error of an answer that sent nothing for too long. */
export class SilentAnswer extends TransportError {
  constructor() {
    super("broken", "The upstream fell silent in the middle of its answer");
  }
}

/** How long the last bytes have to leave before the stream behind them fails, in ms: servers drop what waits when it does. */
export const LAST_BYTES_MS = 50;

/** Fails a stream behind its last bytes. */
export function failSoon(
  controller: ReadableStreamDefaultController<Uint8Array>,
  error: TransportError,
): void {
  setTimeout(() => controller.error(error), LAST_BYTES_MS);
}

/**
 * Counts the silence of an answer: only while its reader waits for bytes, so that a slow reader has all the time it needs.
 */
export interface SilenceWatch {
  /** The reader waits for bytes from now on. */
  wait(): void;
  /** Bytes came. */
  came(): void;
  /** Nothing is waited for any more. */
  over(): void;
}

/** Calls `onSilence` once after `ms` without bytes. One timer serves all chunks of a stream. */
export function watchSilence(ms: number, onSilence: () => void): SilenceWatch {
  let since: number | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const start = (wait: number): void => {
    timer = setTimeout(() => {
      timer = undefined;
      if (since === null) return;
      const left = since + ms - performance.now();
      if (left > 0) start(Math.ceil(left));
      else onSilence();
    }, wait);
  };
  return {
    wait() {
      since = performance.now();
      if (timer === undefined) start(ms);
    },
    came() {
      since = null;
    },
    over() {
      since = null;
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
