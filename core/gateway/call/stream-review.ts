import { refusalOf, untilRefused } from "../../auth/while-permitted.ts";
import { ApiError } from "../../http/api-error.ts";
import { endedOnPurpose } from "../../net/transport-error.ts";
import type { HeaderPair, Log, System } from "../../ports.ts";
import { TIMER_OVER } from "../../time/timer-over.ts";
import { BYTES_PER_TOKEN } from "../chat/usage.ts";
import { errorEvent, type StreamError } from "../wire/error-event.ts";
import type { PassingAnswer } from "./answers.ts";
import type { Call } from "./call.ts";
import type { OutputRoom } from "./limits.ts";
import type { AnswerWatch } from "./recording.ts";

export interface StreamReviewParts {
  readonly system: System;
  readonly log: Log;
  /** Asks whether the caller may still have the answer; throws what refuses it. Null for one who always may. */
  readonly reviewOf: (call: Call) => (() => Promise<unknown>) | null;
}

/** Ends a stream when its caller may have it no longer, or when it has used up what its limits allow. */
export interface StreamReview {
  /** The stream begins to pass. */
  begin(headers: readonly HeaderPair[], passing: PassingAnswer): void;
  /** So many bytes more of it have passed. */
  onChunk(bytes: number): void;
  /** The stream is over. */
  end(): void;
  /** Why the stream was broken off; null = it was not. */
  refusal(): ApiError | null;
}

/** The output of a stream, and the room that it has. */
export interface SpentOutput {
  readonly room: OutputRoom | null;
  readonly watch: AnswerWatch | null;
}

/** Null for a stream that nothing can end. */
export function streamReview(
  call: Call,
  { room, watch }: SpentOutput,
  { reviewOf, system, log }: StreamReviewParts,
): StreamReview | null {
  const review = reviewOf(call);
  if (review === null && (room === null || watch?.passed === undefined)) return null;
  const over = new AbortController();
  let refusal: ApiError | null = null;
  let breakOff: ((error: ApiError, isForAll: boolean) => void) | null = null;
  const refuse = (error: unknown, isForAll: boolean): void => {
    if (!(error instanceof ApiError) || over.signal.aborted || refusal !== null) return;
    refusal = error;
    breakOff?.(error, isForAll);
  };
  const spent =
    room === null || watch?.passed === undefined
      ? null
      : outputWatch(room, () => watch.passed?.() ?? 0, {
          log,
          refuse: (error) => refuse(error, true),
        });
  return {
    begin(headers, passing) {
      breakOff = (error, isForAll) => {
        passing.breakOff?.(errorEvent(headers, streamError(error)));
        // The same budget would pay for the other readers of the stream.
        if (isForAll) passing.stop?.(endedOnPurpose());
      };
      if (passing.breakOff === null || review === null) return;
      void untilRefused(review, { system, log }, over.signal).catch((error: unknown) =>
        refuse(error, false),
      );
    },
    onChunk: (bytes) => spent?.(bytes),
    end: () => over.abort(TIMER_OVER),
    refusal: () => refusal,
  };
}

/** Most bytes of a stream between two looks at what it has used. */
const LOOK = 8 * 1024;

/** Tokens before the end of the room from which on more is set aside: the stream does not wait for that. */
const AHEAD = LOOK / BYTES_PER_TOKEN;

interface OutputWatchParts {
  readonly log: Log;
  readonly refuse: (error: ApiError) => void;
}

/** Returns what is told the bytes of a stream as they pass; it sets more aside for it in time. */
function outputWatch(
  room: OutputRoom,
  passed: () => number,
  { log, refuse }: OutputWatchParts,
): (bytes: number) => void {
  // Text of one token takes so many bytes at least.
  const nextLook = (tokens: number): number =>
    Math.min(LOOK, Math.max(1, tokens) * BYTES_PER_TOKEN);
  let bytesLeft = nextLook(room.tokens);
  let isAsking = false;
  /** Whether the last slice was refused: the stream goes on to the end of its room. */
  let isLast = false;
  const extend = async (): Promise<void> => {
    isAsking = true;
    const refusal = await refusalOf(() => room.extend(), log);
    isAsking = false;
    isLast = refusal !== null;
    if (refusal !== null && passed() >= room.tokens) refuse(refusal);
  };
  return (bytes) => {
    bytesLeft -= bytes;
    if (bytesLeft > 0 || isAsking) return;
    const left = room.tokens - passed();
    bytesLeft = nextLook(left);
    if (left <= (isLast ? 0 : AHEAD)) void extend();
  };
}

function streamError({ status, message }: ApiError): StreamError {
  const type = status === 429 ? "rate_limit_error" : "authentication_error";
  return { type, code: status, message };
}
