import { ApiError } from "../../../http/api-error.ts";
import { toHex } from "../../../crypto/encoding.ts";
import type { System } from "../../../ports.ts";
import type { Controls } from "../../call/controls.ts";
import {
  childSpan,
  type EntryRoute,
  type RequestOutcome,
  requestSpan,
  type TracedRequest,
  type TracedAttempt,
} from "./request-spans.ts";
import type { TraceParent } from "../../call/trace-parent.ts";
import type { RequestTrace } from "../../call/request-trace.ts";
import type { AttemptObserver } from "../../call/ended-attempt.ts";
import type { Span } from "../../../trace/otlp-json.ts";
import { writeTraceparent } from "../../../trace/trace-context.ts";

/** The facts about a request that are known when it begins. */
export interface TraceStart {
  readonly entry: EntryRoute;
  readonly parent: TraceParent | null;
  readonly controls: Pick<Controls, "eventId" | "metadata">;
  readonly userAgent: string | null;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
}

/** The exporter of spans. `isSampled` says whether the caller wants the trace kept, null = it does not say. */
export interface TraceOutlet {
  readonly emit: (span: Span, isSampled: boolean | null) => void;
  readonly keeps: (traceId: string, isSampled: boolean | null) => boolean;
}

type Place = Pick<TracedRequest, "traceId" | "spanId" | "parentSpanId" | "isSampled">;

/** Follows a request; its spans are emitted when it ends. */
export function requestTrace(
  start: TraceStart,
  system: System,
  { emit, keeps }: TraceOutlet,
): RequestTrace {
  const from = system.now();
  const began = system.monotonic();
  let attempts: TracedAttempt[] = [];
  let outcome: RequestOutcome | null = null;
  let begun: { readonly step: object; readonly resends: number } | null = null;
  let place: Place | null = null;
  let isOver = false;
  const id = (bytes: number): string => toHex(system.random(bytes));
  // Options of some clients are headers of each step: the first step then says where the request stands.
  const placeFor = (parent: TraceParent | null): Place => (place ??= placeBelow(parent, id));
  const emitAttempt = (attempt: TracedAttempt, request: Place): void => {
    const span = childSpan(attempt, request);
    const { parent } = attempt;
    if (span !== null) emit(span, parent === null ? request.isSampled : parent.isSampled);
  };
  const end = (how: RequestOutcome): void => {
    const own = placeFor(start.parent);
    const to = Math.max(from + Math.round(system.monotonic() - began), endOf(attempts));
    const breach = isLeft(start, attempts) ? "aborted" : "broken";
    const span = { from, to, attempts, outcome: how, breach } as const;
    const request = { ...about(start), ...own, ...span };
    isOver = true;
    emit(requestSpan(request), own.isSampled);
    for (const attempt of attempts) emitAttempt(attempt, own);
    attempts = [];
  };
  const settle = (how: RequestOutcome | null): void => {
    outcome = how;
    if (outcome === null || isOver) return;
    const logId = "logId" in outcome ? outcome.logId : null;
    if (logId === null || attempts.some(({ row }) => row.id === logId)) end(outcome);
  };
  return {
    begin(step, parent) {
      const resends = begun?.step === step ? begun.resends + 1 : 0;
      const self = { step, resends };
      begun = self;
      attempts = attempts.map(withoutBodies);
      const request = placeFor(start.parent ?? parent);
      const spanId = id(8);
      const traceId = parent?.traceId ?? request.traceId;
      const isSampled = keeps(traceId, parent === null ? request.isSampled : parent.isSampled);
      const ended: AttemptObserver = ({ row, sent, left }) => {
        const whole = { row, parent, spanId, resends, sent, left };
        const attempt = begun === self ? whole : withoutBodies(whole);
        // Decoding a discarded answer can take longer than decoding the one that was delivered.
        if (isOver) return emitAttempt(attempt, request);
        attempts.push(attempt);
        settle(outcome);
      };
      return { traceparent: writeTraceparent({ traceId, spanId, isSampled }), ended };
    },
    answer: ({ logId, step, reply: { status } }) => settle({ logId, step, status }),
    fail: (error) => settle(failure(error, start.signal)),
  };
}

function placeBelow(parent: TraceParent | null, id: (bytes: number) => string): Place {
  return {
    traceId: parent?.traceId ?? id(16),
    spanId: id(8),
    parentSpanId: parent?.spanId ?? null,
    isSampled: parent?.isSampled ?? null,
  };
}

/** Unix ms. Starts and lengths are rounded one by one: without this, an attempt could seem to end after its request. */
function endOf(attempts: readonly TracedAttempt[]): number {
  return Math.max(0, ...attempts.map(({ row }) => row.createdAt + row.duration));
}

/** Some servers only cancel the answer's stream, or tell by the signal later. */
function isLeft({ signal }: TraceStart, attempts: readonly TracedAttempt[]): boolean {
  return signal.aborted || attempts.some(({ left }) => left);
}

type About = Pick<TracedRequest, "entry" | "userAgent" | "eventId" | "metadata">;

function about({ entry, userAgent, controls }: TraceStart): About {
  return {
    entry,
    userAgent,
    eventId: controls.eventId ?? null,
    metadata: controls.metadata ?? null,
  };
}

/** Prompts and answers travel once: with the last attempt, whose answer the caller gets. */
function withoutBodies(attempt: TracedAttempt): TracedAttempt {
  const { request, response } = attempt.row;
  if (request.text === null && response.text === null) return attempt;
  const row = {
    ...attempt.row,
    request: { ...request, text: null },
    response: { ...response, text: null },
  };
  return { ...attempt, row };
}

/** Names, never messages: those quote what callers sent. */
function failure(error: unknown, signal: AbortSignal): RequestOutcome {
  if (signal.aborted) return { error: "aborted", status: null, code: null };
  return error instanceof ApiError
    ? { error: error.kind, status: error.status, code: error.code }
    : { error: "internal", status: 500, code: null };
}
