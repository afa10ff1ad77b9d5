import type { ActorContext, Statement } from "../../../ports.ts";
import { formatUsd, fromParts } from "../../metering/cost/usd.ts";
import {
  type Claim,
  ledger,
  type LedgerClaim,
  type LedgerEntry,
} from "../../metering/spend/ledger.ts";
import { tooLittle } from "../../metering/spend/spend-ledger.ts";
import { describeLimit, type KeyLimit, type LimitType, sliceAt, unitsOf } from "./key-limit.ts";
import type { LimitUsage } from "./virtual-key.ts";

/** The table of what keys have used, in slices of time by limit. */
export const usageSchema: readonly string[] = [
  `CREATE TABLE gateway_key_usage (
    actor TEXT NOT NULL, key_id TEXT NOT NULL, rule TEXT NOT NULL, slice BIGINT NOT NULL,
    ends BIGINT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (actor, key_id, rule, slice))`,
  "CREATE INDEX gateway_key_usage_ends ON gateway_key_usage (actor, ends)",
];

/** What is set aside of a limit, in units. */
export type KeyLedgerEntry = LedgerEntry & { readonly limitType: LimitType };

/** What a request may use; what is null is not counted. */
export type KeyClaims = { readonly [Type in LimitType]?: Claim | null | undefined };

/** What a request has used; what is null stays as it was set aside. */
export type KeyAmounts = { readonly [Type in LimitType]?: number | null | undefined };

/** Leave to go on, with what was set aside, or the limit that is used up. */
export type KeyDecision =
  | { readonly entries: readonly KeyLedgerEntry[] }
  | {
      readonly refused: string;
      /** Milliseconds until some of the limit is free again; null = never. */
      readonly wait: number | null;
    };

/** Counts what the keys of one account use. */
export interface KeyLedger {
  /** Sets aside what a request may use, unless a limit has too little left for it. */
  reserve(id: string, limits: readonly KeyLimit[], claims: KeyClaims): Promise<KeyDecision>;
  /** Enters what was really used in place of what was set aside. */
  settle(entries: readonly KeyLedgerEntry[], amounts: KeyAmounts): Promise<void>;
  usage(id: string, limits: readonly KeyLimit[]): Promise<LimitUsage[]>;
  /** The statement that forgets all that a key has used. */
  forget(id: string): Statement;
}

/** The ledger of one account's keys. */
export function keyLedger(context: ActorContext): KeyLedger {
  const accounts = ledger(context, { table: "gateway_key_usage", owner: "key_id" });
  return {
    async reserve(id, limits, claims) {
      const counted = countedAt(id, limits, claims, accounts.now());
      const decision = await accounts.reserve(counted.map(({ claim }) => claim));
      if ("entries" in decision) {
        const types = counted.map(({ limit }) => limit.limitType);
        return {
          entries: decision.entries.map((entry, at) => ({
            ...entry,
            limitType: types[at] ?? "requests",
          })),
        };
      }
      const { refused, left, wait } = decision;
      const { limit, claim } = counted[refused] ?? {};
      if (limit === undefined || claim === undefined) return { entries: [] };
      const { limitType, window } = limit;
      const text = describeLimit(limit);
      const more =
        left === 0
          ? ""
          : `; ${tooLittle(amountOf(limitType, left), amountOf(limitType, claim.needed))}`;
      return { refused: text + more, wait: window === null ? null : wait };
    },
    settle: (entries, amounts) =>
      accounts.settle(
        entries.map((entry) => {
          const amount = amounts[entry.limitType] ?? null;
          const used = amount === null ? null : unitsOf(entry.limitType, Math.max(0, amount));
          return { entry, used };
        }),
      ),
    async usage(id, limits) {
      const now = accounts.now();
      const sums = await accounts.sums(
        limits.map((limit) => ({ owner: id, ...sliceAt(limit, now) })),
      );
      return limits.map((limit, at) => usageOf(limit, sums[at] ?? { used: 0, last: null }));
    },
    forget: (id) => ({
      sql: "DELETE FROM gateway_key_usage WHERE actor = ? AND key_id = ?",
      params: [context.name, id],
    }),
  };
}

/** A limit that counts a request, and what the request claims of it. */
interface Counted {
  readonly limit: KeyLimit;
  readonly claim: LedgerClaim;
}

function countedAt(
  id: string,
  limits: readonly KeyLimit[],
  claims: KeyClaims,
  now: number,
): Counted[] {
  return limits.flatMap((limit) => {
    const { limitType } = limit;
    const claim = claims[limitType];
    if (claim === undefined || claim === null) return [];
    const units = (amount: number): number => unitsOf(limitType, Math.max(0, amount));
    const { needed, guessed } = claim;
    const claimed = {
      ...sliceAt(limit, now),
      owner: id,
      limit: units(limit.limit),
      needed: units(needed),
      guessed: units(guessed),
    };
    return [{ limit, claim: claimed }];
  });
}

/** An amount of units, for people. */
function amountOf(limitType: LimitType, units: number): string {
  return limitType === "cost" ? `${formatUsd(fromParts(units))} USD` : `${units} ${limitType}`;
}

function usageOf(
  { limitType, limit, window }: KeyLimit,
  { used: units, last }: { readonly used: number; readonly last: number | null },
): LimitUsage {
  const used = limitType === "cost" ? fromParts(units) : units;
  const resetsAt = window === null ? null : last;
  return { limitType, window, limit, used, remaining: Math.max(0, limit - used), resetsAt };
}
