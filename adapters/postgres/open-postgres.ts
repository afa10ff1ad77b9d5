import type { Log, QueryOptions, Sql } from "../../core/ports.ts";
import type { DatabaseAddress } from "./client-options.ts";
import { prepareDatabase } from "./prepare-database.ts";
import { loadDriver } from "./driver.ts";
import { reachability } from "./reachability.ts";
import { queryPool } from "./query-pool.ts";
import { databaseSession, type RunSession } from "./session.ts";
import { statementTexts } from "./statement-text.ts";
import { openDatabaseConnection } from "./database-connection.ts";
import type { Fence } from "./transaction.ts";
import { writeQueue } from "./write-queue.ts";

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  readonly log: Log;
  /** Connections for queries; long ones have two more, and writes four. @default 6 */
  readonly readConnections?: number | undefined;
  /** How long work waits for a database that went away, in ms. @default 5000 */
  readonly waitMs?: number | undefined;
  /** How long connecting may take, in ms. @default 5000 */
  readonly connectMs?: number | undefined;
  /** How long an answer may take, in ms. @default 30000 */
  readonly answerMs?: number | undefined;
  /** Batches, and queries, that may wait. @default 10000 */
  readonly queueSize?: number | undefined;
}

/** A PostgreSQL database, shared by all actors of a process. */
export interface PostgresDatabase {
  /**
   * Returns the database as one owner of rows sees it. Its batches are committed in their order; those of other owners may
   * overtake them. With a fence each of them is committed only while the fence holds, and rejects with `fenced` otherwise.
   */
  sqlOf(owner: string, fence?: Fence): Sql;
  /** Runs work in a transaction of its own connection, one statement after the other. */
  session: RunSession;
  /** Why the database cannot be used at present; null while it can. */
  failure(): string | null;
  close(): Promise<void>;
}

/** Connections for writes. */
const WRITERS = 4;
const LONG_CONNECTIONS = 2;
/** Short queries that one connection has under way. */
const PIPELINE = 32;

/**
 * Connects to a database, and checks that it can be used. Rejects with a one-line error that says what to do, and never
 * names the password.
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresDatabase> {
  const { url, log, answerMs = 30_000, connectMs = 5000, waitMs = 5000 } = options;
  const { queueSize: limit = 10_000 } = options;
  const driver = await loadDriver();
  const address: DatabaseAddress = { url, connectMs };
  const textOf = statementTexts();
  const open = () => openDatabaseConnection({ driver, address, textOf, answerMs });
  const session = databaseSession(open);
  await prepareDatabase(url, session);
  const reach = reachability({ log, waitMs, probe: () => base.batch([PROBE]) });
  const quick = queryPool({
    open,
    connections: options.readConnections ?? 6,
    pipeline: PIPELINE,
    limit,
    reach,
  });
  const long = queryPool({ open, connections: LONG_CONNECTIONS, pipeline: 1, limit, reach });
  const writes = writeQueue({ open, connections: WRITERS, reach, limit });

  const sqlOf = (owner: string, fence?: Fence): Sql => {
    return {
      dialect: "postgres",
      failure: () => reach.failure(),
      all: (sql, params = [], how: QueryOptions = {}) =>
        (how.long === undefined ? quick : long).all({ sql, params }),
      batch: async (statements) =>
        statements.length === 0 ? [] : writes.add(owner, statements, fence),
      close: () => Promise.resolve(),
    };
  };
  const base = sqlOf("");
  return {
    sqlOf,
    session,
    failure: () => reach.failure(),
    async close() {
      await writes.close();
      reach.stop();
      await Promise.all([quick.close(), long.close()]);
    },
  };
}

const PROBE = { sql: "UPDATE causey_clock SET wall = wall WHERE id = 1" };
