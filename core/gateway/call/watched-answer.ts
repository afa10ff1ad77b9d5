import { untilRefused } from "../../auth/while-permitted.ts";
import { ApiError } from "../../http/api-error.ts";
import { markPassing, passingBytes } from "../../http/response-note.ts";
import type {
  BreakOff,
  HeaderPair,
  InboundResponse,
  Log,
  StreamEnd,
  StreamWatch,
  System,
  Transport,
} from "../../ports.ts";
import { TIMER_OVER } from "../../time/timer-over.ts";
import { errorEvent, type StreamError } from "../wire/error-event.ts";
import { watchedStream } from "../wire/watched-stream.ts";
import type { PassingAnswer, ShareAnswer, StepRun } from "./answers.ts";
import type { Call } from "./call.ts";
import type { DlpReport } from "./forwarded.ts";
import type { Settle } from "./limits.ts";
import type { Observation, Recording } from "./recording.ts";

export interface AnswerRecord {
  readonly record: Recording;
  readonly settle: Settle;
  readonly dlp: DlpReport | null;
  readonly cached: boolean;
}

export interface WatchParts {
  readonly system: System;
  readonly log: Log;
  /** Asks whether the caller may still have the answer; throws what refuses it. Null for one who always may. */
  readonly reviewOf: (call: Call) => (() => Promise<unknown>) | null;
  readonly transport: Pick<Transport, "watch">;
  /** Whether an access log wants to know how long answers are. */
  readonly accessLog: boolean;
}

export interface RecordedAnswer {
  readonly answerRecord: AnswerRecord;
  readonly share: ShareAnswer | null;
}

/** The same answer; its bytes are observed, and shared, as they pass. A stream ends with the rights of its caller. */
export function watchedAnswer(
  answer: InboundResponse,
  run: StepRun,
  parts: WatchParts,
  { answerRecord: { record, settle, cached, dlp }, share }: RecordedAnswer,
): InboundResponse {
  const { call, prepared } = run;
  const { status, headers, body } = answer;
  const watch = record.watch(headers, prepared);
  const isStream = body instanceof ReadableStream;
  const passing = isStream && parts.accessLog ? passingBytes() : undefined;
  const review = isStream ? startReview(call, parts) : null;
  const onChunk = (chunk: Uint8Array): void => {
    watch?.push(chunk);
    passing?.push(chunk);
  };
  if (isStream) call.held?.retain();
  const onEnd = (end: StreamEnd): void => {
    review?.end();
    passing?.end();
    if (isStream) call.held?.release();
    const finish = (seen: Observation | null): void => {
      const complete = end === "complete" || (end === "aborted" && seen?.isOver === true);
      const left = end === "aborted";
      const told = review?.refusal() ?? null;
      const note = told === null ? {} : { note: told.message };
      const cost = record.finish({ status, complete, left, headers, cached, seen, dlp, ...note });
      const isRefused = status >= 400 || seen?.failure?.isAll === true;
      // A refusal costs nothing unless its provider says so.
      settle(isRefused ? (cost ?? 0) : cost);
    };
    const seen = watch?.finish() ?? null;
    if (seen instanceof Promise) parts.system.waitUntil(seen.then(finish));
    else finish(seen);
  };
  const passed = passingAnswer(answer, { onChunk, onEnd }, { signal: call.signal, share }, parts);
  if (passed.breakOff !== null) review?.begin(headers, passed.breakOff);
  if (passing !== undefined && passed.answer.body instanceof ReadableStream)
    markPassing(passed.answer.body, passing);
  return passed.answer;
}

function passingAnswer(
  answer: InboundResponse,
  bytes: StreamWatch,
  { signal, share }: { readonly signal: AbortSignal; readonly share: ShareAnswer | null },
  { system, transport }: WatchParts,
): PassingAnswer {
  const { status, headers, body } = answer;
  if (share !== null) return share(answer, bytes);
  if (body instanceof ReadableStream) {
    const breakOff = transport.watch?.(body, bytes) ?? null;
    if (breakOff !== null) return { answer, breakOff };
    const { body: copy, ...watched } = watchedStream(body, bytes, signal, system);
    return { answer: { status, headers, body: copy }, ...watched };
  }
  if (body !== null) bytes.onChunk(body);
  bytes.onEnd("complete");
  return { answer, breakOff: null };
}

/** Ends a stream when its caller may have it no longer. */
interface StreamReview {
  begin(headers: readonly HeaderPair[], breakOff: BreakOff): void;
  /** The stream is over. */
  end(): void;
  /** Why the stream was broken off; null = it was not. */
  refusal(): ApiError | null;
}

function startReview(call: Call, { reviewOf, system, log }: WatchParts): StreamReview | null {
  const review = reviewOf(call);
  if (review === null) return null;
  const over = new AbortController();
  let refusal: ApiError | null = null;
  return {
    begin(headers, breakOff) {
      void untilRefused(review, { system, log }, over.signal).catch((error: unknown) => {
        if (!(error instanceof ApiError) || over.signal.aborted) return;
        refusal = error;
        breakOff(errorEvent(headers, streamError(error)));
      });
    },
    end: () => over.abort(TIMER_OVER),
    refusal: () => refusal,
  };
}

function streamError({ status, message }: ApiError): StreamError {
  const type = status === 429 ? "rate_limit_error" : "authentication_error";
  return { type, code: status, message };
}
