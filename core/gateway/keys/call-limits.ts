import { ApiError } from "../../http/api-error.ts";
import type { Call, Step } from "../call/call.ts";
import type { KeyGrant } from "../call/caller.ts";
import type { SpendingPermit, Limits, Settle } from "../call/limits.ts";
import type { EndedAttempt } from "../call/ended-attempt.ts";
import { stepModel } from "../providers/requested-model.ts";
import { cost, leastCost } from "../observe/cost/cost.ts";
import { isFree, unknownCost } from "../observe/cost/known-cost.ts";
import { estimateOf, limitsSpend } from "../observe/spend/spend.ts";
import { type RealtimeSpend, type SpendParts, spendOn } from "../observe/spend/step-spend.ts";
import { hidesUsage } from "../providers/openai/stream-usage.ts";
import { BYTES_PER_TOKEN } from "../chat/usage.ts";
import { jsonOf, plainBytes } from "../wire/readable-body.ts";
import { requestPrice } from "../observe/cost/dearest-price.ts";
import { refusalHeaders } from "./key-entry.ts";
import { providerPath } from "../providers/target.ts";
import { checkModel } from "./check-model.ts";
import type { KeyStore } from "./key-store.ts";

/** What {@link callLimits} works with. */
export interface LimitParts extends SpendParts {
  readonly keys: KeyStore;
}

/** The limits of gateways and of virtual keys. */
export interface CallLimits extends Limits {
  /** Throws `forbidden` for a model that the caller's virtual key does not allow; `model` outranks the step's. */
  checkModel(step: Step, call: Call, model?: string): void;
  leave(step: Step, call: Call, realtime?: RealtimeSpend): Promise<SpendingPermit>;
}

/** Makes the limits of calls. */
export function callLimits(parts: LimitParts): CallLimits {
  return {
    checkModel(step, { caller }, model) {
      const models = caller?.grant?.models;
      if (models === undefined || models === null) return;
      const path = providerPath(step, parts.targets);
      checkModel(step, { models, path, known: model });
    },
    applyTo: ({ settings, caller }) =>
      caller?.grant !== undefined || limitsSpend(settings.spend_limits),
    leave: (step, call, realtime) => leaveToAsk(step, call, parts, realtime),
  };
}

/**
 * Asks for leave to spend on a step: of the gateway's spend limits and of the caller's virtual key. Throws
 * `gateway_spend_limit`, and `gateway_spend_unknown` for what a limit could not count.
 */
async function leaveToAsk(
  step: Step,
  call: Call,
  parts: LimitParts,
  realtime?: RealtimeSpend,
): Promise<SpendingPermit> {
  const settle = await spendOn(step, call, parts, realtime);
  const { caller } = call;
  const grant = caller?.grant;
  if (caller?.id == null || grant === undefined || !(grant.cost || grant.tokens))
    return { settle, call };
  try {
    return await keyLeave(step, { call, id: caller.id, grant, settle, realtime }, parts);
  } catch (error) {
    settle(0);
    throw error;
  }
}

interface KeyedCall {
  readonly call: Call;
  readonly id: string;
  readonly grant: KeyGrant;
  readonly settle: Settle;
  readonly realtime: RealtimeSpend | undefined;
}

async function keyLeave(step: Step, keyed: KeyedCall, parts: LimitParts): Promise<SpendingPermit> {
  const { call, id, grant, settle } = keyed;
  const { account } = call.name;
  const { cost: estimate, tokens, unknown } = expected(step, keyed, parts);
  if (grant.cost && unknown !== null && grant.onUnknown === "refuse") {
    parts.refused?.(call.name, "spend_unknown");
    throw uncountable(unknown);
  }
  const asked = { cost: grant.cost ? estimate : null, tokens: grant.tokens ? tokens : null };
  const keys = parts.keys.at(account);
  const decision = await keys.reserve(id, asked);
  if ("refused" in decision) {
    parts.refused?.(call.name, "spend_limit");
    throw new ApiError("gateway_spend_limit", {
      message: `Spend limit reached: the virtual key allows ${decision.refused}`,
      headers: refusalHeaders(decision.wait),
    });
  }
  const used: { cost: number | null; tokens: number | null } = { cost: null, tokens: null };
  let isOpen = true;
  return {
    call: { ...call, onEnded: (ended) => add(used, ended) },
    settle(amount) {
      settle(amount);
      if (!isOpen) return;
      isOpen = false;
      // What is not known stays as it was estimated: leaving an answer early must not make it free.
      const amounts = amount === 0 ? { cost: used.cost ?? 0, tokens: used.tokens ?? 0 } : used;
      const { log, system } = parts;
      const entered = keys.settle(id, decision.entries, amounts).catch((error: unknown) => {
        log("error", "The use of a virtual key could not be entered", { error: String(error) });
      });
      system.waitUntil(entered);
    },
  };
}

/** Adds an answer up by list prices: what the caller says that it costs is no matter to the key's owner. */
function add(
  used: { cost: number | null; tokens: number | null },
  { counted: usage, price }: EndedAttempt,
): void {
  if (usage === null) return;
  const { tokensIn, tokensOut } = usage;
  if (tokensIn !== null || tokensOut !== null)
    used.tokens = (used.tokens ?? 0) + (tokensIn ?? 0) + (tokensOut ?? 0);
  const amount = cost(usage, price) ?? leastCost(usage, price);
  if (amount !== null) used.cost = (used.cost ?? 0) + amount;
}

/** What a request uses at least, its input at four bytes per token, and why its cost cannot be known, if so. */
function expected(
  step: Step,
  { call, realtime }: KeyedCall,
  parts: LimitParts,
): { readonly cost: number; readonly tokens: number; readonly unknown: string | null } {
  const json = jsonOf(step);
  const model = realtime?.model ?? stepModel(step, json);
  const asked = { slug: step.slug, model, json };
  const priced = requestPrice(asked, call.prices, parts.system.now());
  const question = { step, json, ...priced };
  const unknown = unknownCost({
    ...question,
    realtime: realtime !== undefined,
    hidesUsage: () => hidesUsage(step, call, parts.targets),
  });
  const isUnpaid = realtime === undefined && isFree(step);
  const bytes = isUnpaid ? 0 : Math.max(BYTES_PER_TOKEN, plainBytes(step)?.length ?? 0);
  const tokens = Math.floor(bytes / BYTES_PER_TOKEN);
  return { cost: estimateOf(priced.price, bytes, undefined), tokens, unknown };
}

function uncountable(reason: string): ApiError {
  return new ApiError("gateway_spend_unknown", {
    message: `The virtual key limits cost, but ${reason}. Give the model a price (gateway.prices in the configuration, or PUT …/ai-gateway/prices), or set "on_unknown": "allow" on the key`,
    headers: refusalHeaders(null),
  });
}
