import type { Platform } from "../../../ports.ts";
import { asksForStream, parseChat } from "../../chat/chat-body.ts";
import { readMetadata } from "../../call/controls.ts";
import { type Choose, chooser, type Order } from "./choose.ts";
import type { ModelRouter, RouteRequest } from "./model-router.ts";
import { type Needs, needsOf } from "../../chat/conversation.ts";
import type { PriceBook } from "../../prices/price-book.ts";
import type { TargetHealth, WatchedTarget } from "../pools/target-health.ts";
import { ableOf, allowedOf, type PoolCandidate, readPool } from "./pool.ts";
import { type Ranked, ranked } from "./rank.ts";
import { type Affinity, routerSessions, type Sessions, type Routable } from "./sessions.ts";

export interface Decision {
  readonly id: string;
  readonly reason: string;
  /** In the order in which they are tried. */
  readonly candidates: readonly PoolCandidate[];
  /** Whether the caller allows models of one provider only, so that a key of its own can be meant for it. */
  readonly isOneProvider: boolean;
  readonly watched: (candidate: PoolCandidate) => WatchedTarget;
}

/** Chooses models for requests that leave the choice to the gateway. */
export interface AutoRouter {
  route(request: Routable): Promise<Decision>;
}

/** Candidates that are tried for one request, at most. */
const TRIES = 5;

/** Milliseconds for which a candidate that failed is tried after all others. */
const COOL_DOWN_MS = 30_000;

/** Makes the automatic router of the options; throws `invalid_options`. */
export function autoRouter(
  options: ModelRouter,
  platform: Pick<Platform, "system" | "log">,
  { prices, health }: { readonly prices: PriceBook; readonly health: TargetHealth },
): AutoRouter {
  const { system } = platform;
  const router: Router = {
    pool: readPool(
      options,
      (model, provider) => prices.find(model, provider, system.now())?.price ?? null,
    ),
    choose: options.choose === undefined ? null : chooser(options.choose, options, platform),
    sessions: routerSessions(options, system),
    health,
    system,
  };
  return { route: (request) => route(request, router) };
}

interface Router {
  readonly pool: readonly PoolCandidate[];
  readonly choose: Choose | null;
  readonly sessions: Sessions;
  readonly health: TargetHealth;
  readonly system: Platform["system"];
}

async function route(request: Routable, router: Router): Promise<Decision> {
  const { call, controls, format, bytes, body } = request;
  const { system, health } = router;
  const allowed = allowedOf(router.pool, {
    models: controls.allowedModels,
    providers: controls.allowedProviders,
  });
  const needs = needsOf(body, format, bytes.length);
  const able = ableOf(allowed, needs, format);
  const { account, gateway } = call.name;
  // By gateway, whose keys and limits are its own.
  const key = ({ name }: PoolCandidate): string => JSON.stringify([account, gateway, name]);
  const well = able.filter((one) => !health.isCooling(key(one)));
  const eligible = well.length > 0 ? well : able;
  const affinity = await router.sessions.of(request);
  const order = await orderOf({ ...request, needs, eligible, affinity }, router);
  // A candidate that fails at the moment is better than nothing, unless the operator's hook left it out.
  const spare = order.isChosen === true ? [] : able.filter((one) => !eligible.includes(one));
  return {
    id: system.id(),
    reason: order.reason,
    candidates: [...order.candidates.map(({ candidate }) => candidate), ...spare].slice(0, TRIES),
    isOneProvider: new Set(allowed.map(({ slug }) => slug)).size === 1,
    watched: (candidate) => ({
      key: key(candidate),
      coolDownMs: COOL_DOWN_MS,
      onServed: () => affinity.keep(candidate.name),
    }),
  };
}

/** A request whose candidates are to be put in order. */
interface OpenDecision extends Routable {
  readonly needs: Needs;
  readonly eligible: readonly PoolCandidate[];
  readonly affinity: Affinity;
}

async function orderOf(open: OpenDecision, { choose }: Router): Promise<Order> {
  const { call, needs, eligible, affinity } = open;
  const last = eligible.find(({ name }) => name === affinity.model) ?? null;
  const byCost = ranked(eligible, needs, affinity.isWarm ? last : null);
  const order = (reason: string): Order => ({ candidates: byCost, reason });
  if (last !== null && affinity.isSameTurn) {
    return { candidates: pinnedFirst(byCost, last), reason: "pinned_by_turn" };
  }
  if (byCost.length === 1) return order("forced_by_candidate_pool");
  if (choose === null) return order("cost_optimal_within_pool");
  if (!needs.hasText) return order("fallback_unsupported_input");
  return choose(routeRequest(open, byCost), byCost, call.signal);
}

function pinnedFirst(byCost: readonly Ranked[], pinned: PoolCandidate): Ranked[] {
  const isPinned = ({ candidate }: Ranked): boolean => candidate === pinned;
  return [...byCost.filter(isPinned), ...byCost.filter((one) => !isPinned(one))];
}

function routeRequest(open: OpenDecision, byCost: readonly Ranked[]): RouteRequest {
  const { call, controls, format, bytes, needs, affinity } = open;
  // Parsed again: changes that the hook makes to its copy must not reach the provider.
  const body = parseChat(bytes);
  return {
    ...call.name,
    format,
    body,
    isStream: asksForStream(body),
    candidates: byCost.map(({ candidate: { name, slug }, cost }) => ({
      model: name,
      provider: slug,
      cost,
    })),
    needs: needs.abilities,
    inputTokens: needs.inputTokens,
    sessionId: controls.sessionId ?? null,
    turnId: controls.turnId ?? null,
    sessionModel: affinity.model,
    metadata: readMetadata(controls.metadata),
  };
}
