import { ApiError } from "../../http/api-error.ts";
import { utf8 } from "../../crypto/encoding.ts";
import type { System } from "../../ports.ts";
import type { Call, Step } from "../call/call.ts";
import type { Forward } from "../call/forward.ts";
import type { StoredProviders } from "../account/records/stored-providers.ts";
import { isVerdict } from "../call/checks.ts";
import { compatStep } from "../providers/unified-step.ts";
import { readChatBody } from "../chat/chat-body.ts";
import { dropBody } from "../wire/reply-body.ts";
import type { Forwarded } from "../call/forwarded.ts";
import { isGatewayHeader } from "../wire/header-hygiene.ts";
import { stripCredentials } from "../providers/strip-credentials.ts";
import { retryAfter } from "../wire/retry-after.ts";
import { credentialHeaders } from "../providers/known/table.ts";
import { readMetadata } from "../call/controls.ts";
import { type AutoParts, forwardAuto } from "./forward-auto.ts";
import { advanceRoute, type Graph, readGraph } from "./dynamic/graph.ts";
import { factAt, type RouteFacts } from "./dynamic/condition.ts";
import type { ModelElement, RateElement } from "./dynamic/element.ts";

/** Dependencies of {@link choosing}. */
export interface ChoiceParts extends AutoParts {
  readonly stored: Pick<StoredProviders, "route" | "counters">;
}

/** A dynamic route on its way. */
interface RouteRun {
  readonly step: Step;
  readonly route: string;
  readonly index: number;
  readonly isLast: boolean;
  readonly call: Call;
  readonly parts: ChoiceParts;
  readonly body: Readonly<Record<string, unknown>>;
  readonly facts: RouteFacts;
  readonly graph: Graph;
  /** Counts of cost that this request adds to when it is answered. */
  readonly budgets: { readonly key: string; readonly window: number }[];
}

/** Answers one step: a dynamic route, or the automatic router, by the models that it leads to, any other step by its provider. */
export function choosing(parts: ChoiceParts): Forward {
  return (step, index, isLast, call) => {
    if (step.auto !== undefined) return forwardAuto(step, step.auto, index, isLast, call, parts);
    return step.route === undefined
      ? parts.forward(step, index, isLast, call)
      : forwardRoute(step, step.route, index, isLast, call, parts);
  };
}

async function forwardRoute(
  step: Step,
  route: string,
  index: number,
  isLast: boolean,
  call: Call,
  parts: ChoiceParts,
): Promise<Forwarded> {
  const found = await parts.stored.route(call.name, route);
  if (found === null) {
    throw new ApiError("chat_format", {
      message: `This gateway has no dynamic route "${route.slice(0, 64)}"`,
    });
  }
  const body = readChatBody(step.body);
  const graph = readGraph(found.elements);
  return follow({
    step: isOneProvider(graph) ? step : stripCredentials(step),
    route: found.id,
    index,
    isLast,
    call,
    parts,
    body,
    facts: factsOf(step, call, body),
    graph,
    budgets: [],
  });
}

/** Whether a route leads to one provider only, so that a caller's key can be meant for it. */
function isOneProvider({ elements }: Graph): boolean {
  const models = [...elements.values()].filter((element) => element.kind === "model");
  return new Set(models.map(({ provider }) => provider)).size < 2;
}

/** Follows the route until a model answers well, or the route is over. */
async function follow(run: RouteRun): Promise<Forwarded> {
  const { graph, facts } = run;
  const { system } = run.parts;
  let at: string | null = graph.start;
  let failure: Failure | null = null;
  for (;;) {
    const stop = advanceRoute(graph, at, facts, () => randomNumber(system));
    if (stop.kind === "end") return outcome(failure);
    if (stop.kind === "rate") {
      at = await count(stop, run);
      continue;
    }
    // A failed answer that another model makes good is not read.
    if (failure !== null && "forwarded" in failure) dropBody(failure.forwarded.reply, system);
    const answer = await ask(stop, run);
    if ("forwarded" in answer && !answer.forwarded.failed) return answer.forwarded;
    failure = answer;
    at = stop.fallback;
  }
}

type Failure = { readonly forwarded: Forwarded } | { readonly error: ApiError };

function outcome(failure: Failure | null): Forwarded {
  if (failure === null) {
    throw new ApiError("invalid_request", { message: "The dynamic route ended without a model" });
  }
  if ("error" in failure) throw failure.error;
  return failure.forwarded;
}

async function ask(model: ModelElement, run: RouteRun): Promise<Failure> {
  const { step, index, call, parts, body } = run;
  const { route: _, ...rest } = step;
  const controls = {
    ...step.controls,
    maxAttempts: model.retries + 1,
    ...(model.timeout === null ? {} : { requestTimeout: model.timeout }),
  };
  const isLast = run.isLast && endsAt(model.fallback, run.graph);
  try {
    const target = compatStep({
      ...rest,
      controls,
      body: utf8(JSON.stringify({ ...body, model: `${model.provider}/${model.model}` })),
    });
    const forwarded = await parts.forward(target, index, isLast, charging(run));
    const answeredBy = { provider: model.provider, model: model.model };
    return { forwarded: { ...forwarded, answeredBy } };
  } catch (error) {
    if (call.signal.aborted || !(error instanceof ApiError) || isVerdict(error)) throw error;
    return { error };
  }
}

function endsAt(id: string | null, { elements }: Graph): boolean {
  return id === null || elements.get(id)?.kind === "end";
}

/** Returns the call, which also tells the budgets on its way what it cost. */
function charging({ call, parts, budgets }: RouteRun): Call {
  if (budgets.length === 0) return call;
  const counters = parts.stored.counters(call.name);
  return {
    ...call,
    onEnded(ended) {
      const { charge } = ended;
      if (charge !== null) {
        const spent = budgets.map(({ key, window }) => counters.spend(key, charge, window));
        parts.system.waitUntil(Promise.allSettled(spent));
      }
      call.onEnded?.(ended);
    },
  };
}

/** Counts a request at a rate element; resolves to where it goes on. */
async function count(rate: RateElement, run: RouteRun): Promise<string> {
  const { limit, technique, limitType } = rate;
  const window = Math.round(rate.window * 1000);
  const partition = rate.key === "" ? "" : JSON.stringify(factAt(rate.key, run.facts) ?? null);
  const key = `route/${run.route}/${rate.id}/${partition.slice(0, 256)}`;
  const counters = run.parts.stored.counters(run.call.name);
  // The cost of a request is known afterwards: a budget lets requests through until it is used up.
  const amount = limitType === "count" ? 1 : 0;
  const wait = await counters.take(key, amount, { limit, window, technique });
  if (wait === 0) {
    if (limitType === "cost") run.budgets.push({ key, window });
    return rate.success;
  }
  if (rate.fallback !== null) return rate.fallback;
  throw new ApiError("gateway_rate_limited", { headers: retryAfter(wait) });
}

function factsOf(step: Step, call: Call, body: RouteRun["body"]): RouteFacts {
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

/** From 0 up to, not including, 1. */
function randomNumber(system: System): number {
  const bytes = system.random(4);
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0) / 2 ** 32;
}
