import type { ActorContext } from "../../../ports.ts";
import { formatUsd, fromParts, toParts } from "../cost/usd.ts";
import { type Claim, ledger, type LedgerClaim, type LedgerEntry } from "./ledger.ts";
import { type SpendBudget, spendBudgets, type SpendFacts } from "./spend-rules.ts";
import type { SpendLimits } from "../../account/settings/spend-settings.ts";

/** The table of what was spent, in slices of time by rule and partition. */
export const spendSchema: readonly string[] = [
  `CREATE TABLE gateway_spend (
    actor TEXT NOT NULL, rule TEXT NOT NULL, part TEXT NOT NULL, slice BIGINT NOT NULL,
    ends BIGINT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (actor, rule, part, slice))`,
  `CREATE INDEX gateway_spend_ends ON gateway_spend (actor, ends)`,
];

/** Leave to spend: what was set aside in each budget that a request draws on, in parts of a USD. */
export type SpendTicket = { readonly entries: readonly LedgerEntry[] };

/** The answer to a request for leave to spend. */
export type SpendDecision =
  | { readonly ticket: SpendTicket | null }
  | {
      /** What the exhausted rule allows, for people. */
      readonly refused: string;
      /** Milliseconds until some of its budget is free again. */
      readonly wait: number;
    };

/** The methods of a gateway's actor that concern its spend limits. */
export interface SpendLedger {
  /**
   * Asks for leave to spend what a request claims, in USD, which is set aside at once. Running requests count with what
   * is set aside for them, so that simultaneous ones cannot spend more together than a budget has.
   */
  spendAdmit(facts: SpendFacts, claim: Claim): Promise<SpendDecision>;
  /** Enters what was really spent, in USD, in place of what was set aside. */
  spendSettle(ticket: SpendTicket, amount: number): Promise<void>;
}

/** Keeps the accounts of one gateway. Processes that share a database count together. */
export function spendLedger(
  context: ActorContext,
  limits: () => SpendLimits | null | undefined,
): SpendLedger {
  const accounts = ledger(context, { table: "gateway_spend", owner: "part" });
  return {
    async spendAdmit(facts, claim) {
      const budgets = spendBudgets(limits(), facts, accounts.now());
      if (budgets.length === 0) return { ticket: null };
      const decision = await accounts.reserve(budgets.map((budget) => claimOn(budget, claim)));
      if ("entries" in decision) return { ticket: decision };
      const { refused, left, wait } = decision;
      const text = budgets[refused]?.text ?? "";
      return { refused: refusal(text, left, claim), wait };
    },
    async spendSettle({ entries }, amount) {
      const used = toParts(Math.max(0, amount));
      await accounts.settle(entries.map((entry) => ({ entry, used })));
    },
  };
}

function claimOn(
  { rule, part, slice, since, ends, limit }: SpendBudget,
  { needed, guessed }: Claim,
): LedgerClaim {
  const whole = toParts(Math.max(0, needed));
  return {
    rule,
    owner: part,
    slice,
    since,
    ends,
    limit: toParts(limit),
    needed: whole,
    guessed: toParts(Math.max(0, guessed)),
  };
}

/** What a limit allows, and why a request does not fit into what is left. */
function refusal(text: string, left: number, { needed }: Claim): string {
  return left === 0
    ? text
    : `${text}; ${tooLittle(`${formatUsd(fromParts(left))} USD`, `${formatUsd(needed)} USD`)}`;
}

/** Says that a request does not fit into what is left of a limit. */
export function tooLittle(left: string, needed: string): string {
  return `${left} are left, and this request may use ${needed}. Ask for a shorter answer (max_tokens), or again when the requests that are running have ended`;
}
