import { ApiError } from "../http/api-error.ts";
import type { InboundResponse, StreamWatch } from "../ports.ts";
import { TransportError } from "../transport-error.ts";
import { type Answer, attempt, deservesRetry, pause } from "./attempt.ts";
import { cacheKey, cacheTtl } from "./cache-policy.ts";
import { replay } from "./cache.ts";
import type { Call, GatewayDeps, Step } from "./call.ts";
import { checkPrompt, checkReply, readable } from "./checkers/guarded.ts";
import { type DlpReport, joinReports } from "./checkers/inspect.ts";
import type { Safety } from "./checkers/safety.ts";
import { limitsSpend } from "./cost/spend.ts";
import { type Settle, spendOn } from "./cost/step-spend.ts";
import type { CacheLead } from "./flight.ts";
import { headerValue } from "./header-hygiene.ts";
import { type Keeping, ledAnswer } from "./led-answer.ts";
import { lawful } from "./null-body.ts";
import { type Observation, observer } from "./observer.ts";
import { type Outbound, outbound, withoutOwnTokens } from "./outbound.ts";
import { retryPolicy } from "./policy.ts";
import { type Recording, startRecord } from "./record.ts";
import { withoutCredentials } from "./row-hygiene.ts";
import { traceParent } from "./trace/trace-parent.ts";
import { watchedStream } from "./watched-stream.ts";

/** The answer of a provider, or of the cache, on its way to the client. */
export interface Forwarded {
  readonly reply: InboundResponse;
  readonly logId: string;
  /** Index of the step that answered. */
  readonly step: number;
  readonly cached: boolean;
  /** Whether the answer is a failure that another step could make good. */
  readonly failed: boolean;
  /** The model that a dynamic route led to. */
  readonly answeredBy?: { readonly provider: string; readonly model: string };
  /** What data loss prevention flagged. */
  readonly dlp: DlpReport | null;
  /** The call with the step's own controls. */
  readonly call: Call;
  /** The id by which the stream can be taken up again. */
  readonly runId?: string;
}

/** One step on its way through the gateway. */
interface Passage {
  readonly step: Step;
  readonly index: number;
  /** Whether no other step could take over. */
  readonly isLast: boolean;
  readonly call: Call;
  readonly deps: GatewayDeps;
  readonly prepared: Outbound;
  readonly safety: Safety | null;
}

/** A passage whose request may go out. */
interface Admitted extends Passage {
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
  const stripped = withoutOwnTokens(given, call, deps);
  const step = stripped instanceof Promise ? await stripped : stripped;
  const safety = deps.safetyOf(call.settings);
  const prepared = readable(await outbound(step, call, deps), safety);
  const passage: Passage = { step, index, isLast, call, deps, prepared, safety };
  const ttl = cacheTtl(call);
  const key = ttl === 0 ? null : await cacheKey(prepared, call, deps.platform.system);
  if (key === null) return ask(passage, null);
  const found = await deps.cache.lookup(key, ttl, call.signal).catch(() => null);
  if (found === null)
    throw providerFailed(new TransportError("aborted", "The client went away"), deps);
  if ("hit" in found) return fromCache(replay(found.hit), passage);
  if ("follow" in found) return fromCache(found.follow, passage);
  return "lead" in found ? askForAll(passage, found.lead) : ask(passage, null);
}

