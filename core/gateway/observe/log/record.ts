import type { HeaderPair } from "../../../ports.ts";
import type { Call, GatewayDeps, Step } from "../../call/call.ts";
import { callerName } from "../../entry/caller.ts";
import { cost, leastCost } from "../cost/cost.ts";
import type { Price } from "../prices/price.ts";
import { limitsSpend } from "../spend/spend.ts";
import { headerValue } from "../../wire/header-hygiene.ts";
import { isLoggedType, loggedBody, type LoggedBody, type LogRow, modelType } from "./log-row.ts";
import type { Observation } from "../usage/observer.ts";
import { redactQuery } from "../../wire/raw-path.ts";
import { isJson, plainBytes } from "../../wire/readable-body.ts";
import { stepModel } from "../../chat/request-model.ts";
import { actorName } from "../../gateways/gateway-name.ts";
import { noUsage } from "../usage/usage.ts";

/** The log row of one attempt, while its end is not known. */
export interface Recording {
  readonly id: string;
  /** Bytes of the answer that the row will keep. */
  readonly keep: number;
  /** Whether anybody wants to know what the answer holds. */
  readonly observes: boolean;
  /** Completes the row and queues it; returns what is to be charged in USD, null = not known. Called once. */
  finish(result: RecordedResult): number | null;
}

/** How an attempt ended. */
export interface RecordedResult {
  /** Null when no answer came. */
  readonly status: number | null;
  /** Whether the answer came whole. */
  readonly complete: boolean;
  /** Whether the client was gone before its end. @default false */
  readonly left?: boolean;
  readonly headers: readonly HeaderPair[];
  readonly seen: Observation | null;
  /** @default false */
  readonly cached?: boolean;
  /** What data loss prevention did. @default nothing */
  readonly dlpAction?: "FLAG" | "BLOCK" | null;
  /** Held back by a check: then the row keeps no body, or it would keep what was found. @default false */
  readonly blocked?: boolean;
  /** What is known better than from the request alone. @default nothing */
  readonly about?: Partial<Pick<LogRow, "model" | "modelType" | "requestType" | "request">>;
}

/** Whether a call leaves rows: its header, else the gateway's setting. */
export function collectsLog(call: Call): boolean {
  return call.controls.collectLog ?? call.settings.collect_logs;
}

/** Bytes of each body of a call that its row, or its trace, will keep. */
export function keptBytes(call: Call, { logBodyLimit }: GatewayDeps): number {
  return isTold(call) && (call.controls.collectLogPayload ?? true) ? logBodyLimit : 0;
}

/** Whether anybody wants to know what an answer has used. */
export function wantsUsage(call: Call, deps: GatewayDeps): boolean {
  return isTold(call) || deps.metrics !== undefined || isCharged(call) || isKeyCharged(call);
}

/** Whether the caller's virtual key limits what is used. */
function isKeyCharged({ caller }: Call): boolean {
  const grant = caller?.grant;
  return grant !== undefined && (grant.cost || grant.tokens);
}

function isTold(call: Call): boolean {
  return collectsLog(call) || call.traced !== undefined;
}

/** Starts the row of one attempt. */
export function startRecord(step: Step, index: number, call: Call, deps: GatewayDeps): Recording {
  const { system } = deps.platform;
  const createdAt = system.now();
  const id = deps.nextLogId();
  const collects = collectsLog(call);
  const keep = keptBytes(call, deps);
  const isCounted = isTold(call) || deps.metrics !== undefined;
  const traced = call.traced?.begin(step, call.trace);
  const over = system.begin?.();
  return {
    id,
    keep,
    observes: wantsUsage(call, deps),
    finish(result) {
      over?.();
      if (!isCounted && !isCharged(call)) return null;
      const request = describe(step, call, result.blocked === true ? 0 : keep);
      const about = result.about === undefined ? request : { ...request, ...result.about };
      const paid = paidBy(call, result, about, createdAt);
      const { cost: amount, customCost } = costOf(paid);
      const charge = amount ?? leastOf(paid);
      if (charge !== null) call.onCost?.(charge);
      tellAnswer(call, result, about);
      if (!isCounted) return charge;
      const duration = Math.max(0, system.now() - createdAt);
      const facts: RowFacts = { id, createdAt, duration, step: index, cost: amount, customCost };
      const row = rowOf(about, facts, result);
      deps.metrics?.count(call.name, row);
      if (collects) deps.queue.push(actorName(call.name), row);
      traced?.(row, isSent(result), result.left === true);
      return charge;
    },
  };
}

