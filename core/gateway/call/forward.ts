import { ApiError } from "../../http/api-error.ts";
import type { InboundResponse } from "../../ports.ts";
import { TransportError } from "../../transport-error.ts";
import {
  type AttemptOutcome,
  hasLongRetryAfter,
  attempt,
  isWorthRetrying,
  retryDelay,
} from "./attempt.ts";
import { cacheKey, cacheTtl } from "../answer/cache/cache-policy.ts";
import { type CacheLookup, replay } from "../answer/cache/cache.ts";
import { isSuccess } from "../answer/cache/is-success.ts";
import type { Call, GatewayDeps, Step } from "./call.ts";
import { checkPrompt, checkReply, readable } from "../guard/checkers/guarded.ts";
import { type DlpReport, joinReports } from "../guard/checkers/inspect.ts";
import type { Safety } from "../guard/checkers/safety.ts";
import type { Settle } from "../observe/spend/step-spend.ts";
import type { Leader } from "../answer/cache/shared-call.ts";
import type { Leadership } from "../answer/cache/leader-answer.ts";
import { checkKeyModel, isLimited, leaveToAsk } from "../keys/key-leave.ts";
import { withNamedAddress } from "./named-address.ts";
import { withNullBodyStatus } from "../wire/null-body-status.ts";
import { type Outbound, outbound, withoutOwnTokens } from "./outbound.ts";
import { retryPolicy, type RetryPolicy } from "./policy.ts";
import { type Recording, startRecord } from "../observe/log/record.ts";
import { withPlainBody } from "../wire/readable-body.ts";
import { traceParent } from "../observe/trace/trace-parent.ts";
import { type AnswerRecord, watchedAnswer } from "./watched-answer.ts";

/** The answer of a provider, or of the cache, on its way to the client. */
export interface Forwarded {
  readonly reply: InboundResponse;
  readonly logId: string;
  /** Index of the step that answered. */
  readonly step: number;
  readonly cached: boolean;
  /** Of a kept answer to a question in other words: how alike the two are, at most 1. */
  readonly similarity?: number;
  /** Whether the answer is a failure that another step could make good. */
  readonly failed: boolean;
  /** The model that a dynamic route or the automatic router led to. */
  readonly answeredBy?: { readonly provider: string; readonly model: string };
  /** What the automatic router decided. */
  readonly routing?: { readonly id: string; readonly model: string; readonly reason: string };
  /** What data loss prevention flagged. */
  readonly dlp: DlpReport | null;
  /** The call with the step's own controls. */
  readonly call: Call;
  /** The id by which the stream can be taken up again. */
  readonly runId?: string;
}

/** One step and what its request needs. */
interface StepContext {
  readonly step: Step;
  readonly index: number;
  /** Whether no other step could take over. */
  readonly isLast: boolean;
  readonly call: Call;
  readonly deps: GatewayDeps;
  readonly prepared: Outbound;
  readonly safety: Safety | null;
}

/** A step whose request may be sent. */
interface AdmittedStep extends StepContext {
  readonly settle: Settle;
  /** What was flagged in the request. */
  readonly report: DlpReport | null;
}

/**
 * Answers one step: from the cache, or from its provider, asked as often as the policy says. Resolves to
 * the last answer, whatever its status; throws `provider_failed` when none came.
 */
export async function forward(
  given: Step,
  index: number,
  isLast: boolean,
  outer: Call,
  deps: GatewayDeps,
): Promise<Forwarded> {
  const call = withStep(outer, given);
  const stripped = withoutOwnTokens(withNamedAddress(given), call, deps);
  const clean = stripped instanceof Promise ? await stripped : stripped;
  const read = withPlainBody(clean, deps);
  const step = read instanceof Promise ? await read : read;
  checkKeyModel(step, call);
  const safety = deps.safetyOf(call.settings);
  const ready = outbound(step, call, deps);
  const prepared = readable(ready instanceof Promise ? await ready : ready, safety);
  const context: StepContext = { step, index, isLast, call, deps, prepared, safety };
  const ttl = cacheTtl(call);
  const found = ttl === 0 ? null : cacheKey(prepared, call, deps.platform.system);
  const key = found instanceof Promise ? await found : found;
  // Awaited here: a promise that an async function returns costs two more.
  if (key === null) return await ask(context, null);
  const kept = deps.cache.kept(key);
  if (kept !== null) return fromCache(replay(kept), context);
  return await shared(context, key, ttl);
}

