import { whenReady } from "../../work/now-or-later.ts";
import type { AnswerSilence, InboundResponse, System } from "../../ports.ts";
import { TransportError } from "../../net/transport-error.ts";
import type { GatewaySettings } from "../account/settings/settings.ts";
import { noUsage } from "../chat/usage.ts";
import { dropBody, readOut, withNullBodyStatus } from "../wire/reply-body.ts";
import type { Answers, Flow, ShareAnswer, StepRun } from "./answers.ts";
import {
  failureNote,
  providerFailed,
  sendAttempt,
  type AttemptOutcome,
  hasLongRetryAfter,
  isWorthRetrying,
  type PeekedOutcome,
  retryDelay,
} from "./attempt.ts";
import type { Call, Step } from "./call.ts";
import type { Checks, MaskedRequest } from "./checks.ts";
import type { DlpReport, Forwarded } from "./forwarded.ts";
import type { Limits, OutputRoom, Settle, SpendingPermit } from "./limits.ts";
import type { Outbound } from "./outbound.ts";
import { retryPolicy, type RetryPolicy } from "./policy.ts";
import type { Recorder, Recording } from "./recording.ts";
import { traceParent } from "./trace-parent.ts";
import { type AnswerRecord, watchedAnswer, type WatchParts } from "./watched-answer.ts";

/** The parts that handle a step around its attempts; each sees only what its signature names of a request. */
export interface ForwardParts extends WatchParts {
  /** The step as it may leave the gateway; throws `invalid_request` where that cannot be. */
  readonly clean: (step: Step, call: Call) => Promise<Step> | Step;
  /** The step with its address, for a model of a cloud. */
  readonly place: (step: Step, call: Call) => Promise<Step>;
  /** The request that its provider gets. */
  readonly prepare: (step: Step, call: Call) => Promise<Outbound> | Outbound;
  /** Null for a gateway without checks. */
  readonly checksOf: (settings: GatewaySettings) => Checks | null;
  readonly limits: Limits;
  readonly answers: Answers;
  /** Looks whether an answer with a status of success is a failure. */
  readonly peekFailure: (answer: InboundResponse) => Promise<PeekedOutcome>;
  readonly recorder: Recorder;
  /** Milliseconds within which a provider must begin to answer, where a request says nothing else. */
  readonly firstByteMs: number;
  /** Ends an answer that has begun and then sends nothing. */
  readonly silence: AnswerSilence;
  /** The status of error 2005. */
  readonly failureStatus: 502 | 400;
}

/**
 * Answers one step. Resolves to the last answer, whatever its status; throws `provider_failed` when none came. `isLast`
 * says that no other step could take over.
 */
export type Forward = (
  step: Step,
  index: number,
  isLast: boolean,
  call: Call,
) => Promise<Forwarded>;

/** A step whose provider may be asked. */
interface AdmittedStep extends StepRun {
  readonly settle: Settle;
  readonly room: OutputRoom | null;
  /** The findings of the checks in the request. */
  readonly flagged: DlpReport | null;
}

export function forwarding(parts: ForwardParts): Forward {
  const flow = providerFlow(parts);
  return (step, index, isLast, call) => forward(step, call, { index, isLast, parts, flow });
}

interface StepPlace {
  readonly index: number;
  readonly isLast: boolean;
  readonly parts: ForwardParts;
  readonly flow: Flow;
}

async function forward(
  given: Step,
  outer: Call,
  { index, isLast, parts: { answers, checksOf, clean, limits, place, prepare }, flow }: StepPlace,
): Promise<Forwarded> {
  // 1. Its own controls outrank the call's, a cloud's settings say where it goes, and nothing of the gateway's own leaves with it.
  const call = withStep(outer, given);
  const addressed = given.cloud === undefined ? given : await place(given, call);
  const step = await clean(addressed, call);
  // 2. The caller may use the model that it names.
  limits.checkModel(step, call);
  // 3. The request becomes what its provider takes, without what is to be masked.
  const { step: leaving, checks, restore } = await masked(step, call, checksOf(call.settings));
  const outbound = await prepare(leaving, call);
  const readable = checks === null ? outbound : checks.readable(outbound);
  const prepared = restore === null ? readable : restoring(readable, restore);
  // 4. A kept answer, or the provider's: checked, within the limits, watched on its way (`flow`).
  // Awaited here: a promise that an async function returns costs two more.
  const { dropped, estimated } = outbound;
  const named = dropped === undefined ? leaving : { ...leaving, dropped };
  const sent = estimated === undefined ? named : { ...named, estimated };
  return await answers({ step: sent, index, isLast, call, prepared, checks }, flow);
}

