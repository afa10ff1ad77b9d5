import type { ActorContext } from "../../../ports.ts";
import type { SpendLimits } from "../../account/settings/spend-settings.ts";
import type { NowOrLater } from "../../../work/now-or-later.ts";
import type { BudgetAlert, Claim, Reservation, Settlement } from "../ledger/budget.ts";
import { type Ledger, ledger } from "../ledger/ledger.ts";
import { spendBudgets, type SpendFacts } from "./spend-rules.ts";

/** The table of what was spent, in slices of time by rule and partition. */
export const spendSchema: readonly string[] = [
  `CREATE TABLE gateway_spend (
    actor TEXT NOT NULL, rule TEXT NOT NULL, part TEXT NOT NULL, slice BIGINT NOT NULL,
    ends BIGINT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (actor, rule, part, slice))`,
  `CREATE INDEX gateway_spend_ends ON gateway_spend (actor, ends)`,
];

/** The methods of a gateway's actor that concern its spend limits. */
export interface SpendLedger {
  /**
   * Asks for leave to spend what a request claims, in USD, which is set aside at once. Running requests count with what
   * is set aside for them, so that simultaneous ones cannot spend more together than a budget has.
   */
  spendAdmit(facts: SpendFacts, claim: Claim): NowOrLater<Reservation>;
  /** Enters what was really spent in place of what was set aside, null = not known; resolves to the budgets of which a share is spent now. */
  spendSettle(ended: readonly Settlement[]): NowOrLater<readonly BudgetAlert[]>;
}

export function spendLedger(
  context: ActorContext,
  limits: () => SpendLimits | null | undefined,
): { readonly methods: SpendLedger; readonly forget: Ledger["forget"] } {
  const accounts = ledger(context, { table: "gateway_spend", scope: "part", alerts: true });
  return {
    methods: {
      spendAdmit: (facts, cost) => accounts.reserve(spendBudgets(limits(), facts), { cost }),
      spendSettle: accounts.settle,
    },
    forget: accounts.forget,
  };
}
