import type { ActorContext, SqlRow, Statement } from "../../../ports.ts";
import { steadyNow } from "../../../time/steady-now.ts";

/** Where one limit counts at a moment: in which slice of time, and since when entries count. Unix ms. */
export type LedgerSlice = {
  readonly rule: string;
  /** Whose part of the rule: a virtual key's id, or a partition. */
  readonly owner: string;
  readonly slice: number;
  readonly since: number;
  readonly ends: number;
};

/** What a request may use. */
export type Claim = {
  /** Has to fit into what is left, or the request is refused. */
  readonly needed: number;
  /** Set aside beside it, as far as that much is left. */
  readonly guessed: number;
};

/** A claim on one limit, in units: integers, so that a sum does not depend on its order. */
export type LedgerClaim = LedgerSlice & Claim & { readonly limit: number };

/** What is set aside in one limit, in units. */
export type LedgerEntry = LedgerSlice & { readonly reserved: number };

/** What was set aside, or the claim that did not fit. */
export type LedgerDecision =
  | { readonly entries: readonly LedgerEntry[] }
  | {
      /** Its place in the list. */
      readonly refused: number;
      /** Units that are left of its limit. */
      readonly left: number;
      /** Milliseconds until some of it is free again. */
      readonly wait: number;
    };

/** An entry, and what was really used; null leaves what was set aside. */
export type LedgerChange = { readonly entry: LedgerEntry; readonly used: number | null };

/** What is counted in one limit. */
export interface LedgerSum {
  readonly used: number;
  /** When the last of it stops to count, Unix ms; null for nothing. */
  readonly last: number | null;
}

/** Counts what is used of limits, in slices of time. */
export interface Ledger {
  /**
   * Sets claims aside, all or none. Reading and entering are one statement: requests that come together cannot all take
   * the last of a limit, and one that does not fit is never in another's way.
   */
  reserve(claims: readonly LedgerClaim[]): Promise<LedgerDecision>;
  /** Enters what was used in place of what was set aside. */
  settle(changes: readonly LedgerChange[]): Promise<void>;
  sums(slices: readonly LedgerSlice[]): Promise<LedgerSum[]>;
  /** Steady: it never goes back. Unix ms. */
  now(): number;
}

/** The table of a ledger, and its column of owners. */
export type LedgerTable =
  | { readonly table: "gateway_spend"; readonly owner: "part" }
  | { readonly table: "gateway_key_usage"; readonly owner: "key_id" };

/** The largest sum that is read. A larger one says no more than that the limit is used up. */
const LARGEST = 9e15;

/** The ledger of an actor. */
export function ledger({ name: actor, sql, system }: ActorContext, table: LedgerTable): Ledger {
  const now = steadyNow(system);
  const sumsOf = (slices: readonly LedgerSlice[]): Statement[] =>
    slices.map((slice) => sumOf(actor, slice, table));
  return {
    now,
    async reserve(claims) {
      if (claims.length === 0) return { entries: [] };
      const results = await sql.batch([...sumsOf(claims), entering(actor, claims, table)]);
      const sums = results.slice(0, -1).map(({ rows: [row] }) => row);
      const used = sums.map((row) => Number(row?.["amount"] ?? 0));
      const refused = claims.findIndex((claim, at) => !fits(claim, used[at] ?? 0));
      const claim = claims[refused];
      if (claim !== undefined) {
        const left = Math.max(0, claim.limit - (used[refused] ?? 0));
        const first = Number(sums[refused]?.["first"] ?? claim.ends);
        return { refused, left, wait: Math.max(1, first - now()) };
      }
      return { entries: claims.map((one, at) => entryOf(one, used[at] ?? 0)) };
    },
    async settle(changes) {
      const statements = changes.flatMap(({ entry, used }) => {
        const difference = used === null ? 0 : used - entry.reserved;
        return difference === 0 ? [] : [adding(actor, entry, difference, table)];
      });
      const late = {
        sql: `DELETE FROM ${table.table} WHERE actor = ? AND ends <= ?`,
        params: [actor, now()],
      };
      if (statements.length > 0) await sql.batch([...statements, late]);
    },
    async sums(slices) {
      if (slices.length === 0) return [];
      const results = await sql.batch(sumsOf(slices));
      return results.map(({ rows: [row] }) => summed(row));
    },
  };
}

function summed(row: SqlRow | undefined): LedgerSum {
  const used = Number(row?.["amount"] ?? 0);
  return { used, last: used === 0 ? null : Number(row?.["last"] ?? 0) };
}

/** The same as {@link entering} asks, of the same moment. */
function fits({ limit, needed }: LedgerClaim, used: number): boolean {
  return used < limit && used + needed <= limit;
}

function entryOf({ limit, needed, guessed, ...slice }: LedgerClaim, used: number): LedgerEntry {
  return { ...slice, reserved: Math.min(needed + guessed, limit - used) };
}

function sumOf(
  actor: string,
  { rule, owner, since }: LedgerSlice,
  { table, owner: column }: LedgerTable,
): Statement {
  return {
    sql: `SELECT CASE WHEN SUM(amount) > ? THEN ? ELSE SUM(amount) END AS amount,
      MIN(ends) AS first, MAX(ends) AS last
      FROM ${table} WHERE actor = ? AND ${column} = ? AND rule = ? AND slice >= ? AND amount <> 0`,
    params: [LARGEST, LARGEST, actor, owner, rule, since],
  };
}

/** Enters all claims if all of them fit, else none. */
function entering(
  actor: string,
  claims: readonly LedgerClaim[],
  { table, owner }: LedgerTable,
): Statement {
  const row =
    "(CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))";
  return {
    sql: `INSERT INTO ${table} (actor, ${owner}, rule, slice, ends, amount)
      WITH claimed (owner, rule, slice, since, ends, height, needed, wanted) AS (VALUES ${claims.map(() => row).join(", ")}),
      counted AS (SELECT claimed.*, COALESCE((SELECT SUM(amount) FROM ${table} WHERE ${table}.actor = ?
        AND ${table}.${owner} = claimed.owner AND ${table}.rule = claimed.rule
        AND ${table}.slice >= claimed.since), 0) AS used FROM claimed)
      SELECT CAST(? AS TEXT), owner, rule, slice, ends, CASE WHEN used + wanted > height THEN height - used ELSE wanted END
      FROM counted WHERE NOT EXISTS (SELECT 1 FROM counted WHERE used >= height OR used + needed > height)
      ON CONFLICT (actor, ${owner}, rule, slice) DO UPDATE SET amount = ${table}.amount + excluded.amount`,
    params: [
      ...claims.flatMap(({ owner: whose, rule, slice, since, ends, limit, needed, guessed }) => [
        whose,
        rule,
        slice,
        since,
        ends,
        limit,
        needed,
        needed + guessed,
      ]),
      actor,
      actor,
    ],
  };
}

function adding(
  actor: string,
  { rule, owner, slice, ends }: LedgerSlice,
  amount: number,
  { table, owner: column }: LedgerTable,
): Statement {
  // Taken back from what is there: what was deleted meanwhile leaves no credit to the next of its name.
  if (amount < 0)
    return {
      sql: `UPDATE ${table} SET amount = amount + ?
        WHERE actor = ? AND ${column} = ? AND rule = ? AND slice = ?`,
      params: [amount, actor, owner, rule, slice],
    };
  return {
    sql: `INSERT INTO ${table} (actor, ${column}, rule, slice, ends, amount) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (actor, ${column}, rule, slice)
      DO UPDATE SET amount = ${table}.amount + excluded.amount`,
    params: [actor, owner, rule, slice, ends, amount],
  };
}
