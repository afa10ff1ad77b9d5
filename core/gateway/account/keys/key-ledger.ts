import type { ActorContext, Statement } from "../../../ports.ts";
import {
  type Amounts,
  type Budget,
  type Claims,
  ledger,
  type LedgerEntry,
  type Limit,
  type Reservation,
} from "../../metering/spend/ledger.ts";
import { describeLimit, ruleOf } from "./key-limit.ts";
import type { LimitUsage } from "./virtual-key.ts";

/** The table of what keys have used, in slices of time by limit. */
export const usageSchema: readonly string[] = [
  `CREATE TABLE gateway_key_usage (
    actor TEXT NOT NULL, key_id TEXT NOT NULL, rule TEXT NOT NULL, slice BIGINT NOT NULL,
    ends BIGINT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (actor, key_id, rule, slice))`,
  "CREATE INDEX gateway_key_usage_ends ON gateway_key_usage (actor, ends)",
];

/** Counts what the keys of one account use. */
export interface KeyLedger {
  /** Sets aside what a request may use, unless a limit has too little left for it. */
  reserve(id: string, limits: readonly Limit[], claims: Claims): Promise<Reservation>;
  /** Enters what was really used in place of what was set aside. */
  settle(entries: readonly LedgerEntry[], amounts: Amounts): Promise<void>;
  usage(id: string, limits: readonly Limit[]): Promise<LimitUsage[]>;
  /** Forgets what a key has used; the statement does the same to its rows. */
  forget(id: string): Statement;
}

/** The ledger of one account's keys. */
export function keyLedger(context: ActorContext): KeyLedger {
  const accounts = ledger(context, { table: "gateway_key_usage", scope: "key_id" });
  const budgets = (scope: string, limits: readonly Limit[]): Budget[] =>
    limits.map((limit) => ({ ...limit, scope, rule: ruleOf(limit), text: describeLimit(limit) }));
  return {
    reserve: (id, limits, claims) => accounts.reserve(budgets(id, limits), claims),
    settle: accounts.settle,
    async usage(id, limits) {
      const sums = await accounts.sums(budgets(id, limits));
      return limits.map(({ limitType, limit, window }, at) => {
        const { used, last } = sums[at] ?? { used: 0, last: null };
        const remaining = Math.max(0, limit - used);
        return { limitType, window, limit, used, remaining, resetsAt: window && last };
      });
    },
    forget: accounts.forget,
  };
}
