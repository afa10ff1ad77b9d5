import { markPassing, passingBytes } from "../../http/response-note.ts";
import type { InboundResponse, StreamEnd, StreamWatch, Transport } from "../../ports.ts";
import { watchedStream } from "../wire/watched-stream.ts";
import type { PassingAnswer, ShareAnswer, StepRun } from "./answers.ts";
import type { DlpReport } from "./forwarded.ts";
import type { OutputRoom, Settle } from "./limits.ts";
import type { Observation, Recording } from "./recording.ts";
import { type StreamReviewParts, streamReview } from "./stream-review.ts";

export interface AnswerRecord {
  readonly record: Recording;
  readonly settle: Settle;
  /** The output that its stream may use; null = no bound. */
  readonly room: OutputRoom | null;
  readonly dlp: DlpReport | null;
  readonly cached: boolean;
}

export interface WatchParts extends StreamReviewParts {
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
  { answerRecord: { record, settle, room, cached, dlp }, share }: RecordedAnswer,
): InboundResponse {
  const { call, prepared } = run;
  const { status, headers, body } = answer;
  const watch = record.watch(headers, prepared);
  const isStream = body instanceof ReadableStream;
  const passing = isStream && parts.accessLog ? passingBytes() : undefined;
  const review = isStream ? streamReview(call, { room, watch }, parts) : null;
  const onChunk = (chunk: Uint8Array): void => {
    watch?.push(chunk);
    review?.onChunk(chunk.length);
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
  review?.begin(headers, passed);
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