/** Answers a step whose answer may be kept, and is not yet. */
async function shared(context: StepContext, key: string, ttl: number): Promise<Forwarded> {
  const { call, deps, prepared, safety } = context;
  const stored = deps.cache.has(key)
    ? undefined
    : await deps.replies?.find(call.name, key, call.signal);
  if (stored !== undefined && stored !== null) {
    // Another request may have brought it to memory meanwhile, or a newer one.
    if (!deps.cache.has(key)) deps.cache.put(key, stored.reply, stored.expiresAt);
    return fromCache(replay(stored.reply), context);
  }
  // A check that let one text pass may not let the other pass, nor may the embedder see it before.
  if (deps.semantic !== undefined && safety === null && !deps.cache.has(key)) {
    const near = await deps.semantic.find(prepared, key, ttl, call);
    if (near !== null) {
      const { similarity } = near;
      return { ...(await fromCache(replay(near.reply), context)), similarity };
    }
  }
  const found = await lookup(context, key, ttl);
  if (found === null) return afterWait(context);
  if ("hit" in found) return fromCache(replay(found.hit), context);
  if ("follow" in found) return fromCache(found.follow, context);
  return "leader" in found ? askAsLeader(context, found.leader) : ask(context, null);
}

/** What the cache holds or is about to hold; null when the request could not wait for that as long as it takes. */
function lookup(
  { call, deps, prepared }: StepContext,
  key: string,
  ttl: number,
): Promise<CacheLookup | null> {
  return deps.cache
    .lookup(key, ttl, call.signal, {
      // As for an answer of its own.
      patience: policyOf(call, deps).timeout,
      isSound: (reply) => isSuccess(reply) && prepared.isRestorable?.(reply) !== false,
      onKept: (reply, expiresAt) => deps.replies?.keep(call.name, key, { reply, expiresAt }),
    })
    .catch(() => null);
}

function policyOf({ settings, controls }: Call, { firstByteMs }: GatewayDeps): RetryPolicy {
  return retryPolicy(settings, controls, firstByteMs);
}

/** Continues after an attempt that ended while it waited as a follower. */
async function afterWait(context: StepContext): Promise<Forwarded> {
  const { step, index, call, deps } = context;
  const hasLeft = call.signal.aborted;
  const late = hasLeft
    ? new TransportError("aborted", "The client went away")
    : new TransportError("late", "The identical request has no answer yet");
  discard(late, startRecord(step, index, call, deps), context);
  if (hasLeft || policyOf(call, deps).attempts === 1) throw providerFailed(late, deps);
  return ask(context, null, 2);
}

