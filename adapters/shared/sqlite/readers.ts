import { availableParallelism } from "node:os";
import { clearTimeout, setTimeout } from "node:timers";
import type { Log, SqlRow, SqlValue } from "../../../core/ports.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import { type ReaderQuery, type Reader, startReader } from "./reader.ts";
import type { Readers } from "./sqlite.ts";

/** Options of {@link openReaders}. */
export interface ReaderOptions {
  /** Connections at a time; further queries wait. @default one less than the machine has cores, 1 to 4 */
  readonly most?: number | undefined;
  /** Queries that may wait; further ones are refused as `busy`. @default 1000 */
  readonly waiting?: number | undefined;
  /** How long an idle connection stays, in ms. @default 30000 */
  readonly idleMs?: number | undefined;
  /**
   * How long a query may wait and run, in ms; then it is refused as `busy`. Its thread is free when SQLite is, which
   * cannot be interrupted. @default 30000
   */
  readonly deadlineMs?: number | undefined;
  readonly log: Log;
}

/** How long the end of the queries that run is waited for at the end, in ms. */
const END_MS = 5000;

/** Opens readers of a database file in WAL mode: they see what is committed. */
export function openReaders(path: string, options: ReaderOptions): Readers {
  const { deadlineMs = 30_000, waiting = 1000 } = options;
  const queue = queryQueue();
  const pool = readerPool(path, queue, options);
  let isClosed = false;

  function queued(
    owner: string,
    sql: string,
    params: readonly SqlValue[],
  ): Promise<SqlRow[] | null> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        queue.drop(owner, query);
        reject(new SqlError("busy", `The query took more than ${deadlineMs} ms`));
      }, deadlineMs);
      const query: ReaderQuery = {
        sql,
        params,
        resolve(rows) {
          clearTimeout(late);
          resolve(rows);
        },
        reject(error) {
          clearTimeout(late);
          reject(error);
        },
      };
      queue.add(owner, query);
      pool.wake();
    });
  }

  return {
    async all(owner, sql, params = []) {
      if (isClosed) throw new SqlError("invalid", "The database is closed");
      if (pool.isBroken()) return null;
      if (queue.size() >= waiting) throw new SqlError("busy", `${waiting} queries wait already`);
      return queued(owner, sql, params);
    },
    async close() {
      isClosed = true;
      for (let query = queue.take(); query !== null; query = queue.take())
        query.reject(new SqlError("invalid", "The database is closed"));
      await pool.close();
    },
  };
}

interface ReaderPool {
  /** Whether no thread can be started here. */
  isBroken(): boolean;
  /** Gives the next query to a free thread, or to a new one. */
  wake(): void;
  close(): Promise<void>;
}

function readerPool(
  path: string,
  { size, take }: QueryQueue,
  { idleMs = 30_000, log, most = usualCount() }: ReaderOptions,
): ReaderPool {
  const readers = new Set<Reader>();
  let isClosing = false;
  let isBroken = false;

  /** Some hosts forbid threads; bundles may lack the thread's file. */
  function failed(error: unknown): void {
    if (!isBroken)
      log("warn", "Long queries run on the event loop: no thread could be started", {
        error: String(error).slice(0, 200),
      });
    isBroken = true;
    for (let query = take(); query !== null; query = take()) query.resolve(null);
  }
  function free(reader: Reader): void {
    const query = take();
    if (query !== null) reader.run(query);
    else if (isClosing) reader.end();
    else reader.rest(idleMs);
  }
  function start(): void {
    try {
      const reader = startReader(path, { free, failed });
      readers.add(reader);
      void reader.ended.then(() => {
        readers.delete(reader);
        // Queries may have come while it ended.
        if (size() > 0 && !isBroken) wake();
      });
    } catch (error) {
      failed(error);
    }
  }
  function wake(): void {
    const resting = [...readers].find((reader) => reader.isFree());
    if (resting !== undefined) free(resting);
    else if (readers.size < most) start();
  }
  return {
    isBroken: () => isBroken,
    wake,
    async close() {
      isClosing = true;
      for (const reader of readers) if (reader.isFree()) reader.end();
      const late = new Promise((resolve) => setTimeout(resolve, END_MS).unref());
      await Promise.race([late, Promise.all([...readers].map(({ ended }) => ended))]);
    },
  };
}

function usualCount(): number {
  return Math.min(4, Math.max(1, availableParallelism() - 1));
}

/**
 * Waiting queries, by owner. An owner that was served goes to the end, so that many queries of one do not hold up another.
 */
interface QueryQueue {
  readonly size: () => number;
  add(owner: string, query: ReaderQuery): void;
  /** Removes a query whose caller has stopped waiting. */
  drop(owner: string, query: ReaderQuery): void;
  readonly take: () => ReaderQuery | null;
}

function queryQueue(): QueryQueue {
  const waiting = new Map<string, ReaderQuery[]>();
  let size = 0;
  return {
    size: () => size,
    add(owner, query) {
      size += 1;
      const own = waiting.get(owner);
      if (own === undefined) waiting.set(owner, [query]);
      else own.push(query);
    },
    drop(owner, query) {
      const own = waiting.get(owner) ?? [];
      const place = own.indexOf(query);
      if (place === -1) return;
      own.splice(place, 1);
      if (own.length === 0) waiting.delete(owner);
      size -= 1;
    },
    take() {
      for (const [owner, [query, ...rest]] of waiting) {
        waiting.delete(owner);
        if (query === undefined) continue;
        if (rest.length > 0) waiting.set(owner, rest);
        size -= 1;
        return query;
      }
      return null;
    },
  };
}
