import type { Statement, StatementResult } from "../../core/ports.ts";
import { SqlError } from "../../core/sql/sql-error.ts";
import { eachAlone, joinStatements, resultsOf } from "./joined-statements.ts";
import { isUnreachable } from "./postgres-error.ts";
import type { DatabaseConnection } from "./database-connection.ts";
import { UNKNOWN_STEPS } from "./schema.ts";

/** A condition for the writes of a process to count: that it has a lease, or that it knows the tables. */
export type Fence = Lease | { readonly knownBy: string };

/** A slot, and the epoch in which a process has it. */
interface Lease {
  readonly slot: number;
  readonly epoch: number;
}

/** A batch, and who is told of its end. */
export interface Waiting {
  /** Whose rows it writes. */
  readonly owner: string;
  readonly batch: readonly Statement[];
  readonly fence: Fence | undefined;
  attempts: number;
  resolve(results: StatementResult[]): void;
  reject(error: SqlError): void;
}

/**
 * Counts the leases that hold, and locks their rows. The server undoes what a process does not finish: one that stands still
 * must not hold locks that others wait for. They are settings of the transaction, as a pooler passes the session on.
 */
const CHECK = `SELECT set_config('lock_timeout', '10000', true), set_config('statement_timeout', '30000', true),
  set_config('idle_in_transaction_session_timeout', '10000', true),
  (SELECT COUNT(*) FROM (SELECT mine.slot FROM causey_slots AS mine
    JOIN unnest(CAST(STRING_TO_ARRAY(?, ' ') AS INTEGER[]), CAST(STRING_TO_ARRAY(?, ' ') AS BIGINT[])) AS one (slot, epoch)
    ON mine.slot = one.slot AND mine.epoch = one.epoch ORDER BY mine.slot FOR SHARE OF mine) AS held) AS held`;

/** The end of a transaction that a statement failed. */
export interface FailedCommit {
  readonly type: "failed";
  readonly error: unknown;
  /** Several statements were made one, and may succeed each for itself. */
  readonly isJoined: boolean;
}

/** The end of a group's transaction. */
export type CommitOutcome =
  | { readonly type: "committed" }
  | FailedCommit
  /** `lost`: the connection is gone, and nothing committed. `unknown`: it is gone, and that may be. */
  | { readonly type: "lost" | "unknown"; readonly error: unknown };

/**
 * Makes the group's batches one transaction. COMMIT goes out only when all of its statements are answered: until then a lost
 * connection has undone everything, and what the driver repeats by itself falls into the failed transaction.
 */
export async function commitTogether(
  connection: DatabaseConnection,
  group: readonly Waiting[],
): Promise<CommitOutcome> {
  const all = group.flatMap(({ batch }) => batch);
  const isFirst = group.every(({ attempts }) => attempts === 0);
  const leases = leasesOf(group);
  let isJoined = false;
  try {
    const statements = isFirst ? joinStatements(all) : eachAlone(all);
    isJoined = statements.length < all.length;
    const knowing = nodesOf(group).map((node) => ({ sql: UNKNOWN_STEPS, params: [node] }));
    const [, check, ...rows] = await connection.send([
      { sql: "BEGIN" },
      checking(leases),
      ...knowing,
      ...statements,
    ]);
    if (check?.[0]?.["held"] !== leases.length)
      throw new SqlError("fenced", "This process does not own what it writes any more");
    const unknown = rows.splice(0, knowing.length);
    if (unknown.some(({ length }) => length > 0))
      throw new SqlError("fenced", "The tables are for another version of this server");
    return await commit(connection, group, resultsOf(statements, rows));
  } catch (error) {
    if (isUnreachable(error)) {
      connection.close();
      return { type: "lost", error };
    }
    await connection.run("ROLLBACK").catch(() => {
      connection.close();
    });
    return { type: "failed", error, isJoined };
  }
}

/** One check serves all batches of a lease. */
function leasesOf(group: readonly Waiting[]): readonly Lease[] {
  const leases = new Map<string, Lease>();
  for (const { fence } of group)
    if (fence !== undefined && "slot" in fence) leases.set(`${fence.slot} ${fence.epoch}`, fence);
  return [...leases.values()];
}

/** The nodes that have to know the tables. */
function nodesOf(group: readonly Waiting[]): readonly string[] {
  const fences = group.map(({ fence }) => fence);
  return [...new Set(fences.flatMap((one) => (one && "knownBy" in one ? one.knownBy : [])))];
}

function checking(leases: readonly Lease[]): Statement {
  const slots = leases.map(({ slot }) => slot).join(" ");
  return { sql: CHECK, params: [slots, leases.map(({ epoch }) => epoch).join(" ")] };
}

async function commit(
  connection: DatabaseConnection,
  group: readonly Waiting[],
  results: readonly StatementResult[],
): Promise<CommitOutcome> {
  try {
    await connection.run("COMMIT");
  } catch (error) {
    if (connection.isOpen && !isUnreachable(error)) throw error;
    connection.close();
    return { type: "unknown", error };
  }
  let at = 0;
  for (const one of group) {
    const { length } = one.batch;
    one.resolve(results.slice(at, at + length));
    at += length;
  }
  return { type: "committed" };
}
