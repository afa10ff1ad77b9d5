import type { ActorClient } from "../../../actors/actor-client.ts";
import { ApiError } from "../../../http/api-error.ts";
import type { Log, System } from "../../../ports.ts";
import type { Call, Step } from "../../call/call.ts";
import type { GrantedLimit } from "../../call/caller.ts";
import type { SpendingPermit, Limits } from "../../call/limits.ts";
import type { EndedAttempt } from "../../call/ended-attempt.ts";
import { type CustomCost, listedCost } from "../../metering/cost/cost.ts";
import { type CostQuestion, unknownCost, unknownTokens } from "../../metering/cost/known-cost.ts";
import {
  type ExpectedUse,
  expectedUse,
  NOTHING,
  type RealtimeSpend,
  withCustomCost,
} from "../../metering/spend/expected-use.ts";
import { limitsSpend, refusalHeaders } from "../../metering/spend/spend.ts";
import type { SpendLedger } from "../../metering/spend/spend-ledger.ts";
import { mayLimit, spendFacts, type SpendFactsOf } from "../../metering/spend/spend-rules.ts";
import { type ConfiguredTargets, providerPath, targetsOf } from "../../providers/target.ts";
import {
  gatewayBudgetOwner,
  keyBudgetOwner,
  type ReportBudgets,
} from "../../observe/budget-report.ts";
import { actorName, type GatewayName } from "../settings/gateway-name.ts";
import { checkModel } from "./check-model.ts";
import { outputRoom } from "./output-room.ts";
import { countsModels, type RequestModels } from "./key-limit.ts";
import type { KeyStore } from "./key-store.ts";
import { type Settlements, settlements } from "./settlements.ts";
import { type AppliedLimits, stepReservations } from "./step-reservations.ts";

export interface LimitParts {
  readonly system: System;
  readonly log: Log;
  readonly targets: ConfiguredTargets;
  readonly store: { at(name: GatewayName): ActorClient<SpendLedger> };
  readonly keys: KeyStore;
  readonly report: ReportBudgets;
  /** Counts what is refused. @default nothing is counted */
  readonly refused?:
    | ((name: GatewayName, reason: "spend_limit" | "spend_unknown") => void)
    | undefined;
}

/** The limits of gateways, of virtual keys and of teams. */
export interface CallLimits extends Limits {
  /** Throws `forbidden` for a model that the caller's virtual key does not allow; `model` outranks the step's. */
  checkModel(step: Step, call: Call, model?: string): void;
  leave(step: Step, call: Call, realtime?: RealtimeSpend): Promise<SpendingPermit>;
}

export function callLimits(given: LimitParts): CallLimits {
  const parts: LeaveParts = { ...given, settling: settlements(given), factsOf: spendFacts() };
  return {
    checkModel(step, { caller, name }, model) {
      const models = caller?.grant?.models;
      if (models === undefined || models === null) return;
      // Counting for a route asks no model: those that the route leads to are checked when they are asked.
      if (step.route !== undefined || step.auto !== undefined) return;
      const path = providerPath(step, targetsOf(parts.targets, name));
      checkModel(step, { models, path, known: model });
    },
    applyTo: ({ settings, caller }) =>
      (caller?.grant?.limits.length ?? 0) > 0 || limitsSpend(settings.spend_limits),
    leave: (step, call, realtime) => leaveToAsk(step, call, parts, realtime),
  };
}

type LeaveParts = LimitParts & {
  readonly settling: Settlements;
  readonly factsOf: SpendFactsOf;
};

/** The use of a virtual key's step by list prices. */
interface ListedUse {
  cost: number | null;
  tokens: number | null;
}

/**
 * Asks for leave to spend on a step: of the gateway's spend limits, of the caller's virtual key and of its team. Throws
 * `gateway_spend_limit`, and `gateway_spend_unknown` for what a limit could not count.
 */
async function leaveToAsk(
  step: Step,
  call: Call,
  parts: LeaveParts,
  realtime?: RealtimeSpend,
): Promise<SpendingPermit> {
  const expected = expectedUse(step, call, parts, realtime);
  const listed: ListedUse = { cost: null, tokens: null };
  const ofKey = keyLimits(expected, call, listed, parts);
  const applied = [gatewayLimits(expected, call, parts), ofKey].filter((one) => one !== null);
  const unknown = applied.find((one) => one.unknown !== null)?.unknown ?? null;
  if (unknown !== null) {
    parts.refused?.(call.name, "spend_unknown");
    throw unknown;
  }
  const { hold, settle } = stepReservations(applied, parts.settling, (error) => {
    if (error instanceof ApiError && error.kind === "gateway_spend_limit")
      parts.refused?.(call.name, "spend_limit");
  });
  const room = await outputRoom(expected, hold).catch((error: unknown) => {
    settle(0);
    throw error;
  });
  if (ofKey === null) return { settle, room, call, count: () => undefined };
  return {
    settle,
    room,
    count: (usage, price) => add(listed, { counted: usage, price }),
    call: { ...call, onEnded: (ended) => add(listed, ended) },
  };
}

