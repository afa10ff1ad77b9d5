import { whenReady } from "../../work/now-or-later.ts";
import { usageOf } from "../providers/usage.ts";
import type { HeaderPair, System } from "../../ports.ts";
import type { LoggedBody, LogRow, AttemptObserver } from "../call/ended-attempt.ts";
import type { AnswerFailure } from "../call/attempt.ts";
import type { Call, Step } from "../call/call.ts";
import { callerName } from "../call/caller.ts";
import { dlpNote } from "../call/forwarded.ts";
import type { Outbound } from "../call/outbound.ts";
import {
  type AnswerWatch,
  collectsLog,
  type RecordedResult,
  type Recorder,
} from "../call/recording.ts";
import { furtherModelsOf, mayBeOfAnother, type NamedModels } from "../providers/named-models.ts";
import { modelType, stepModel } from "../providers/requested-model.ts";
import { BYTES_PER_TOKEN, noUsage, type TokenUsage } from "../chat/usage.ts";
import { askedTariff } from "../prices/asked-tariff.ts";
import type { Price } from "../prices/price.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { redactQuery } from "../wire/raw-path.ts";
import { bodyText, bodyValue, isJson, jsonOf, plainBytes } from "../wire/readable-body.ts";
import { cost, leastCost } from "../metering/cost/cost.ts";
import { isFree } from "../metering/cost/known-cost.ts";
import { answerPrice } from "../metering/cost/dearest-price.ts";
import { isLoggedType, loggedBody } from "./log/log-row.ts";
import { withoutCredentials } from "./log/log-row.ts";
import { limitsSpend } from "../metering/spend/spend.ts";
import { observer, type Reading } from "../metering/usage/observer.ts";

/** Dependencies of a {@link recorder}. */
export interface RecorderParts extends Reading {
  readonly system: System;
  /** Makes the ids of attempts. */
  readonly nextLogId: () => string;
  /** Bytes of each body that a log row keeps. */
  readonly logBodyLimit: number;
  /** Observers of all followed attempts. */
  readonly observers: readonly AttemptObserver[];
  /** Whether attempts are followed that leave no row and no trace. */
  readonly followsAll: boolean;
}

/** Follows attempts, and tells the call's observers, all others and its trace when one has ended. */
export function recorder(parts: RecorderParts): Recorder {
  const { system, nextLogId, logBodyLimit, observers, followsAll } = parts;
  const counting: Reading = { ...parts, counts: true };
  const keptBytes = (call: Call): number =>
    isReported(call) && (call.controls.collectLogPayload ?? true) ? logBodyLimit : 0;
  return {
    keptBytes,
    wantsUsage: (call) => isWanted(call, followsAll),
    start(step, index, call) {
      const clock = attemptClock(system);
      const id = nextLogId();
      const keep = keptBytes(call);
      const isFollowed = isWanted(call, followsAll);
      const traced = call.traced?.begin(step, call.trace);
      const over = system.begin?.();
      const costsNothing = call.prices.isFree(step.slug);
      const reading = costsNothing || isCharged(call) ? counting : parts;
      const further = isFollowed ? furtherModelsOf(step) : [];
      const named = { slug: step.slug, rest: step.rest, further };
      return {
        id,
        keep,
        traceparent: traced?.traceparent,
        watch: (headers, sent) =>
          isFollowed ? watched({ headers, sent, keep, clock }, withModels(reading, named)) : null,
        finish(result) {
          over?.();
          if (!isFollowed) return null;
          const request = describe(step, call, result.blocked === true ? 0 : keep);
          const about = result.about === undefined ? request : { ...request, ...result.about };
          const counted = countedUsage(result, about, step);
          const tariff = counted === null ? null : askedTariff(jsonOf(step), () => bodyValue(step));
          const at = clock.createdAt;
          const answer = { ...named, model: about.model, usage: counted, at, tariff };
          const paid = { call, result, costsNothing, price: answerPrice(answer, call.prices) };
          const costs = costOf(paid);
          const charge = chargeOf(paid, costs.cost, counted);
          const estimated = costsNothing ? estimateOf(counted, result, about) : null;
          const facts: RowFacts = { id, ...clock.times(), step: index, estimated, ...costs };
          const ended = {
            name: call.name,
            caller: call.caller,
            isLogged: collectsLog(call),
            row: rowOf(about, facts, result),
            usage: result.cached === true ? null : (result.seen?.usage ?? null),
            counted,
            price: paid.price,
            charge,
            sent: isSent(result),
            left: result.left === true,
          };
          call.onEnded?.(ended);
          for (const observe of observers) observe(ended);
          traced?.ended(ended);
          return charge;
        },
      };
    },
  };
}

/** Reads the models that an answer names, where it may come from another one than was asked. */
function withModels(reading: Reading, named: NamedModels): Reading {
  return mayBeOfAnother(named) ? { ...reading, namesModels: true } : reading;
}

/** The times of one attempt. */
interface AttemptClock {
  /** Unix ms. */
  readonly createdAt: number;
  /** Notes that the first byte of the answer is here. */
  first(): void;
  times(): Pick<LogRow, "createdAt" | "duration" | "firstByte">;
}