/** Asks as the leader of identical requests: the call goes on without its client while a follower waits. */
async function askAsLeader(context: StepContext, leader: Leader): Promise<Forwarded> {
  const { call, prepared } = context;
  const { signal } = leader;
  const led: StepContext = {
    ...context,
    call: { ...call, signal },
    prepared: { ...prepared, request: { ...prepared.request, signal } },
  };
  try {
    return await ask(led, { leader, client: call.signal });
  } catch (error) {
    leader.nothing();
    throw error;
  }
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

/** Asks the provider, from attempt number `first` on. */
async function ask(
  context: StepContext,
  leadership: Leadership | null,
  first = 1,
): Promise<Forwarded> {
  const { step, index, isLast, deps, prepared, safety } = context;
  const report =
    safety === null ? null : await checkPrompt(safety, step, index, context.call, deps);
  const { call, settle } = isLimited(context.call)
    ? await leaveToAsk(step, context.call, deps)
    : { call: context.call, settle: unpaid };
  const admitted: AdmittedStep = { ...context, report, settle };
  const policy = policyOf(call, deps);
  // A body that streams through can be sent only once.
  const attempts = step.body instanceof ReadableStream ? 1 : policy.attempts;
  for (let number = first; ; number++) {
    const final = number >= attempts;
    const record = startRecord(step, index, call, deps);
    const answer = await attempt(prepared, policy.timeout, call, deps);
    // Another step can take over at once from a provider that wants to be left alone.
    const givesWay = !isLast && hasLongRetryAfter(answer, deps.platform.system);
    if (final || givesWay || !isWorthRetrying(answer, call))
      return await conclude(answer, record, leadership, admitted);
    discard(answer, record, context);
    const wait = retryDelay(answer, number, policy, deps.platform.system);
    // Cut short by a client that left; the next attempt then ends at once.
    await deps.platform.system.sleep(wait, call.signal).catch(() => undefined);
  }
}

/** Who leaves before the answer begins, or has no patience for it, does not make it free. */
const LEFT: ReadonlySet<string> = new Set(["aborted", "late"]);

const unpaid: Settle = () => undefined;

/** Ends an attempt whose answer is not delivered. */
function discard(answer: AttemptOutcome, record: Recording, { deps }: StepContext): void {
  if (answer instanceof TransportError) {
    record.finish({ status: null, complete: false, headers: [], seen: null });
    return;
  }
  const { status, headers, body } = answer;
  if (body instanceof ReadableStream)
    deps.platform.system.waitUntil(body.cancel().catch(() => undefined));
  record.finish({ status, complete: false, headers, seen: null });
}

/** Hands the last answer on, watched on its way; no answer is the gateway's own error. */
function conclude(
  answer: AttemptOutcome,
  record: Recording,
  leadership: Leadership | null,
  context: AdmittedStep,
): Promise<Forwarded> | Forwarded {
  const { deps, safety, settle } = context;
  if (answer instanceof TransportError || answer.status < 200 || answer.status > 599) {
    discard(answer, record, context);
    settle(answer instanceof TransportError && LEFT.has(answer.reason) ? null : 0);
    throw providerFailed(answer, deps);
  }
  const reply = withNullBodyStatus(answer, deps.platform.system);
  if (safety !== null) return checked(reply, safety, record, leadership, context);
  const answerRecord: AnswerRecord = { record, settle, dlp: context.report, cached: false };
  return pass(watchedAnswer(reply, answerRecord, leadership, context), answerRecord, context);
}

/** {@link conclude} of a gateway with checks. */
async function checked(
  reply: InboundResponse,
  safety: Safety,
  record: Recording,
  leadership: Leadership | null,
  context: AdmittedStep,
): Promise<Forwarded> {
  const { call, deps, settle } = context;
  const found = await checkReply(safety, reply, record, call, deps).catch((error: unknown) => {
    if (error instanceof TransportError) {
      discard(error, record, context);
      throw providerFailed(error, deps);
    }
    // It was paid for all the same.
    settle(
      record.finish({ status: reply.status, complete: false, headers: reply.headers, seen: null }),
    );
    throw error;
  });
  if ("error" in found) {
    settle(found.cost);
    throw found.error;
  }
  const dlp = joinReports(context.report, found.report);
  const answerRecord: AnswerRecord = { record, settle, dlp, cached: false };
  return await pass(
    watchedAnswer(found.answer, answerRecord, leadership, context),
    answerRecord,
    context,
  );
}

function fromCache(reply: InboundResponse, context: StepContext): Promise<Forwarded> | Forwarded {
  const record = startRecord(context.step, context.index, context.call, context.deps);
  const answerRecord: AnswerRecord = { record, settle: unpaid, dlp: null, cached: true };
  return pass(watchedAnswer(reply, answerRecord, null, context), answerRecord, context);
}

function pass(
  answer: InboundResponse,
  { record, cached, dlp }: AnswerRecord,
  { index, call, deps, prepared }: StepContext,
): Promise<Forwarded> | Forwarded {
  const passed = (reply: InboundResponse): Forwarded => {
    const failed = reply.status >= 400;
    return { reply, logId: record.id, step: index, cached, failed, dlp, call };
  };
  const restored = prepared.restore(answer);
  if (!(restored instanceof Promise)) return passed(restored);
  return restored.then(passed, (error: unknown) => {
    throw error instanceof TransportError ? providerFailed(error, deps) : error;
  });
}

function providerFailed(cause: unknown, deps: GatewayDeps): ApiError {
  // A body that was refused on its way looks to the transport like one that broke.
  if (cause instanceof TransportError && cause.cause instanceof ApiError) return cause.cause;
  const isLate = cause instanceof TransportError && cause.reason === "late";
  const message = isLate
    ? { message: `Failed to get response from provider: ${cause.message}` }
    : {};
  return new ApiError("provider_failed", { status: deps.failureStatus, cause, ...message });
}
