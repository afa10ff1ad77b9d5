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
  const onChunk = (chunk: Uint8Array): void => watch?.push(chunk);
  const isStream = body instanceof ReadableStream;
  if (isStream) call.held?.retain();
  const onEnd = (end: StreamEnd): void => {
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
  if (leadership !== null) return leaderAnswer(answer, leadership, { onChunk, onEnd, system });
  if (body instanceof ReadableStream) {
    const passing: StreamWatch = { onChunk, onEnd };
    if (deps.platform.transport.watch?.(body, passing) === true) return answer;
    return { status, headers, body: watchedStream(body, passing, call.signal, system) };
  }
  if (body !== null) onChunk(body);
  onEnd("complete");
  return answer;
}