function tellAnswer(
  { onAnswer }: Call,
  { seen, cached }: RecordedResult,
  about: Description,
): void {
  if (onAnswer === undefined || seen === null || cached === true) return;
  onAnswer({ provider: about.provider, model: about.model, usage: seen.usage });
}

/** Whether a provider was asked. */
function isSent({ cached, blocked, seen }: RecordedResult): boolean {
  return cached !== true && (blocked !== true || seen !== null);
}

/** What is known of a row beside its request and its answer. */
type RowFacts = Pick<LogRow, "id" | "createdAt" | "duration" | "step" | "cost" | "customCost">;

/** Fields are named one by one: a spread of each object would cost more than all the rest of this function. */
function rowOf(about: Description, facts: RowFacts, result: RecordedResult): LogRow {
  const { status, complete, seen } = result;
  const usage = seen?.usage ?? noUsage;
  return {
    ...about,
    id: facts.id,
    createdAt: facts.createdAt,
    duration: facts.duration,
    step: facts.step,
    cost: facts.cost,
    customCost: facts.customCost,
    statusCode: status,
    success: complete && status !== null && status < 400,
    cached: result.cached === true,
    tokensIn: usage.tokensIn,
    tokensOut: usage.tokensOut,
    responseContentType: headerValue(result.headers, "content-type"),
    dlpAction: result.dlpAction ?? null,
    response: seen?.body ?? { text: null, size: 0, complete: false },
  };
}

/** Whether anybody wants to know what a call costs, although no row says it. */
function isCharged(call: Call): boolean {
  return (
    call.onCost !== undefined ||
    call.onAnswer !== undefined ||
    limitsSpend(call.settings.spend_limits)
  );
}

/** What the cost of an answer depends on. */
interface Paid {
  readonly call: Call;
  readonly result: RecordedResult;
  readonly price: Price | null;
}

function paidBy(call: Call, result: RecordedResult, about: Description, at: number): Paid {
  const isFree = result.cached === true || result.seen === null;
  const found = isFree ? null : call.prices.find(about.model, about.provider, at);
  return { call, result, price: found?.price ?? null };
}

/** Custom prices outrank known ones; an answer from the cache costs nothing. */
function costOf({ call, result, price }: Paid): Pick<LogRow, "cost" | "customCost"> {
  const { cached, seen, status } = result;
  const { customCost: custom } = call.controls;
  if (cached === true) return { cost: 0, customCost: false };
  // No answer costs nothing that anybody could name; nor does a refusal unless its provider names it.
  if (seen === null || (isRefusal(status) && seen.usage.tokensIn === null))
    return { cost: null, customCost: false };
  const amount = cost(seen.usage, price, custom);
  return { cost: amount, customCost: custom !== undefined && amount !== null };
}

function isRefusal(status: number | null): boolean {
  return status !== null && status >= 400;
}

/** What limits count although the row names no cost; null for nothing. */
function leastOf({ call, result: { seen }, price }: Paid): number | null {
  return seen === null || !isCharged(call) ? null : leastCost(seen.usage, price);
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
  | "request"
>;

function describe(step: Step, call: Call, keep: number): Description {
  const contentType = headerValue(step.headers, "content-type");
  const type = contentType ?? "";
  const isStream = step.body instanceof ReadableStream;
  const body = plainBytes(step);
  const namesModel = body !== null && isJson(step, body);
  const isKept = keep > 0 && isLoggedType(type);
  // Decoded once, for the model and for the row.
  const text = body !== null && (namesModel || isKept) ? decoder.decode(body) : null;
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
    request: isStream
      ? passedBody(step, isKept)
      : loggedBody(isKept ? text : null, sizeOf(step, body), keep),
  };
}

/** What kind of endpoint was asked, where it was no provider's own. */
function requestType({ unified }: Step): "compat" | null {
  return unified === true ? "compat" : null;
}

/** Bytes of a body, of one that cannot be unpacked as it came. */
function sizeOf({ body: given }: Step, body: Uint8Array | null): number {
  return body?.length ?? (given instanceof Uint8Array ? given.length : 0);
}

function passedBody(step: Step, isKept: boolean): LoggedBody {
  const passed = step.passed?.();
  if (passed === undefined) return { text: null, size: declaredSize(step), complete: false };
  return isKept ? passed : { ...passed, text: null, complete: false };
}

/** Bytes of a body that streams through unseen, where that was told. */
function declaredSize({ headers }: Step): number {
  const size = Number(headerValue(headers, "content-length") ?? 0);
  return Number.isSafeInteger(size) && size > 0 ? size : 0;
}

const decoder = new TextDecoder();
