import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type { Json } from "../../http/json.ts";
import type { System } from "../../ports.ts";
import type { Call, Step } from "../call/call.ts";
import { askInOrder } from "../call/fallback.ts";
import type { Forward } from "../call/forward.ts";
import type { StoredProviders } from "../account/records/stored-providers.ts";
import type { LedgerEntry, Limit } from "../metering/ledger/budget.ts";
import { AUTO_MODEL } from "../providers/unified-step.ts";
import { type ChatFormat, readChatBody } from "../chat/chat-body.ts";
import type { Forwarded } from "../call/forwarded.ts";
import { isGatewayHeader } from "../wire/header-hygiene.ts";
import { stripCredentials } from "../providers/strip-credentials.ts";
import { retryAfter } from "../../http/fields/retry-after.ts";
import { credentialHeaders } from "../providers/known/table.ts";
import { readMetadata } from "../call/controls.ts";
import { askingTargets, askModel, randomNumber, withOwnLimit } from "./ask-model.ts";
import { advanceRoute, type Graph, storedGraph } from "./dynamic/graph.ts";
import { factAt, type RouteFacts } from "./dynamic/facts.ts";
import type { ModelElement, RateElement } from "./dynamic/element.ts";
import type { AutoRouter } from "./router/auto-router.ts";
import { answerByPool } from "./answer-by-pool.ts";
import type { ModelPools } from "./pools/model-pools.ts";
import type { TargetHealth } from "./pools/target-health.ts";
import type { PoolCandidate } from "./router/pool.ts";

export interface ChoiceParts {
  readonly forward: Forward;
  readonly system: System;
  readonly stored: Pick<StoredProviders, "route" | "uses">;
  /** @default none: requests for its model are refused */
  readonly router?: AutoRouter | undefined;
  readonly pools: ModelPools;
  readonly health: TargetHealth;
}

interface RouteRun {
  readonly step: Step;
  readonly route: string;
  readonly call: Call;
  readonly parts: ChoiceParts;
  readonly facts: RouteFacts;
  readonly graph: Graph;
  /** Limits of cost that this request adds to when it is answered. */
  readonly budgets: LedgerEntry[];
}

/**
 * Answers one step: a dynamic route, the automatic router or a name of the operator's by the models that it leads to, any
 * other step by its provider.
 */
export function choosing(parts: ChoiceParts): Forward {
  return (step, index, isLast, call) => {
    if (step.pool !== undefined) {
      const pool = parts.pools(call.name)?.get(step.pool);
      if (pool !== undefined) return answerByPool(step, call, parts, { pool, index, isLast });
    }
    // Which model will answer is not known before the message itself comes.
    if (step.format === "count") return parts.forward(step, index, isLast, call);
    if (step.auto !== undefined)
      return forwardAuto(step, call, parts, { format: step.auto, index, isLast });
    return step.route === undefined
      ? parts.forward(step, index, isLast, call)
      : forwardRoute(step, call, parts, { route: step.route, index, isLast });
  };
}

interface RoutedStep {
  readonly route: string;
  readonly index: number;
  readonly isLast: boolean;
}

async function forwardRoute(
  step: Step,
  call: Call,
  parts: ChoiceParts,
  { route, index, isLast }: RoutedStep,
): Promise<Forwarded> {
  const found = await parts.stored.route(call.name, route);
  if (found === null) {
    throw new ApiError("chat_format", {
      message: `This gateway has no dynamic route "${route.slice(0, 64)}"`,
    });
  }
  const body = readChatBody(step);
  const graph = storedGraph(found.elements);
  const { route: _, ...own } = isOneProvider(graph) ? step : stripCredentials(step);
  const facts = factsOf(step, call, body);
  const run: RouteRun = { step: own, route: found.id, call, parts, facts, graph, budgets: [] };
  const ask = (model: ModelElement): Promise<Forwarded> => {
    const { retries, timeout, fallback } = model;
    const limits = {
      maxAttempts: retries + 1,
      ...(timeout === null ? {} : { requestTimeout: timeout }),
    };
    return askModel(model, { ...own, controls: { ...own.controls, ...limits } }, body, (target) =>
      parts.forward(target, index, isLast && endsAt(fallback, graph), charging(run)),
    );
  };
  const none = (): ApiError => invalidRequest("The dynamic route ended without a model");
  return askInOrder(modelsOf(run), ask, call, { system: parts.system, none });
}

/** Whether a route leads to one provider only, so that a caller's key can be meant for it. */
function isOneProvider({ elements }: Graph): boolean {
  const models = [...elements.values()].filter((element) => element.kind === "model");
  return new Set(models.map(({ provider }) => provider)).size < 2;
}

