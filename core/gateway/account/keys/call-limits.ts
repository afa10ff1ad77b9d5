import { ApiError } from "../../../http/api-error.ts";
import type { Call, Step } from "../../call/call.ts";
import type { KeyGrant } from "../../call/caller.ts";
import type { SpendingPermit, Limits, Settle } from "../../call/limits.ts";
import type { EndedAttempt } from "../../call/ended-attempt.ts";
import { cost, leastCost } from "../../metering/cost/cost.ts";
import { unknownCost, unknownTokens } from "../../metering/cost/known-cost.ts";
import {
  type ExpectedUse,
  expectedUse,
  type RealtimeSpend,
} from "../../metering/spend/expected-use.ts";
import { limitsSpend } from "../../metering/spend/spend.ts";
import { type SpendParts, spendOn } from "../../metering/spend/step-spend.ts";
import { refusalHeaders } from "./key-entry.ts";
import { providerPath } from "../../providers/target.ts";
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
  const expected = expectedUse(step, call, parts, realtime);
  const settle = await spendOn(expected, call, parts);
  const { caller } = call;
  const grant = caller?.grant;
  if (caller?.id == null || grant === undefined || !(grant.cost || grant.tokens))
    return { settle, call, count: () => undefined };
  try {
    return await keyLeave({ expected, call, id: caller.id, grant, settle }, parts);
  } catch (error) {
    settle(0);
    throw error;
  }
}

interface KeyedCall {
  readonly expected: ExpectedUse;
  readonly call: Call;
  readonly id: string;
  readonly grant: KeyGrant;
  readonly settle: Settle;
}

async function keyLeave(keyed: KeyedCall, parts: LimitParts): Promise<SpendingPermit> {
  const { expected, call, id, grant, settle } = keyed;
  const { account } = call.name;
  const unknown = uncounted(expected, grant);
  if (unknown !== null && grant.onUnknown === "refuse") {
    parts.refused?.(call.name, "spend_unknown");
    throw unknown;
  }
  const claims = {
    cost: grant.cost ? expected.cost : null,
    tokens: grant.tokens ? expected.tokens : null,
  };
  const keys = parts.keys.at(account);
  const decision = await keys.reserve(id, claims);
  if ("refused" in decision) {
    parts.refused?.(call.name, "spend_limit");
    throw new ApiError("gateway_spend_limit", {
      message: `Spend limit reached: the virtual key allows ${decision.refused}`,
      headers: refusalHeaders(decision.wait),
    });
  }
  const used: { cost: number | null; tokens: number | null } = { cost: null, tokens: null };
  let isOpen = true;
  const count: SpendingPermit["count"] = (usage, price) => add(used, { counted: usage, price });
  return {
    count,
    call: { ...call, onEnded: (ended) => add(used, ended) },
    settle(amount) {
      settle(amount);
      if (!isOpen) return;
      isOpen = false;
      // What is not known stays as it was set aside: leaving an answer early must not make it free.
      const amounts = amount === 0 ? { cost: used.cost ?? 0, tokens: used.tokens ?? 0 } : used;
      const { log, system } = parts;
      const entered = keys.settle(decision.entries, amounts).catch((error: unknown) => {
        log("error", "The use of a virtual key could not be entered", { error: String(error) });
      });
      system.waitUntil(entered);
    },
  };
}

/** Why a key's limits could not count what a request uses; null = they can. */
function uncounted({ question }: ExpectedUse, grant: KeyGrant): ApiError | null {
  const unpriced = grant.cost ? unknownCost(question) : null;
  if (unpriced !== null) return uncountable("cost", unpriced);
  const tokens = grant.tokens ? unknownTokens(question) : null;
  return tokens === null ? null : uncountable("tokens", tokens);
}

/** Adds an answer up by list prices: what the caller says that it costs is no matter to the key's owner. */
function add(
  used: { cost: number | null; tokens: number | null },
  { counted: usage, price }: Pick<EndedAttempt, "counted" | "price">,
): void {
  if (usage === null) return;
  const { tokensIn, tokensOut } = usage;
  if (tokensIn !== null || tokensOut !== null)
    used.tokens = (used.tokens ?? 0) + (tokensIn ?? 0) + (tokensOut ?? 0);
  const amount = cost(usage, price) ?? leastCost(usage, price);
  if (amount !== null) used.cost = (used.cost ?? 0) + amount;
}

function uncountable(counted: "cost" | "tokens", reason: string): ApiError {
  const price =
    counted === "cost"
      ? "Give the model a price (gateway.prices in the configuration, or PUT …/ai-gateway/prices), or set"
      : "Set";
  return new ApiError("gateway_spend_unknown", {
    message: `The virtual key limits ${counted}, but ${reason}. ${price} "on_unknown": "allow" on the key`,
    headers: refusalHeaders(null),
  });
}