function attemptClock(system: System): AttemptClock {
  const createdAt = system.now();
  const began = system.monotonic();
  const elapsed = (): number => Math.max(0, Math.round(system.monotonic() - began));
  let firstByte: number | null = null;
  return {
    createdAt,
    first() {
      firstByte = elapsed();
    },
    times: () => ({ createdAt, duration: elapsed(), firstByte }),
  };
}

/** An answer to watch. */
interface Watched {
  readonly headers: readonly HeaderPair[];
  readonly sent: Outbound;
  /** Bytes of the answer that the row will keep. */
  readonly keep: number;
  readonly clock: AttemptClock;
}

/** Returns what has been seen of an answer, without the credentials of its request. */
function watched({ headers, sent, keep, clock }: Watched, reading: Reading): AnswerWatch {
  const type = headerValue(headers, "content-type") ?? "";
  const encoding = headerValue(headers, "content-encoding") ?? "";
  const watch = observer(reading, {
    contentType: type,
    contentEncoding: encoding,
    keep,
    add: usageOf(sent.target.slug),
  });
  let isFirst = true;
  return {
    push(chunk) {
      if (isFirst) {
        isFirst = false;
        clock.first();
      }
      watch.push(chunk);
    },
    finish: () => whenReady(watch.finish(), (seen) => withoutCredentials(seen, sent)),
  };
}

/** Whether anybody wants to know what a call uses. */
function isWanted(call: Call, followsAll: boolean): boolean {
  return isReported(call) || followsAll || isCharged(call);
}

/** Whether a row or a trace tells of the call. */
function isReported(call: Call): boolean {
  return collectsLog(call) || call.traced !== undefined;
}

/** Whether a provider was asked. */
function isSent({ cached, blocked, seen }: RecordedResult): boolean {
  return cached !== true && (blocked !== true || seen !== null);
}

/** The facts of a row beside its request and its answer. */
type RowFacts = Pick<
  LogRow,
  "id" | "createdAt" | "duration" | "firstByte" | "step" | "cost" | "customCost"
> & {
  readonly estimated: TokenUsage | null;
};

/**
 * Returns the usage that the row of a free provider has in place of one that was not told; null where it was. Nobody is
 * charged by it.
 */
function estimateOf(
  counted: TokenUsage | null,
  { seen }: RecordedResult,
  { modelType: type }: Description,
): TokenUsage | null {
  return type === null || counted === seen?.usage ? null : counted;
}

/** Follows the name of a figure in the note of a row. */
const ESTIMATE = "an estimate";

function noteOf(
  { note }: Description,
  { estimated }: RowFacts,
  { status, failure, seen, dlp, note: given }: RecordedResult,
): string | null {
  if (given !== undefined) return given;
  const failed = failure ?? seen?.failure ?? null;
  if (failed !== null && !isErrorStatus(status)) return failureNote(failed);
  const why = dlp == null ? null : dlpNote(dlp);
  if (why !== null) return why;
  return estimated === null ? note : `usage: ${ESTIMATE}`;
}

/** Fields are named one by one: a spread of each object would cost more than all the rest of this function. */
function rowOf(about: Description, facts: RowFacts, result: RecordedResult): LogRow {
  const { status, complete, seen } = result;
  const failure = result.failure ?? seen?.failure ?? null;
  const usage = facts.estimated ?? seen?.usage ?? noUsage;
  return {
    ...about,
    id: facts.id,
    createdAt: facts.createdAt,
    duration: facts.duration,
    firstByte: facts.firstByte,
    step: facts.step,
    cost: facts.cost,
    customCost: facts.customCost,
    statusCode: status,
    success: complete && status !== null && status < 400 && failure === null,
    note: noteOf(about, facts, result),
    cached: result.cached === true,
    tokensIn: usage.tokensIn,
    tokensOut: usage.tokensOut,
    responseContentType: headerValue(result.headers, "content-type"),
    dlpAction: result.dlp?.action ?? null,
    response: seen?.body ?? { text: null, size: 0, complete: false },
  };
}

/** Whether anybody wants to know what a call costs, although no row says it. */
function isCharged(call: Call): boolean {
  const { onEnded, caller, settings } = call;
  return onEnded !== undefined || caller?.grant !== undefined || limitsSpend(settings.spend_limits);
}

/** The input of an answer's cost. */
interface Paid {
  readonly call: Call;
  readonly result: RecordedResult;
  readonly price: Price | null;
  /** Whether the provider's models cost nothing. */
  readonly costsNothing: boolean;
}

/** Custom prices outrank known ones; an answer from the cache costs nothing. */
function costOf({ call, result, price, costsNothing }: Paid): Pick<LogRow, "cost" | "customCost"> {
  const { cached, seen } = result;
  const { customCost: custom } = call.controls;
  if (cached === true) return { cost: 0, customCost: false };
  // No answer costs nothing that anybody could name; nor does a refusal unless its provider names it.
  if (seen === null || (isRefusal(result) && seen.usage.tokensIn === null))
    return { cost: null, customCost: false };
  if (costsNothing && custom === undefined) return { cost: 0, customCost: false };
  const amount = cost(seen.usage, price, custom);
  return { cost: amount, customCost: custom !== undefined && amount !== null };
}

