import type { ActorContext, SqlRow, Statement } from "../../ports.ts";
import { steadyNow } from "../../steady-now.ts";
import {
  describeLimit,
  type KeyLimit,
  type LimitSlice,
  type LimitType,
  sliceAt,
  unitsOf,
} from "./key-limit.ts";
import type { LimitUsage } from "./virtual-key.ts";

/** The table of what keys have used, in slices of time by limit. */
export const usageSchema: readonly string[] = [
  `CREATE TABLE gateway_key_usage (
    actor TEXT NOT NULL, key_id TEXT NOT NULL, rule TEXT NOT NULL, slice BIGINT NOT NULL,
    ends BIGINT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (actor, key_id, rule, slice))`,
  "CREATE INDEX gateway_key_usage_ends ON gateway_key_usage (actor, ends)",
];

/** Something to be counted, and what is set aside for it now, in units. */
export type KeyLedgerEntry = LimitSlice & {
  readonly limitType: LimitType;
  readonly reserved: number;
};

/** What a request is expected to use; what is null is not counted. */
export type KeyAmounts = { readonly [Type in LimitType]?: number | null | undefined };

/** Leave to go on, with what was set aside, or the limit that is used up. */
export type KeyDecision =
  | { readonly entries: readonly KeyLedgerEntry[] }
  | {
      readonly refused: string;
      /** Milliseconds until some of the limit is free again; null = never. */
      readonly wait: number | null;
    };

/** The largest sum that is read. */
const LARGEST = 9e15;

/** Counts what the keys of one account use. */
export interface KeyLedger {
  /**
   * Sets amounts aside, unless a limit is used up. Entering and reading are one transaction, and who finds a limit used up
   * takes its own entry back: requests that come together cannot all take the last of it.
   */
  reserve(id: string, limits: readonly KeyLimit[], amounts: KeyAmounts): Promise<KeyDecision>;
  /** Enters what was really used in place of what was set aside; an amount of null leaves that as it is. */
  settle(id: string, entries: readonly KeyLedgerEntry[], amounts: KeyAmounts): Promise<void>;
  usage(id: string, limits: readonly KeyLimit[]): Promise<LimitUsage[]>;
  /** The statement that forgets all that a key has used. */
  forget(id: string): Statement;
}

/** The ledger of one account's keys. */
export function keyLedger(context: ActorContext): KeyLedger {
  const { name: actor, sql, system } = context;
  const clock = steadyNow(system);
  return {
    reserve: (id, limits, amounts) =>
      reserve(context, id, countedAt(limits, amounts, clock()), clock),
    async settle(id, entries, amounts) {
      const changes = entries.flatMap((entry) => {
        const amount = amounts[entry.limitType];
        if (amount === undefined || amount === null) return [];
        const difference = unitsOf(entry.limitType, Math.max(0, amount)) - entry.reserved;
        return difference === 0 ? [] : [adding(actor, id, entry, difference)];
      });
      const late = {
        sql: "DELETE FROM gateway_key_usage WHERE actor = ? AND ends <= ?",
        params: [actor, clock()],
      };
      if (changes.length > 0) await sql.batch([...changes, late]);
    },
    async usage(id, limits) {
      if (limits.length === 0) return [];
      const now = clock();
      const sums = limits.map((limit) => sumOf(actor, id, sliceAt(limit, now)));
      const results = await sql.batch(sums);
      return limits.map((limit, index) => usageOf(limit, results[index]?.rows[0]));
    },
    forget: (id) => ({
      sql: "DELETE FROM gateway_key_usage WHERE actor = ? AND key_id = ?",
      params: [actor, id],
    }),
  };
}

/** A limit that counts a request, and what is set aside in it. */
interface Counted {
  readonly limit: KeyLimit;
  readonly entry: KeyLedgerEntry;
}

function countedAt(limits: readonly KeyLimit[], amounts: KeyAmounts, now: number): Counted[] {
  return limits.flatMap((limit) => {
    const { limitType } = limit;
    const amount = amounts[limitType];
    if (amount === undefined || amount === null) return [];
    const reserved = unitsOf(limitType, Math.max(0, amount));
    return [{ limit, entry: { ...sliceAt(limit, now), limitType, reserved } }];
  });
}

async function reserve(
  { name: actor, sql }: ActorContext,
  id: string,
  counted: readonly Counted[],
  clock: () => number,
): Promise<KeyDecision> {
  const entries = counted.map(({ entry }) => entry);
  if (entries.length === 0) return { entries };
  const results = await sql.batch([
    ...entries.map((entry) => adding(actor, id, entry, entry.reserved)),
    ...entries.map((entry) => sumOf(actor, id, entry)),
  ]);
  const sums = results.slice(entries.length).map(({ rows: [row] }) => row);
  const at = counted.findIndex(({ limit, entry }, index) => {
    const before = Number(sums[index]?.["amount"] ?? 0) - entry.reserved;
    return before >= unitsOf(limit.limitType, limit.limit);
  });
  const found = counted[at];
  if (found === undefined) return { entries };
  await sql.batch(entries.map((entry) => adding(actor, id, entry, -entry.reserved)));
  const first = Number(sums[at]?.["first"] ?? found.entry.ends);
  const wait = found.limit.window === null ? null : Math.max(1, first - clock());
  return { refused: describeLimit(found.limit), wait };
}

/** A sum beyond what a number can hold says no more than that the limit is used up. */
function sumOf(actor: string, id: string, { rule, since }: LimitSlice): Statement {
  return {
    sql: `SELECT CASE WHEN SUM(amount) > ? THEN ? ELSE SUM(amount) END AS amount,
      MIN(ends) AS first, MAX(ends) AS last
      FROM gateway_key_usage WHERE actor = ? AND key_id = ? AND rule = ? AND slice >= ? AND amount <> 0`,
    params: [LARGEST, LARGEST, actor, id, rule, since],
  };
}

function adding(
  actor: string,
  id: string,
  { rule, slice, ends }: LimitSlice,
  amount: number,
): Statement {
  // Taken back from what is there: a key that was deleted meanwhile leaves no credit behind.
  if (amount < 0)
    return {
      sql: `UPDATE gateway_key_usage SET amount = amount + ?
        WHERE actor = ? AND key_id = ? AND rule = ? AND slice = ?`,
      params: [amount, actor, id, rule, slice],
    };
  return {
    sql: `INSERT INTO gateway_key_usage (actor, key_id, rule, slice, ends, amount) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (actor, key_id, rule, slice)
      DO UPDATE SET amount = gateway_key_usage.amount + excluded.amount`,
    params: [actor, id, rule, slice, ends, amount],
  };
}

function usageOf({ limitType, limit, window }: KeyLimit, row: SqlRow | undefined): LimitUsage {
  const units = Number(row?.["amount"] ?? 0);
  const used = limitType === "cost" ? units / unitsOf("cost", 1) : units;
  const resetsAt = window === null || units === 0 ? null : Number(row?.["last"] ?? 0);
  return { limitType, window, limit, used, remaining: Math.max(0, limit - used), resetsAt };
}
