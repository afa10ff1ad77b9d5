import { retryAfter } from "../../wire/retry-after.ts";
import { ApiError } from "../../../http/api-error.ts";
import { type CustomCost, costOfInput } from "../cost/cost.ts";
import type { SpendDecision, SpendTicket } from "./spend-ledger.ts";
import type { Price } from "../../prices/price.ts";
import { BYTES_PER_TOKEN } from "../../chat/usage.ts";
import type { SpendFacts } from "./spend-rules.ts";
import type { SpendLimits } from "../../settings/spend-settings.ts";

/** The calls of a gateway's actor, see `SpendLedger`. */
export interface SpendCalls {
  admit(facts: SpendFacts, estimate: number): Promise<SpendDecision>;
  settle(ticket: SpendTicket, amount: number): Promise<void>;
}

/** Leave to spend, held while the request is under way. */
export interface SpendPermit {
  /**
   * Enters what the request has cost in USD, in place of the estimate. With null (not known) the estimate stays:
   * leaving an answer before it tells its usage must not make it free. Once; then it does nothing.
   */
  settle(amount: number | null): Promise<void>;
}

/** Whether a gateway has any rule that could refuse a request. */
export function limitsSpend(limits: SpendLimits | null | undefined): boolean {
  return limits != null && limits.enabled !== false && (limits.rules ?? []).length > 0;
}

/**
 * The least that a request will cost, in USD: the price of its input at four bytes per token, or the cost that its
 * caller names when that is more.
 */
export function estimateOf(
  price: Price | null,
  bodyBytes: number,
  custom: CustomCost | undefined,
): number {
  const tokens = Math.floor(bodyBytes / BYTES_PER_TOKEN);
  const listed = costOfInput(tokens, price) ?? 0;
  if (custom === undefined) return listed;
  return Math.max(listed, "total" in custom ? custom.total : custom.perTokenIn * tokens);
}

/** Asks for leave; throws `gateway_spend_limit` (429/2003), which names the rule, when a budget is exhausted. */
export async function reserveSpend(
  facts: SpendFacts,
  estimate: number,
  calls: SpendCalls,
): Promise<SpendPermit> {
  const decision = await calls.admit(facts, estimate);
  if ("refused" in decision) {
    throw new ApiError("gateway_spend_limit", {
      message: `Spend limit reached: ${decision.refused}`,
      headers: { ...retryAfter(decision.wait), "x-should-retry": "false" },
    });
  }
  let { ticket } = decision;
  return {
    async settle(amount) {
      const held = ticket;
      ticket = null;
      if (held !== null && amount !== null) await calls.settle(held, amount);
    },
  };
}
