import { markPassing, passingBytes } from "../../http/response-note.ts";
import type { InboundResponse, StreamEnd, StreamWatch, System, Transport } from "../../ports.ts";
import { watchedStream } from "../wire/watched-stream.ts";
import type { ShareAnswer, StepRun } from "./answers.ts";
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
  readonly transport: Pick<Transport, "watch">;
  /** Whether an access log wants to know how long answers are. */
  readonly accessLog: boolean;
}

export interface RecordedAnswer {
  readonly answerRecord: AnswerRecord;
  readonly share: ShareAnswer | null;
}

/** The same answer; its bytes are observed, and shared, as they pass. */
export function watchedAnswer(
  answer: InboundResponse,
  { call, prepared }: StepRun,
  { system, transport, accessLog }: WatchParts,
  { answerRecord: { record, settle, cached, dlp }, share }: RecordedAnswer,
): InboundResponse {
  const { status, headers, body } = answer;
  const watch = record.watch(headers, prepared);
  const isStream = body instanceof ReadableStream;
  const passing = isStream && accessLog ? passingBytes() : undefined;
  const onChunk = (chunk: Uint8Array): void => {
    watch?.push(chunk);
    passing?.push(chunk);
  };
  if (isStream) call.held?.retain();
  const onEnd = (end: StreamEnd): void => {
    passing?.end();
    if (isStream) call.held?.release();
    const finish = (seen: Observation | null): void => {
      const complete = end === "complete" || (end === "aborted" && seen?.isOver === true);
      const left = end === "aborted";
      const cost = record.finish({ status, complete, left, headers, cached, seen, dlp });
      const isRefused = status >= 400 || seen?.failure?.isAll === true;
      // A refusal costs nothing unless its provider says so.
      settle(isRefused ? (cost ?? 0) : cost);
    };
    const seen = watch?.finish() ?? null;
    if (seen instanceof Promise) system.waitUntil(seen.then(finish));
    else finish(seen);
  };
  const marked = (passed: InboundResponse): InboundResponse => {
    if (passing !== undefined && passed.body instanceof ReadableStream)
      markPassing(passed.body, passing);
    return passed;
  };
  const bytes: StreamWatch = { onChunk, onEnd };
  if (share !== null) return marked(share(answer, bytes));
  if (body instanceof ReadableStream) {
    if (transport.watch?.(body, bytes) === true) return marked(answer);
    return marked({ status, headers, body: watchedStream(body, bytes, call.signal, system) });
  }
  if (body !== null) onChunk(body);
  onEnd("complete");
  return answer;
}