/** The spend limits of the gateway; null for none that applies. */
function gatewayLimits(
  expected: ExpectedUse,
  { settings, controls, name }: Call,
  { store, factsOf }: LeaveParts,
): AppliedLimits | null {
  const limits = settings.spend_limits;
  if (!limitsSpend(limits)) return null;
  const { model, question } = expected;
  const { step, further } = question;
  const facts = factsOf(step.slug, model, further, controls.metadata ?? null);
  if (!mayLimit(limits, facts)) return null;
  const custom = controls.customCost;
  // A total is claimed once.
  const customOf = (isFirst: boolean): CustomCost | undefined =>
    isFirst || (custom !== undefined && !("total" in custom)) ? custom : undefined;
  const reason = limits?.on_unknown === "allow" ? null : unknownCost(question);
  return {
    unknown:
      reason === null
        ? null
        : uncountable(
            `A spend limit applies, but ${reason}. ${PRICE}`,
            "in the gateway's spend_limits",
          ),
    claims: (use, isFirst) => ({ cost: withCustomCost(use, customOf(isFirst)) }),
    reserve: ({ cost }) => store.at(name).spendAdmit(facts, cost ?? NOTHING),
    settle: (ended) => store.at(name).spendSettle(ended),
    ledger: actorName(name),
    account: name.account,
    ownerOf: gatewayBudgetOwner(name.gateway),
    used: (amount) => ({ cost: amount }),
  };
}

/** The limits of the caller's virtual key and of its team; null for none that counts more than requests. */
function keyLimits(
  { model, question }: ExpectedUse,
  { caller, name }: Call,
  listed: ListedUse,
  { keys }: LimitParts,
): AppliedLimits | null {
  const { id = null, grant } = caller ?? {};
  if (id === null || grant === undefined) return null;
  const { step, further } = question;
  const models: RequestModels = {
    slug: step.slug,
    names: model === "" || further === null ? null : [model, ...further],
  };
  const limits = grant.limits.filter((limit) => countsModels(limit, models));
  if (limits.length === 0) return null;
  const counts = (type: GrantedLimit["limitType"]): boolean =>
    limits.some(({ limitType }) => limitType === type);
  const at = keys.at(name.account);
  return {
    unknown: uncounted(limits, question),
    claims: ({ cost, tokens }) => ({
      cost: counts("cost") ? cost : null,
      tokens: counts("tokens") ? tokens : null,
    }),
    reserve: (claims) => at.reserve(id, claims, models),
    settle: (ended) => at.settle(ended),
    ledger: name.account,
    account: name.account,
    ownerOf: keyBudgetOwner,
    // An unknown amount stays as it was set aside: leaving an answer early must not make it free.
    used: (amount) =>
      amount === 0 ? { cost: listed.cost ?? 0, tokens: listed.tokens ?? 0 } : { ...listed },
  };
}

/** Returns the refusal of a request whose use one of the limits could not count; null = all can. */
function uncounted(limits: readonly GrantedLimit[], question: CostQuestion): ApiError | null {
  for (const { limitType, onUnknown, owner, place } of limits) {
    if (onUnknown === "allow") continue;
    const reason = limitType === "cost" ? unknownCost(question) : unknownTokens(question);
    if (reason === null) continue;
    const advice = limitType === "cost" ? PRICE : "Set";
    return uncountable(`The ${owner} limits ${limitType}, but ${reason}. ${advice}`, place);
  }
  return null;
}

/** Adds an answer up by list prices: a cost that the caller states does not count against the owner's limits. */
function add(
  used: ListedUse,
  { counted: usage, price }: Pick<EndedAttempt, "counted" | "price">,
): void {
  if (usage === null) return;
  const { tokensIn, tokensOut } = usage;
  if (tokensIn !== null || tokensOut !== null)
    used.tokens = (used.tokens ?? 0) + (tokensIn ?? 0) + (tokensOut ?? 0);
  const amount = listedCost(usage, price);
  if (amount !== null) used.cost = (used.cost ?? 0) + amount;
}

const PRICE =
  "Give the model a price (gateway.prices in the configuration, or PUT …/ai-gateway/prices), or set";

/** The refusal of a request whose cost or tokens a limit could not count. */
function uncountable(reason: string, place: string): ApiError {
  return new ApiError("gateway_spend_unknown", {
    message: `${reason} "on_unknown": "allow" ${place}`,
    headers: refusalHeaders(null),
  });
}
