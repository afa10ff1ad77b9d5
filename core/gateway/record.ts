import type { HeaderPair } from "../ports.ts";
import type { Call, GatewayDeps, Step } from "./call.ts";
import { cost } from "./cost/cost.ts";
import { limitsSpend } from "./cost/spend.ts";
import { headerValue } from "./header-hygiene.ts";
import { type LogRow, modelName, modelType } from "./log-row.ts";
import { loggedRequest, type Observation } from "./observer.ts";
import { redactQuery } from "./raw-path.ts";
import { actorName } from "./gateway-name.ts";
import { noUsage } from "./usage.ts";

/** The log row of one try, while its end is not known. */
export interface Recording {
  readonly id: string;
  /** Bytes of the answer that the row will keep. */
  readonly keep: number;
  /** Whether anybody wants to know what the answer holds. */
  readonly observes: boolean;
  /** Completes the row and queues it; returns the cost in USD, null = not known. Called once. */
  finish(result: RecordedResult): number | null;
}

/** How a try ended. */
export interface RecordedResult {
  /** Null when no answer came. */
  readonly status: number | null;
  /** Whether the answer came whole. */
  readonly complete: boolean;
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

/** Starts the row of one try. */
export function startRecord(step: Step, index: number, call: Call, deps: GatewayDeps): Recording {
  const { system } = deps.platform;
  const createdAt = system.now();
  const id = deps.nextLogId();
  const collects = collectsLog(call);
  const endpoints = call.settings.otel ?? [];
  const isTold = collects || endpoints.length > 0;
  const keep = isTold && (call.controls.collectLogPayload ?? true) ? deps.logBodyLimit : 0;
  return {
    id,
    keep,
    observes: isTold || isCharged(call),
    finish(result) {
      if (!isTold && !isCharged(call)) return null;
      const request = describe(step, call, result.blocked === true ? 0 : keep);
      const about = result.about === undefined ? request : { ...request, ...result.about };
      const { cost: amount, customCost } = costOf(call, result, about);
      if (amount !== null) call.onCost?.(amount);
      if (!isTold) return amount;
      const duration = Math.max(0, system.now() - createdAt);
      const known = { id, createdAt, duration, step: index, cost: amount, customCost };
      const row = rowOf(about, known, result);
      if (collects) deps.queue.push(actorName(call.name), row);
      if (endpoints.length > 0) deps.tracing.trace(call.name, endpoints, row, call.trace);
      return amount;
    },
  };
}

/** What is known of a row beside its request and its answer. */
type Known = Pick<LogRow, "id" | "createdAt" | "duration" | "step" | "cost" | "customCost">;

/** Named one by one: every spread but the first costs more than all the rest of it. */
function rowOf(about: Description, known: Known, result: RecordedResult): LogRow {
  const { status, complete, seen } = result;
  const usage = seen?.usage ?? noUsage;
  return {
    ...about,
    id: known.id,
    createdAt: known.createdAt,
    duration: known.duration,
    step: known.step,
    cost: known.cost,
    customCost: known.customCost,
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
  return call.onCost !== undefined || limitsSpend(call.settings.spend_limits);
}

/** Custom prices outrank known ones; an answer from the cache costs nothing. */
function costOf(
  { controls: { customCost: custom } }: Call,
  { cached, seen }: RecordedResult,
  { model, provider }: Description,
): Pick<LogRow, "cost" | "customCost"> {
  if (cached === true) return { cost: 0, customCost: false };
  // No answer costs nothing that anybody could name.
  if (seen === null) return { cost: null, customCost: false };
  const amount = cost(seen.usage, model, provider, custom);
  return { cost: amount, customCost: custom !== undefined && amount !== null };
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
  | "request"
>;

function describe(step: Step, call: Call, keep: number): Description {
  const contentType = headerValue(step.headers, "content-type");
  const body = step.body instanceof ReadableStream ? null : step.body;
  const path = step.rest + redactQuery(step.query);
  return {
    provider: step.slug,
    model: modelName(parsed(body, contentType), step.rest),
    path: path.slice(0, 2048),
    metadata: call.controls.metadata ?? null,
    modelType: modelType(step.rest),
    requestType: null,
    requestContentType: contentType,
    eventId: call.eventId,
    userAgent: call.userAgent?.slice(0, 512) ?? null,
    authentication: call.settings.authentication,
    request: loggedRequest(body, contentType ?? "", keep),
  };
}

function parsed(body: Uint8Array | null, contentType: string | null): unknown {
  if (body === null || !/json/i.test(contentType ?? "")) return null;
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return null;
  }
}
