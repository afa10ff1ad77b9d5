import { ApiError } from "../../http/api-error.ts";
import type { AnswerUsage, Call, GatewayDeps, Step } from "../call/call.ts";
import type { KeyGrant } from "../entry/caller.ts";
import { cost, leastCost } from "../observe/cost/cost.ts";
import { isFree, unknownCost } from "../observe/cost/known-cost.ts";
import { BYTES_PER_TOKEN, estimateOf, limitsSpend } from "../observe/spend/spend.ts";
import { type RealtimeSpend, type Settle, spendOn } from "../observe/spend/step-spend.ts";
import { jsonOf, plainBytes } from "../wire/readable-body.ts";
import { stepModel } from "../chat/request-model.ts";
import { hidesUsage } from "../observe/usage/stream-usage.ts";
import { refusalHeaders } from "./enter-key.ts";
import { checkModel } from "./key-models.ts";

/** Leave to ask a provider: what is told how it went, and the call whose rows tell it. */
export interface Leave {
  readonly settle: Settle;
  readonly call: Call;
}

/**
 * Asks for leave to spend on a step: of the gateway's spend limits and of the caller's virtual key. Throws
 * `gateway_spend_limit`, and `gateway_spend_unknown` for what a limit could not count.
 */
export async function leaveToAsk(
  step: Step,
  call: Call,
  deps: GatewayDeps,
  realtime?: RealtimeSpend,
): Promise<Leave> {
  const settle = await spendOn(step, call, deps, realtime);
  const { caller } = call;
  const grant = caller?.grant;
  if (caller?.id == null || grant === undefined || !(grant.cost || grant.tokens))
    return { settle, call };
  try {
    return await keyLeave(step, { call, id: caller.id, grant, settle, realtime }, deps);
  } catch (error) {
    settle(0);
    throw error;
  }
}

/** Whether anything can limit what a call may spend. */
export function isLimited({ settings, caller }: Call): boolean {
  return caller?.grant !== undefined || limitsSpend(settings.spend_limits);
}

/** Throws `forbidden` for a model that the caller's virtual key does not allow. */
export function checkKeyModel(step: Step, { caller }: Call, model?: string): void {
  const models = caller?.grant?.models;
  if (models !== undefined && models !== null) checkModel(step, models, model);
}

interface KeyedCall {
  readonly call: Call;
  readonly id: string;
  readonly grant: KeyGrant;
  readonly settle: Settle;
  readonly realtime: RealtimeSpend | undefined;
}

async function keyLeave(step: Step, keyed: KeyedCall, deps: GatewayDeps): Promise<Leave> {
  const { call, id, grant, settle } = keyed;
  const { account } = call.name;
  const { cost: estimate, tokens, unknown } = expected(step, keyed, deps);
  if (grant.cost && unknown !== null && grant.onUnknown === "refuse") {
    deps.metrics?.refuse(call.name, "spend_unknown");
    throw uncountable(unknown);
  }
  const asked = { cost: grant.cost ? estimate : null, tokens: grant.tokens ? tokens : null };
  const decision = await deps.keys.reserve(account, id, asked);
  if ("refused" in decision) {
    deps.metrics?.refuse(call.name, "spend_limit");
    throw new ApiError("gateway_spend_limit", {
      message: `Spend limit reached: the virtual key allows ${decision.refused}`,
      headers: refusalHeaders(decision.wait),
    });
  }
  const used: { cost: number | null; tokens: number | null } = { cost: null, tokens: null };
  let isOpen = true;
  return {
    call: { ...call, onAnswer: (answer) => add(used, answer, call, deps) },
    settle(amount) {
      settle(amount);
      if (!isOpen) return;
      isOpen = false;
      // What is not known stays as it was estimated: leaving an answer early must not make it free.
      const amounts = amount === 0 ? { cost: used.cost ?? 0, tokens: used.tokens ?? 0 } : used;
      const { log, system } = deps.platform;
      const entered = deps.keys
        .settle(account, id, decision.entries, amounts)
        .catch((error: unknown) => {
          log("error", "The use of a virtual key could not be entered", { error: String(error) });
        });
      system.waitUntil(entered);
    },
  };
}

/** Adds an answer up by list prices: what the caller says that it costs is no matter to the key's owner. */
function add(
  used: { cost: number | null; tokens: number | null },
  { usage, model, provider }: AnswerUsage,
  { prices }: Call,
  { platform }: GatewayDeps,
): void {
  const { tokensIn, tokensOut } = usage;
  if (tokensIn !== null || tokensOut !== null)
    used.tokens = (used.tokens ?? 0) + (tokensIn ?? 0) + (tokensOut ?? 0);
  const price = prices.find(model, provider, platform.system.now())?.price ?? null;
  const amount = cost(usage, price) ?? leastCost(usage, price);
  if (amount !== null) used.cost = (used.cost ?? 0) + amount;
}

/** What a request uses at least, its input at four bytes per token, and why its cost cannot be known, if so. */
function expected(
  step: Step,
  { call, realtime }: KeyedCall,
  deps: GatewayDeps,
): { readonly cost: number; readonly tokens: number; readonly unknown: string | null } {
  const json = jsonOf(step);
  const model = realtime?.model ?? stepModel(step, json);
  const price = call.prices.find(model, step.slug, deps.platform.system.now())?.price ?? null;
  // The caller's own word on the cost is no matter to the key's owner.
  const question = { step, model, price, custom: undefined, json };
  const unknown = unknownCost({
    ...question,
    realtime: realtime !== undefined,
    hidesUsage: () => hidesUsage(step, call, deps),
  });
  const isUnpaid = realtime === undefined && isFree(step);
  const bytes = isUnpaid ? 0 : Math.max(BYTES_PER_TOKEN, plainBytes(step)?.length ?? 0);
  const tokens = Math.floor(bytes / BYTES_PER_TOKEN);
  return { cost: estimateOf(price, bytes, undefined), tokens, unknown };
}

function uncountable(reason: string): ApiError {
  return new ApiError("gateway_spend_unknown", {
    message: `The virtual key limits cost, but ${reason}. Give the model a price (gateway.prices in the configuration, or PUT …/ai-gateway/prices), or set "on_unknown": "allow" on the key`,
    headers: refusalHeaders(null),
  });
}
