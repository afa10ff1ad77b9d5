import { clearTimeout, setTimeout } from "node:timers";
import type { Statement } from "../../core/ports.ts";
import { SqlError } from "../../core/sql/sql-error.ts";
import { clientOptions, type DatabaseAddress } from "./client-options.ts";
import type { Client, Driver, PendingQuery, QueryResult } from "./driver.ts";
import { checkCount, type StatementText } from "./statement-text.ts";
import { toParameter } from "./values.ts";

/** One connection. It is used until it breaks; then another one is opened. */
export interface DatabaseConnection {
  readonly isOpen: boolean;
  /**
   * Sends statements without waiting in between and resolves once all are answered. The first failure rejects: those behind
   * it have failed with it. A connection that is lost, or does not answer in time, rejects and is not open any more.
   */
  send(statements: readonly Statement[]): Promise<QueryResult[]>;
  /** Sends one statement; others may be under way. */
  query(statement: Statement): Promise<QueryResult>;
  /** Runs statements without parameters in one round trip. */
  run(sql: string): Promise<QueryResult>;
  close(): void;
}

export interface DatabaseConnectionOptions {
  readonly driver: Driver;
  readonly address: DatabaseAddress;
  readonly textOf: (sql: string) => StatementText;
  /** How long an answer to some hundred statements may take, in ms. */
  readonly answerMs: number;
}

/** Statements that are sent before their answers are awaited: sending more would block the event loop. */
const SLICE = 250;

/** A client of the driver with one connection: its own pools lose queries when a server refuses connections for a while. */
interface LoneClient {
  readonly isOpen: boolean;
  /** Awaits answers; closes the connection and rejects with `late` when they do not come in time. */
  answered<T>(work: Promise<T>, ms: number, late: (ms: number) => Error): Promise<T>;
  /** Sends a statement; throws `invalid` for values that it cannot take. */
  start(statement: Statement): Promise<QueryResult>;
  /** Sends statements without parameters. */
  startAll(sql: string): Promise<QueryResult>;
  close(): void;
}

function loneClient({ driver, address, textOf }: DatabaseConnectionOptions): LoneClient {
  const waiting = new Set<PendingQuery>();
  let isOpen = true;
  const client: Client = driver(
    address.url,
    clientOptions(address, () => {
      isOpen = false;
      // The driver would send them on its next connection, outside of their transaction.
      for (const query of waiting) query.cancel();
    }),
  );
  const close = (): void => {
    isOpen = false;
    void client.end({ timeout: 0 });
  };
  const watched = (query: PendingQuery): Promise<QueryResult> => {
    if (!isOpen) throw new Error("The connection is lost");
    waiting.add(query);
    const over = (): void => void waiting.delete(query);
    query.then(over, over);
    return query;
  };
  return {
    get isOpen() {
      return isOpen;
    },
    answered(work, ms, late) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          close();
          reject(late(ms));
        }, ms);
        work.then(resolve, reject).finally(() => {
          clearTimeout(timer);
        });
      });
    },
    start({ sql, params = [] }) {
      const { text, prepare, parameters } = textOf(sql);
      checkCount(parameters, params.length);
      return watched(client.unsafe(text, params.map(toParameter), { prepare }));
    },
    startAll: (sql) => watched(client.unsafe(sql)),
    close,
  };
}

/** The driver's own error of this kind: an address that does not answer is a database that cannot be reached. */
function notConnected(ms: number): Error {
  return Object.assign(new Error(`No connection within ${ms} ms`), { code: "CONNECT_TIMEOUT" });
}

function notAnswered(ms: number): Error {
  return new SqlError("busy", `The database did not answer within ${ms} ms`);
}

/** Opens a connection; rejects with the driver's error when that fails. */
export async function openDatabaseConnection(
  options: DatabaseConnectionOptions,
): Promise<DatabaseConnection> {
  const { address, answerMs } = options;
  const client = loneClient(options);
  try {
    await client.answered(client.startAll("SELECT 1"), address.connectMs, notConnected);
  } catch (error) {
    client.close();
    throw error;
  }

  async function sendSome(statements: readonly Statement[]): Promise<QueryResult[]> {
    const answers: Promise<QueryResult>[] = [];
    try {
      for (const statement of statements) answers.push(client.start(statement));
    } finally {
      // All of them: what is still answered must not meet the next transaction.
      await client.answered(Promise.allSettled(answers), answerMs, notAnswered);
    }
    return Promise.all(answers);
  }

  return {
    get isOpen() {
      return client.isOpen;
    },
    async send(statements) {
      const results: QueryResult[] = [];
      for (let at = 0; at < statements.length; at += SLICE)
        results.push(...(await sendSome(statements.slice(at, at + SLICE))));
      return results;
    },
    query: async (statement) => client.answered(client.start(statement), answerMs, notAnswered),
    run: async (sql) => client.answered(client.startAll(sql), answerMs, notAnswered),
    close: () => {
      client.close();
    },
  };
}
