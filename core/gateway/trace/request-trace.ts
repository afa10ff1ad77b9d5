import { ApiError } from "../../http/api-error.ts";
import { toHex } from "../../crypto/encoding.ts";
import type { System } from "../../ports.ts";
import type { Call, Step } from "../call.ts";
import type { Controls } from "../controls.ts";
import type { LogRow } from "../log/log-row.ts";
import {
  childSpan,
  type Door,
  type Outcome,
  requestSpan,
  type TracedRequest,
  type Tried,
} from "./request-spans.ts";
import type { Span } from "./span.ts";
import type { TraceParent } from "./trace-parent.ts";

/** Told how a request goes, so that it and its tries become one trace. Never fails and never waits. */
export interface RequestTrace {
  /** A try begins, which ends the hopes of those before; the result is told its row, whether a provider was asked, and whether the client left. */
  begin(
    step: Step,
    parent: TraceParent | null,
  ): (row: LogRow, sent: boolean, left: boolean) => void;
  /** The answer is on its way; the request ends with its row. */
  answer(answered: Answered): void;
  /** There will be no answer. */
  fail(error: unknown): void;
}

/** The beginning of an answer. */
export interface Answered {
  readonly logId: string;
  readonly step: number;
  readonly reply: { readonly status: number };
}

/** What is known of a request when it begins. */
export interface TraceStart {
  readonly door: Door;
  readonly parent: TraceParent | null;
  readonly controls: Pick<Controls, "eventId" | "metadata">;
  readonly userAgent: string | null;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
}

/** Takes note of the error that is a request's answer, and returns it. */
export function tracedError(call: Call | undefined, error: unknown): unknown {
  call?.traced?.fail(error);
  return error;
}

/** Follows a request; its spans are emitted when it ends. */
export function requestTrace(
  start: TraceStart,
  system: System,
  emit: (span: Span) => void,
): RequestTrace {
  const from = system.now();
  let tries: Tried[] = [];
  let outcome: Outcome | null = null;
  let begun: { readonly step: Step; readonly resends: number } | null = null;
  let ended: { readonly traceId: string; readonly spanId: string } | null = null;
  const id = (bytes: number): string => toHex(system.random(bytes));
  const emitTry = (tried: Tried, request: { traceId: string; spanId: string }): void => {
    const span = childSpan(tried, request, id(8));
    if (span !== null) emit(span);
  };
  const end = (how: Outcome): void => {
    const parent = parentOf(start, tries);
    const place = {
      traceId: parent?.traceId ?? id(16),
      spanId: id(8),
      parentSpanId: parent?.spanId ?? null,
    };
    const to = system.now();
    const breach = isLeft(start, tries) ? "aborted" : "broken";
    const request = { ...about(start), ...place, from, to, tries, outcome: how, breach } as const;
    ended = place;
    emit(requestSpan(request));
    for (const tried of tries) emitTry(tried, request);
    tries = [];
  };
  const settle = (): void => {
    if (outcome === null || ended !== null) return;
    const logId = "logId" in outcome ? outcome.logId : null;
    if (logId === null || tries.some(({ row }) => row.id === logId)) end(outcome);
  };
  const decide = (how: Outcome): void => {
    outcome = how;
    settle();
  };
  return {
    begin(step, parent) {
      const resends = begun?.step === step ? begun.resends + 1 : 0;
      const self = { step, resends };
      begun = self;
      tries = tries.map(withoutBodies);
      return (row, sent, left) => {
        const whole = { row, parent, resends, sent, left };
        const tried = begun === self ? whole : withoutBodies(whole);
        // An answer that nobody wanted can be unpacked for longer than the one that was.
        if (ended !== null) return emitTry(tried, ended);
        tries.push(tried);
        settle();
      };
    },
    answer: ({ logId, step, reply: { status } }) => decide({ logId, step, status }),
    fail: (error) => decide(failure(error, start.signal)),
  };
}

/** Some servers only cancel the answer's stream, or tell by the signal later. */
function isLeft({ signal }: TraceStart, tries: readonly Tried[]): boolean {
  return signal.aborted || tries.some(({ left }) => left);
}

/** Options of some clients are headers of each step. */
function parentOf({ parent }: TraceStart, [first]: readonly Tried[]): TraceParent | null {
  return parent ?? first?.parent ?? null;
}

type About = Pick<TracedRequest, "door" | "userAgent" | "eventId" | "metadata">;

function about({ door, userAgent, controls }: TraceStart): About {
  return {
    door,
    userAgent,
    eventId: controls.eventId ?? null,
    metadata: controls.metadata ?? null,
  };
}

/** Prompts and answers travel once: with the last try, whose answer the caller gets. */
function withoutBodies(tried: Tried): Tried {
  const { request, response } = tried.row;
  if (request.text === null && response.text === null) return tried;
  const row = {
    ...tried.row,
    request: { ...request, text: null },
    response: { ...response, text: null },
  };
  return { ...tried, row };
}

/** Names, never messages: those quote what callers sent. */
function failure(error: unknown, signal: AbortSignal): Outcome {
  if (signal.aborted) return { error: "aborted", status: null, code: null };
  return error instanceof ApiError
    ? { error: error.kind, status: error.status, code: error.code }
    : { error: "internal", status: 500, code: null };
}
