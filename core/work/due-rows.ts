import type { SqlValue, Statement, StatementResult } from "../ports.ts";

/**
 * A table of work: each row is due at a time, is attempted, and is due again after a failure. The column `due` is a time of
 * the steady clock.
 */
export interface WorkTable {
  readonly table: string;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  /** The column that counts attempts. */
  readonly attempts: string;
  /** The condition that a row fulfils as long as it may be attempted. @default every row */
  readonly open?: string;
  /**
   * The time for which a claimed row is not due, in ms; longer than any attempt. 0 where the instance attempts its rows one
   * after another: after a crash it goes on at once.
   */
  readonly leaseMs: number;
}

export interface RowClaim {
  /** The values of the key's columns, in their order. */
  readonly key: readonly SqlValue[];
  /** The attempts that the row had when it was read. */
  readonly attempts: number;
}

/** The statements that move the rows of a {@link WorkTable} through their life. */
export interface DueRows {
  /**
   * Counts the attempt and leases the row. It belongs into a commit before the attempt: work that takes the process down
   * with it does not run for ever. It changes a row unless that was removed or claimed meanwhile, see {@link isClaimed}.
   */
  claim(claim: RowClaim, now: number): Statement;
  /** Makes the row due again at `due`, and sets other columns. */
  again(key: readonly SqlValue[], due: number, set?: Changes): Statement;
  /** Removes a row whose work is over, or sets these columns of a row that stays. */
  end(key: readonly SqlValue[], set?: Changes): Statement;
}

/** Columns and their new values. */
export type Changes = { readonly [column: string]: SqlValue };

/** Whether a claim found its row as it was read. */
export function isClaimed(result: StatementResult | undefined): boolean {
  return result?.changes === 1;
}

/** Makes the statements of a table; their texts are always the same, so that drivers find them prepared. */
export function dueRows({ attempts, key, leaseMs, open, table }: WorkTable): DueRows {
  const here = key.map((column) => `${column} = ?`).join(" AND ");
  const isOpen = open === undefined ? "" : ` AND ${open}`;
  const lease = leaseMs === 0 ? "" : ", due = ?";
  const claimed = `UPDATE ${table} SET ${attempts} = ?${lease} WHERE ${here} AND ${attempts} = ?${isOpen}`;
  const removed = `DELETE FROM ${table} WHERE ${here}`;
  const changed = (set: Changes, values: readonly SqlValue[]): Statement => ({
    sql: `UPDATE ${table} SET ${Object.keys(set)
      .map((column) => `${column} = ?`)
      .join(", ")} WHERE ${here}${isOpen}`,
    params: [...Object.values(set), ...values],
  });
  return {
    claim: ({ attempts: before, key: values }, now) => ({
      sql: claimed,
      params: [before + 1, ...(leaseMs === 0 ? [] : [now + leaseMs]), ...values, before],
    }),
    again: (values, due, set = {}) => changed({ due, ...set }, values),
    end: (values, set) =>
      set === undefined ? { sql: removed, params: [...values] } : changed(set, values),
  };
}