/** A step that may leave, and what its answer has to pass. */
interface LeavingStep {
  readonly step: Step;
  readonly checks: Checks | null;
  readonly restore: MaskedRequest["restore"] | null;
}

function masked(step: Step, call: Call, checks: Checks | null): Promise<LeavingStep> | LeavingStep {
  const mask = checks?.mask ?? null;
  return mask === null ? { step, checks, restore: null } : mask(step, call);
}

function restoring(prepared: Outbound, restore: MaskedRequest["restore"]): Outbound {
  return { ...prepared, restore: (answer) => whenReady(prepared.restore(answer), restore) };
}

/** A step's controls outrank the call's. */
function withStep(call: Call, { controls, headers }: Step): Call {
  if (controls === undefined) return call;
  return {
    ...call,
    trace: traceParent(headers) ?? call.trace,
    controls: { ...call.controls, ...controls },
    eventId: controls.eventId ?? call.eventId,
  };
}

/** Asks providers, as often as the policy says. */
function providerFlow(parts: ForwardParts): Flow {
  const { recorder, system, failureStatus } = parts;
  const policyOf = ({ settings, controls }: Call): RetryPolicy =>
    retryPolicy(settings, controls, parts.firstByteMs);
  const ask: Flow["ask"] = async (run, share = null, first = 1) => {
    const { step, index, checks } = run;
    const flagged = checks === null ? null : await checks.prompt(step, index, run.call);
    const policy = policyOf(run.call);
    const { answer, failure, record, permit } = await lastAttempt(run, policy, first, parts);
    const concluded = await conclude(answer, { ...run, ...permit, flagged }, parts, {
      record,
      share,
    });
    return failure === null
      ? concluded
      : { ...concluded, failed: true, failureStatus: failure.status };
  };
  return {
    ask,
    serve(run, reply) {
      const record = recorder.start(run.step, run.index, run.call);
      const dlp = run.checks?.masked ?? null;
      const answerRecord: AnswerRecord = { record, settle: unpaid, room: null, dlp, cached: true };
      const answer = watchedAnswer(reply, run, parts, { answerRecord, share: null });
      return restored(answer, answerRecord, run, failureStatus);
    },
    async askAgain(run, failure) {
      const { step, index, call } = run;
      discard(failure, recorder.start(step, index, call), system);
      if (call.signal.aborted || policyOf(call).attempts === 1)
        throw providerFailed(failure, step.slug, failureStatus);
      return ask(run, null, 2);
    },
    maxWait: (call) => policyOf(call).timeout,
  };
}

/** The attempt whose answer is delivered, and the leave that it was made by. */
interface LastAttempt extends PeekedOutcome {
  readonly record: Recording;
  readonly permit: SpendingPermit;
}

/** Asks the provider until an answer is good, or the last one; the earlier answers are dropped. */
async function lastAttempt(
  { step, index, isLast, call: outer, prepared }: StepRun,
  policy: RetryPolicy,
  first: number,
  { limits, recorder, system, silence, peekFailure }: ForwardParts,
): Promise<LastAttempt> {
  const leave = (): Promise<SpendingPermit> | SpendingPermit =>
    limits.applyTo(outer)
      ? limits.leave(step, outer)
      : { call: outer, settle: unpaid, room: null, count: () => undefined };
  let permit = await leave();
  // A body that streams through can be sent only once.
  const attempts = step.body instanceof ReadableStream ? 1 : policy.attempts;
  for (let number = first; ; number++) {
    const { call } = permit;
    const record = recorder.start(step, index, call);
    const { traceparent } = record;
    const terms = { beginMs: policy.timeout, silence, traceparent };
    const sent = await sendAttempt(prepared, terms, call);
    // After the last attempt a failure would be passed on anyway: it is not looked into.
    const { answer, failure } =
      sent instanceof TransportError || (isLast && number >= attempts)
        ? { answer: sent, failure: null }
        : await peekFailure(sent);
    // Another step can take over at once from a provider that wants to be left alone.
    const givesWay = !isLast && hasLongRetryAfter(answer, system);
    if (number >= attempts || givesWay || !isWorthRetrying(answer, call, failure))
      return { answer, failure, record, permit };
    giveUp(answer, record, system, { failure, prepared });
    // Its provider may have worked for it all the same: the next attempt has a leave of its own.
    if (isLeft(answer)) {
      permit.settle(null);
      permit = await leave();
    }
    // Cut short by a client that left; the next attempt then ends at once.
    await system
      .sleep(retryDelay(answer, number, policy, system), call.signal)
      .catch(() => undefined);
  }
}