/** Follows a route to its models, from each to the next only when it has failed. */
async function* modelsOf(run: RouteRun): AsyncGenerator<ModelElement, void> {
  const { graph, facts, parts } = run;
  let at: string | null = graph.start;
  for (;;) {
    const stop = advanceRoute(graph, at, facts, () => randomNumber(parts.system));
    if (stop.kind === "end") return;
    if (stop.kind === "model") yield stop;
    at = stop.kind === "model" ? stop.fallback : await count(stop, run);
  }
}

function endsAt(id: string | null, { elements }: Graph): boolean {
  return id === null || elements.get(id)?.kind === "end";
}

/** Returns the call, which also tells the budgets on its way what it cost. */
function charging({ call, parts, budgets }: RouteRun): Call {
  if (budgets.length === 0) return call;
  const uses = parts.stored.uses(call.name);
  return {
    ...call,
    onEnded(ended) {
      const { charge } = ended;
      if (charge !== null) {
        const added = uses.addCosts([{ entries: budgets, amounts: { cost: charge } }]);
        parts.system.waitUntil(Promise.allSettled([added]));
      }
      call.onEnded?.(ended);
    },
  };
}

/** Counts a request at a rate element; resolves to where it goes on. */
async function count(rate: RateElement, run: RouteRun): Promise<string> {
  const partition = rate.key === "" ? "" : JSON.stringify(factAt(rate.key, run.facts) ?? null);
  const place = { scope: partition.slice(0, 256), rule: `route/${run.route}/${rate.id}` };
  const uses = run.parts.stored.uses(run.call.name);
  const use = await uses.takeUse(place, limitOf(rate));
  if ("entries" in use) {
    if (rate.limitType === "cost") run.budgets.push(...use.entries);
    return rate.success;
  }
  if (rate.fallback !== null) return rate.fallback;
  throw new ApiError("gateway_rate_limited", { headers: retryAfter(use.wait ?? 0) });
}

function limitOf({ limit, limitType, window, technique }: RateElement): Limit {
  return limitType === "cost"
    ? { limitType, limit, window, technique }
    : { limitType: "requests", limit: Math.floor(limit), window, technique };
}

function factsOf(step: Step, call: Call, body: Json): RouteFacts {
  // A route's author must not be able to test a caller's secrets.
  const headers = step.headers.filter(
    ([name]) => !isGatewayHeader(name) && !credentialHeaders.has(name) && name !== "cookie",
  );
  return {
    metadata: readMetadata(step.controls?.metadata ?? call.controls.metadata),
    body,
    headers: Object.fromEntries(headers),
  };
}

interface AutoStep {
  readonly format: ChatFormat;
  readonly index: number;
  readonly isLast: boolean;
}

/**
 * Answers a step whose model is `cloudflare/auto` by the models that the automatic router puts in order, tried in turn
 * until one answers well. Throws `chat_format` where the gateway has no router.
 */
async function forwardAuto(
  given: Step,
  call: Call,
  parts: ChoiceParts,
  { format, index, isLast }: AutoStep,
): Promise<Forwarded> {
  if (parts.router === undefined) {
    throw new ApiError("chat_format", {
      message: `The model "${AUTO_MODEL}" needs an automatic router, and this gateway has none: name a model, or configure "router"`,
    });
  }
  const { auto: _, ...step } = given;
  if (!(step.body instanceof Uint8Array)) throw new ApiError("chat_format");
  const body = readChatBody(step);
  const controls = { ...call.controls, ...step.controls };
  const decision = await parts.router.route({ call, controls, format, bytes: step.body, body });
  const own = decision.isOneProvider ? step : stripCredentials(step);
  const askCandidate = askingTargets(own, call, parts);
  const { candidates } = decision;
  const ask = async (candidate: PoolCandidate, rank: number): Promise<Forwarded> => {
    const { slug: provider, model, name } = candidate;
    const isEnd = isLast && rank === candidates.length - 1;
    const forwarded = await askCandidate(decision.watched(candidate), () =>
      askModel({ provider, model }, own, withOwnLimit(body, provider, format), (target) =>
        parts.forward(target, index, isEnd, call),
      ),
    );
    const reason = rank === 0 ? decision.reason : "fallback_candidate_unavailable";
    return { ...forwarded, routing: { id: decision.id, model: name, reason } };
  };
  const none = (): ApiError => new ApiError("provider_failed");
  return askInOrder(candidates, ask, call, { system: parts.system, none });
}
