import { whenReady } from "../../work/now-or-later.ts";
import { usageOf } from "../providers/usage.ts";
import type { HeaderPair, System } from "../../ports.ts";
import type { LogRow, AttemptObserver } from "../call/ended-attempt.ts";
import type { AnswerFailure } from "../call/attempt.ts";
import type { Call, Step } from "../call/call.ts";
import { dlpNote } from "../call/forwarded.ts";
import type { Outbound } from "../call/outbound.ts";
import {
  type AnswerWatch,
  collectsLog,
  type RecordedResult,
  type Recorder,
} from "../call/recording.ts";
import { furtherModelsOf, mayBeOfAnother, type NamedModels } from "../providers/named-models.ts";
import { type NamedTariff, noUsage, type TokenUsage } from "../chat/usage.ts";
import { askedTariff, paidTariffs } from "../prices/asked-tariff.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { bodyValue, jsonOf } from "../wire/readable-body.ts";
import { answerPrice } from "../metering/cost/dearest-price.ts";
import { chargeOf, costOf, countedUsage, isCharged, isErrorStatus } from "./attempt-cost.ts";
import { describeRequest, ESTIMATE, type RequestDescription } from "./describe-request.ts";
import { withoutCredentials } from "./log/log-row.ts";
import { observer, type Reading } from "../metering/usage/observer.ts";

export interface RecorderParts extends Reading {
  readonly system: System;
  /** Makes the ids of attempts. */
  readonly nextLogId: () => string;
  /** Bytes of each body that a log row keeps. */
  readonly logBodyLimit: number;
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
          const request = describeRequest(step, call, result.blocked === true ? 0 : keep);
          const about = result.about === undefined ? request : { ...request, ...result.about };
          const counted = countedUsage(result, about, step);
          const tariffs = counted === null ? [] : tariffsOf(step, counted, result);
          const at = clock.createdAt;
          const answer = { ...named, model: about.model, usage: counted, at, tariffs };
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
    ...(watch.passed === undefined ? {} : { passed: () => watch.passed?.() ?? 0 }),
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
  { modelType: type }: RequestDescription,
): TokenUsage | null {
  return type === null || counted === seen?.usage ? null : counted;
}

function noteOf(
  { note }: RequestDescription,
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

function tariffsOf(
  step: Step,
  { served = [] }: TokenUsage,
  { headers: ofAnswer }: RecordedResult,
): readonly NamedTariff[] {
  const { headers } = step;
  const asked = askedTariff({ headers, json: jsonOf(step), value: () => bodyValue(step) });
  return paidTariffs(asked, served, ofAnswer);
}

/** Fields are named one by one: a spread of each object would cost more than all the rest of this function. */
function rowOf(about: RequestDescription, facts: RowFacts, result: RecordedResult): LogRow {
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

/** Says why an answer with a status of success counts as a failure; in the gateway's words, since a provider's may repeat a key. */
function failureNote({ kind, status }: AnswerFailure): string {
  return `error in the answer: ${kind} (${status})`;
}