/** A client that leaves, or gives up, before the answer begins does not make it free. */
function isLeft(answer: AttemptOutcome): boolean {
  return answer instanceof TransportError && LEFT.has(answer.reason);
}

const LEFT: ReadonlySet<string> = new Set(["aborted", "late"]);

const unpaid: Settle = () => undefined;

/** Ends an attempt in whose place another one is made: the beginning of its answer is kept in its row. */
function giveUp(
  answer: AttemptOutcome,
  record: Recording,
  system: System,
  { failure, prepared }: Pick<PeekedOutcome, "failure"> & Pick<StepRun, "prepared">,
): void {
  if (answer instanceof TransportError) return discard(answer, record, system);
  const { status, headers } = answer;
  const watch = record.watch(headers, prepared);
  const end = async (): Promise<void> => {
    await readOut(answer, system, (chunk) => watch?.push(chunk));
    const found = (await watch?.finish()) ?? null;
    // The attempt after it has the same leave, so what a failure says of its usage is not charged here.
    const seen = found === null ? null : { usage: noUsage, body: found.body };
    record.finish({ status, complete: false, headers, seen, failure });
  };
  system.waitUntil(end());
}

/** Ends an attempt whose answer is not delivered. */
function discard(answer: AttemptOutcome, record: Recording, system: System): void {
  if (answer instanceof TransportError) {
    const note = failureNote(answer);
    record.finish({ status: null, complete: false, headers: [], seen: null, note });
    return;
  }
  const { status, headers } = answer;
  dropBody(answer, system);
  record.finish({ status, complete: false, headers, seen: null });
}

interface AnswerPlace {
  readonly record: Recording;
  readonly share: ShareAnswer | null;
}

/** Hands the last answer on, watched on its way; no answer is the gateway's own error. */
function conclude(
  answer: AttemptOutcome,
  run: AdmittedStep,
  parts: ForwardParts,
  { record, share }: AnswerPlace,
): Promise<Forwarded> | Forwarded {
  const { checks, settle, room, flagged } = run;
  if (answer instanceof TransportError || answer.status < 200 || answer.status > 599) {
    discard(answer, record, parts.system);
    settle(isLeft(answer) ? null : 0);
    throw providerFailed(answer, run.step.slug, parts.failureStatus);
  }
  const reply = withNullBodyStatus(answer, parts.system);
  if (checks !== null) return checked(reply, run, parts, { checks, record, share });
  const answerRecord: AnswerRecord = { record, settle, room, dlp: flagged, cached: false };
  const watched = watchedAnswer(reply, run, parts, { answerRecord, share });
  return restored(watched, answerRecord, run, parts.failureStatus);
}

/** {@link conclude} of a gateway with checks. */
async function checked(
  reply: InboundResponse,
  run: AdmittedStep,
  parts: ForwardParts,
  { checks, record, share }: AnswerPlace & { readonly checks: Checks },
): Promise<Forwarded> {
  const { call, settle, room, flagged } = run;
  const found = await checks.reply(reply, flagged, record, call).catch((error: unknown) => {
    if (error instanceof TransportError) {
      discard(error, record, parts.system);
      throw providerFailed(error, run.step.slug, parts.failureStatus);
    }
    // It was paid for all the same.
    const { status, headers } = reply;
    settle(record.finish({ status, complete: false, headers, seen: null }));
    throw error;
  });
  if ("error" in found) {
    settle(found.cost);
    throw found.error;
  }
  const answerRecord: AnswerRecord = { record, settle, room, dlp: found.report, cached: false };
  const watched = watchedAnswer(found.answer, run, parts, { answerRecord, share });
  return await restored(watched, answerRecord, run, parts.failureStatus);
}

/** The answer in the client's format. */
function restored(
  answer: InboundResponse,
  { record, cached, dlp }: AnswerRecord,
  { step, index, call, prepared }: StepRun,
  failureStatus: 502 | 400,
): Promise<Forwarded> | Forwarded {
  const passed = (reply: InboundResponse): Forwarded => {
    const failed = reply.status >= 400;
    const { bringsKey } = prepared;
    const { dropped = [], estimated } = step;
    const facts = { dlp, bringsKey, dropped, estimated };
    return { reply, logId: record.id, step: index, cached, failed, call, ...facts };
  };
  return whenReady(prepared.restore(answer), passed, (error) => {
    throw error instanceof TransportError ? providerFailed(error, step.slug, failureStatus) : error;
  });
}