/** Asks for the identical requests too that wait: the call goes on without its client while any of them does. */
async function askForAll(passage: Passage, lead: CacheLead): Promise<Forwarded> {
  const { call, prepared } = passage;
  const { signal } = lead;
  const led: Passage = {
    ...passage,
    call: { ...call, signal },
    prepared: { ...prepared, request: { ...prepared.request, signal } },
  };
  try {
    return await ask(led, { lead, client: call.signal });
  } catch (error) {
    lead.nothing();
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

async function ask(passage: Passage, keeping: Keeping | null): Promise<Forwarded> {
  const { step, index, isLast, call, deps, prepared, safety } = passage;
  const report = safety === null ? null : await checkPrompt(safety, step, index, call, deps);
  const settle = limitsSpend(call.settings.spend_limits) ? await spendOn(step, call, deps) : unpaid;
  const admitted: Admitted = { ...passage, report, settle };
  const policy = retryPolicy(call.settings, call.controls);
  // A body that streams through can be sent only once.
  const attempts = step.body instanceof ReadableStream ? 1 : policy.attempts;
  for (let number = 1; ; number++) {
    const final = number >= attempts;
    const record = startRecord(step, index, call, deps);
    const answer = await attempt(prepared, final && isLast ? null : policy.timeout, call, deps);
    if (final || !deservesRetry(answer, call)) return conclude(answer, record, keeping, admitted);
    discard(answer, record, passage);
    const wait = pause(answer, number, policy, deps.platform.system);
    // Cut short by a client that left; the next try then ends at once.
    await deps.platform.system.sleep(wait, call.signal).catch(() => undefined);
  }
}

const unpaid: Settle = () => undefined;

/** Ends a try whose answer nobody will see. */
function discard(answer: Answer, record: Recording, { deps }: Passage): void {
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
async function conclude(
  answer: Answer,
  record: Recording,
  keeping: Keeping | null,
  passage: Admitted,
): Promise<Forwarded> {
  const { call, deps, safety, settle } = passage;
  if (answer instanceof TransportError || answer.status < 200 || answer.status > 599) {
    discard(answer, record, passage);
    settle(0);
    throw providerFailed(answer, deps);
  }
  const checked = await checkReply(
    safety,
    lawful(answer, deps.platform.system),
    record,
    call,
    deps,
  ).catch((error: unknown) => {
    if (!(error instanceof TransportError)) throw error;
    discard(error, record, passage);
    throw providerFailed(error, deps);
  });
  if ("error" in checked) {
    settle(checked.cost);
    throw checked.error;
  }
  const dlp = joinReports(passage.report, checked.report);
  const told: Told = { record, settle, dlp, cached: false };
  return pass(watched(checked.answer, told, keeping, passage), told, passage);
}

function fromCache(reply: InboundResponse, passage: Passage): Promise<Forwarded> {
  const record = startRecord(passage.step, passage.index, passage.call, passage.deps);
  const told: Told = { record, settle: unpaid, dlp: null, cached: true };
  return pass(watched(reply, told, null, passage), told, passage);
}

/** Who is told how an answer went. */
interface Told {
  readonly record: Recording;
  readonly settle: Settle;
  readonly dlp: DlpReport | null;
  readonly cached: boolean;
}

async function pass(
  answer: InboundResponse,
  { record, cached, dlp }: Told,
  { index, call, deps, prepared }: Passage,
): Promise<Forwarded> {
  try {
    const reply = await prepared.restore(answer);
    const failed = reply.status >= 400;
    return { reply, logId: record.id, step: index, cached, failed, dlp, call };
  } catch (error) {
    throw error instanceof TransportError ? providerFailed(error, deps) : error;
  }
}

function providerFailed(cause: unknown, deps: GatewayDeps): ApiError {
  // A body that was refused on its way looks to the transport like one that broke.
  if (cause instanceof TransportError && cause.cause instanceof ApiError) return cause.cause;
  return new ApiError("provider_failed", { status: deps.failureStatus, cause });
}

/** The same answer, whose bytes are seen by the log and collected for the cache as they pass. */
function watched(
  answer: InboundResponse,
  { record, settle, cached, dlp }: Told,
  keeping: Keeping | null,
  { call, deps, prepared }: Passage,
): InboundResponse {
  const { status, headers, body } = answer;
  const { system } = deps.platform;
  const type = headerValue(headers, "content-type") ?? "";
  const encoding = headerValue(headers, "content-encoding") ?? "";
  const watch = record.observes ? observer(type, encoding, record.keep, deps) : null;
  const onChunk = (chunk: Uint8Array): void => watch?.push(chunk);
  const onEnd = (complete: boolean): void => {
    const finish = (all: Observation | null): void => {
      const seen = withoutCredentials(all, prepared);
      const dlpAction = dlp?.action ?? null;
      const cost = record.finish({ status, complete, headers, cached, seen, dlpAction });
      // A refusal costs nothing unless its provider says so.
      settle(status >= 400 ? (cost ?? 0) : cost);
    };
    const seen = watch?.finish() ?? null;
    if (seen instanceof Promise) system.waitUntil(seen.then(finish));
    else finish(seen);
  };
  if (keeping !== null) return ledAnswer(answer, keeping, { onChunk, onEnd, system });
  if (body instanceof ReadableStream) {
    const passing: StreamWatch = { onChunk, onEnd: (end) => onEnd(end === "complete") };
    if (deps.platform.transport.watch?.(body, passing) === true) return answer;
    return { status, headers, body: watchedStream(body, passing, call.signal, system) };
  }
  if (body !== null) onChunk(body);
  onEnd(true);
  return answer;
}