function isRefusal({ status, seen }: RecordedResult): boolean {
  return isErrorStatus(status) || seen?.failure?.isAll === true;
}

function isErrorStatus(status: number | null): boolean {
  return status !== null && status >= 400;
}

/** Says why an answer with a status of success counts as a failure; in the gateway's words, since a provider's may repeat a key. */
function failureNote({ kind, status }: AnswerFailure): string {
  return `error in the answer: ${kind} (${status})`;
}

/**
 * Returns the amount that limits count: the cost of the row, but never less than the known price of what has passed,
 * whatever cost the caller names. Where neither is known, the known part counts. Null for nothing.
 */
function chargeOf(
  { call, result: { seen }, price }: Paid,
  amount: number | null,
  counted: TokenUsage | null,
): number | null {
  const isWhole = counted === seen?.usage;
  const isListed = isWhole && amount !== null && call.controls.customCost === undefined;
  if (isListed || counted === null || !isCharged(call)) return amount;
  const listed = cost(counted, price) ?? leastCost(counted, price);
  return amount === null || listed === null ? (amount ?? listed) : Math.max(amount, listed);
}

/**
 * Returns the usage that limits count; null without any. A provider reports it at the end. Where it did not, because its
 * client left or because it never does, the bytes that have passed count, and the input at four bytes per token: leaving an
 * answer early is not cheaper than reading it to its end. Of a request that is free, only what its answer tells counts.
 */
function countedUsage(
  result: RecordedResult,
  { modelType: type, request }: Description,
  step: Step,
): TokenUsage | null {
  const { seen, complete, cached } = result;
  if (seen === null || cached === true) return null;
  const { usage, passed } = seen;
  if (isRefusal(result) || passed === undefined || isFree(step)) return usage;
  const isTold = complete && (usage.tokensOut !== null || type === "embeddings");
  if ((isTold && usage.tokensIn !== null) || (usage.tokensOut ?? -1) >= passed) return usage;
  const tokensIn = usage.tokensIn ?? Math.floor(request.size / BYTES_PER_TOKEN);
  // Vectors in an answer are not tokens.
  const output = type === "embeddings" ? 0 : passed;
  return { ...usage, tokensIn, tokensOut: isTold ? usage.tokensOut : output };
}

type Description = Pick<
  LogRow,
  | "provider"
  | "model"
  | "path"
  | "metadata"
  | "modelType"
  | "requestType"
  | "requestContentType"
  | "eventId"
  | "userAgent"
  | "authentication"
  | "caller"
  | "dropped"
  | "note"
  | "request"
>;

function describe(step: Step, call: Call, keep: number): Description {
  const contentType = headerValue(step.headers, "content-type");
  const type = contentType ?? "";
  const isStream = step.body instanceof ReadableStream;
  const body = plainBytes(step);
  const namesModel = body !== null && isJson(step, body);
  const isKept = keep > 0 && isLoggedType(type);
  const text = namesModel || isKept ? bodyText(step) : null;
  const path = step.rest + redactQuery(step.query);
  return {
    provider: step.slug,
    model: stepModel(step, namesModel ? text : null),
    path: path.slice(0, 2048),
    metadata: call.controls.metadata ?? null,
    modelType: modelType(step.rest),
    requestType: requestType(step),
    requestContentType: contentType,
    eventId: call.eventId,
    userAgent: call.userAgent?.slice(0, 512) ?? null,
    authentication: call.settings.authentication,
    caller: callerName(call.caller),
    dropped: droppedNames(step),
    note: step.estimated === undefined ? null : `${step.estimated}: ${ESTIMATE}`,
    request: isStream
      ? passedBody(step, isKept)
      : loggedBody(isKept ? text : null, sizeOf(step, body), keep),
  };
}

function droppedNames({ dropped = [] }: Step): string | null {
  return dropped.length === 0 ? null : dropped.join(", ");
}

/** Returns the kind of endpoint that was asked; null for a provider's own. */
function requestType({ unified }: Step): "compat" | null {
  return unified === true ? "compat" : null;
}

/** Returns the bytes of a body; packed ones where it cannot be unpacked. */
function sizeOf({ body: given }: Step, body: Uint8Array | null): number {
  return body?.length ?? (given instanceof Uint8Array ? given.length : 0);
}

function passedBody(step: Step, isKept: boolean): LoggedBody {
  const passed = step.passed?.();
  if (passed === undefined) return { text: null, size: declaredSize(step), complete: false };
  return isKept ? passed : { ...passed, text: null, complete: false };
}

/** Returns the declared size of a body that streams through unread; 0 without one. */
function declaredSize({ headers }: Step): number {
  const size = Number(headerValue(headers, "content-length") ?? 0);
  return Number.isSafeInteger(size) && size > 0 ? size : 0;
}
