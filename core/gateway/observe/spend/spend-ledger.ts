import type { ActorContext, Sql, Statement } from "../../../ports.ts";
import { steadyNow } from "../../../steady-now.ts";
import { type SpendBudget, spendBudgets, type SpendFacts } from "./spend-rules.ts";
import type { SpendLimits } from "../../settings/spend-settings.ts";
import { toParts } from "../cost/usd.ts";

/** The table of what was spent, in slices of time by rule and partition. */
export const spendSchema: readonly string[] = [
  `CREATE TABLE gateway_spend (
    actor TEXT NOT NULL, rule TEXT NOT NULL, part TEXT NOT NULL, slice BIGINT NOT NULL,
    ends BIGINT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (actor, rule, part, slice))`,
  `CREATE INDEX gateway_spend_ends ON gateway_spend (actor, ends)`,
];

/** The largest sum that is read, in parts of a USD. */
const LARGEST = 9e15;

/** Leave to spend: the budgets drawn on and what was set aside in each, in parts of a USD. */
export type SpendTicket = { readonly budgets: readonly SpendBudget[]; readonly reserved: number };

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
   * Asks for leave to spend about `estimate` USD, which is set aside at once. Running requests count with their
   * estimate, so that simultaneous ones cannot all take the last of a budget.
   */
  spendAdmit(facts: SpendFacts, estimate: number): Promise<SpendDecision>;
  /** Enters what was really spent, in USD, in place of the estimate. */
  spendSettle(ticket: SpendTicket, amount: number): Promise<void>;
}

/**
 * Keeps the accounts of one gateway. Entering and reading happen in one transaction, and a request that finds a budget
 * exhausted takes its own entry back. So no call waits for another, and processes that share a database count together.
 */
export function spendLedger(
  { name: actor, sql, system }: ActorContext,
  limits: () => SpendLimits | null | undefined,
): SpendLedger {
  const clock = steadyNow(system);
  return {
    async spendAdmit(facts, estimate) {
      const now = clock();
      const budgets = spendBudgets(limits(), facts, now);
      if (budgets.length === 0) return { ticket: null };
      const reserved = toParts(Math.max(0, estimate));
      const ticket = { budgets, reserved };
      const results = await sql.batch([
        ...entries(actor, ticket, reserved),
        ...budgets.map((budget) => sumOf(actor, budget)),
      ]);
      const sums = results.slice(-budgets.length).map(({ rows: [row] }) => row);
      const spent = budgets.findIndex(
        ({ limit }, index) => Number(sums[index]?.["amount"] ?? 0) - reserved >= toParts(limit),
      );
      const exhausted = budgets[spent];
      if (exhausted === undefined) return { ticket };
      await enter(sql, entries(actor, ticket, -reserved));
      const first = Number(sums[spent]?.["ends"] ?? exhausted.ends);
      return { refused: exhausted.text, wait: Math.max(1, first - now) };
    },
    async spendSettle(ticket, amount) {
      const difference = toParts(Math.max(0, amount)) - ticket.reserved;
      const late = {
        sql: "DELETE FROM gateway_spend WHERE actor = ? AND ends <= ?",
        params: [actor, clock()],
      };
      await enter(sql, [...entries(actor, ticket, difference), late]);
    },
  };
}

async function enter(sql: Sql, statements: readonly Statement[]): Promise<void> {
  if (statements.length > 0) await sql.batch(statements);
}

/** The statements that add an amount to every budget; none for nothing. */
function entries(actor: string, { budgets }: SpendTicket, amount: number): Statement[] {
  if (amount === 0) return [];
  // Taken back from what is there: a gateway that was deleted meanwhile leaves no credit to the next of its name.
  if (amount < 0)
    return budgets.map(({ rule, part, slice }) => ({
      sql: `UPDATE gateway_spend SET amount = amount + ?
        WHERE actor = ? AND rule = ? AND part = ? AND slice = ?`,
      params: [amount, actor, rule, part, slice],
    }));
  return budgets.map(({ rule, part, slice, ends }) => ({
    sql: `INSERT INTO gateway_spend (actor, rule, part, slice, ends, amount) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (actor, rule, part, slice)
      DO UPDATE SET amount = gateway_spend.amount + excluded.amount`,
    params: [actor, rule, part, slice, ends, amount],
  }));
}

/** A sum beyond what a number can hold says no more than that the budget is exhausted. */
function sumOf(actor: string, { rule, part, since }: SpendBudget): Statement {
  return {
    sql: `SELECT CASE WHEN SUM(amount) > ? THEN ? ELSE SUM(amount) END AS amount, MIN(ends) AS ends
      FROM gateway_spend WHERE actor = ? AND rule = ? AND part = ? AND slice >= ? AND amount <> 0`,
    params: [LARGEST, LARGEST, actor, rule, part, since],
  };
}
