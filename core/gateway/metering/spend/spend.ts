import { retryAfter } from "../../wire/retry-after.ts";
import { ApiError } from "../../../http/api-error.ts";
import type { Claim } from "./ledger.ts";
import type { SpendDecision, SpendTicket } from "./spend-ledger.ts";
import type { SpendFacts } from "./spend-rules.ts";
import type { SpendLimits } from "../../account/settings/spend-settings.ts";

/** The calls of a gateway's actor, see `SpendLedger`. */
export interface SpendCalls {
  admit(facts: SpendFacts, claim: Claim): Promise<SpendDecision>;
  settle(ticket: SpendTicket, amount: number): Promise<void>;
}

/** Leave to spend, held while the request is under way. */
export interface SpendPermit {
  /**
   * Enters what the request has cost in USD, in place of what was set aside. With null (not known) that stays: leaving
   * an answer before it tells its usage must not make it free. Once; then it does nothing.
   */
  settle(amount: number | null): Promise<void>;
}

/** Whether a gateway has any rule that could refuse a request. */
export function limitsSpend(limits: SpendLimits | null | undefined): boolean {
  return limits != null && limits.enabled !== false && (limits.rules ?? []).length > 0;
}

/** Asks for leave; throws `gateway_spend_limit` (429/2003), which names the rule, when a budget has too little left. */
export async function reserveSpend(
  facts: SpendFacts,
  claim: Claim,
  calls: SpendCalls,
): Promise<SpendPermit> {
  const decision = await calls.admit(facts, claim);
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
