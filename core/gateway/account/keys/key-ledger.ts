import type { ActorContext } from "../../../ports.ts";
import { type Ledger, ledger } from "../../metering/ledger/ledger.ts";
import { budgetsOf, type KeyLimit } from "./key-limit.ts";
import type { LimitUsage } from "./virtual-key.ts";

/** The table of what keys and teams have used, in slices of time by limit. The scope of a team is `team:{id}`. */
export const usageSchema: readonly string[] = [
  `CREATE TABLE gateway_key_usage (
    actor TEXT NOT NULL, key_id TEXT NOT NULL, rule TEXT NOT NULL, slice BIGINT NOT NULL,
    ends BIGINT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (actor, key_id, rule, slice))`,
  "CREATE INDEX gateway_key_usage_ends ON gateway_key_usage (actor, ends)",
];

/** Counts what the keys and teams of one account use. */
export interface KeyLedger extends Pick<Ledger, "reserve" | "settle" | "forget"> {
  usage(scope: string, limits: readonly KeyLimit[]): Promise<LimitUsage[]>;
}

export function keyLedger(context: ActorContext): KeyLedger {
  const accounts = ledger(context, { table: "gateway_key_usage", scope: "key_id", alerts: true });
  return {
    reserve: accounts.reserve,
    settle: accounts.settle,
    async usage(scope, limits) {
      const sums = await accounts.sums(budgetsOf(scope, "", limits));
      return limits.map((limit, at) => {
        const { used, last } = sums[at] ?? { used: 0, last: null };
        const remaining = Math.max(0, limit.limit - used);
        return { ...limit, used, remaining, resetsAt: limit.window && last };
      });
    },
    forget: accounts.forget,
  };
}
