import { markPassing, passingBytes } from "../../http/answer-note.ts";
import type { InboundResponse, StreamEnd, StreamWatch } from "../../ports.ts";
import type { Call, GatewayDeps } from "./call.ts";
import type { DlpReport } from "../guard/checkers/inspect.ts";
import type { Settle } from "../observe/spend/step-spend.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { type Leadership, leaderAnswer } from "../answer/cache/leader-answer.ts";
import { type Observation, observer } from "../observe/usage/observer.ts";
import type { Outbound } from "./outbound.ts";
import type { Recording } from "../observe/log/record.ts";
import { withoutCredentials } from "../observe/log/row-hygiene.ts";
import { watchedStream } from "../wire/watched-stream.ts";

/** What records how an answer went. */
export interface AnswerRecord {
  readonly record: Recording;
  readonly settle: Settle;
  readonly dlp: DlpReport | null;
  readonly cached: boolean;
}

/** The call, and the request that was sent. */
interface AnswerContext {
  readonly call: Call;
  readonly deps: GatewayDeps;
  readonly prepared: Outbound;
}

/** The same answer; its bytes are observed for the log, and kept for the cache, as they pass. */
export function watchedAnswer(
  answer: InboundResponse,
  { record, settle, cached, dlp }: AnswerRecord,
  leadership: Leadership | null,
  { call, deps, prepared }: AnswerContext,
): InboundResponse {
  const { status, headers, body } = answer;
  const { system } = deps.platform;
  const type = headerValue(headers, "content-type") ?? "";
  const encoding = headerValue(headers, "content-encoding") ?? "";
  const watch = record.observes ? observer(type, encoding, record.keep, deps) : null;
  const isStream = body instanceof ReadableStream;
  const passing = isStream && deps.accessLog ? passingBytes() : undefined;
  const onChunk = (chunk: Uint8Array): void => {
    watch?.push(chunk);
    passing?.push(chunk);
  };
  if (isStream) call.held?.retain();
  const onEnd = (end: StreamEnd): void => {
    passing?.end();
    if (isStream) call.held?.release();
    const finish = (all: Observation | null): void => {
      const complete = end === "complete" || (end === "aborted" && all?.isOver === true);
      const seen = withoutCredentials(all, prepared);
      const dlpAction = dlp?.action ?? null;
      const left = end === "aborted";
      const cost = record.finish({ status, complete, left, headers, cached, seen, dlpAction });
      // A refusal costs nothing unless its provider says so.
      settle(status >= 400 ? (cost ?? 0) : cost);
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
  if (leadership !== null)
    return marked(leaderAnswer(answer, leadership, { onChunk, onEnd, system }));
  if (body instanceof ReadableStream) {
    const bytes: StreamWatch = { onChunk, onEnd };
    if (deps.platform.transport.watch?.(body, bytes) === true) return marked(answer);
    return marked({ status, headers, body: watchedStream(body, bytes, call.signal, system) });
  }
  if (body !== null) onChunk(body);
  onEnd("complete");
  return answer;
}
