import { setTimeout } from "node:timers";
import type { SqlRow, Statement } from "../../core/ports.ts";
import { SqlError } from "../../core/sql/sql-error.ts";
import type { DatabaseConnection } from "./database-connection.ts";
import { rowsOf } from "./driver.ts";
import { isUnreachable, sqlErrorOf } from "./postgres-error.ts";
import type { Reachability } from "./reachability.ts";

/** Connections for queries. */
export interface QueryPool {
  all(query: Statement): Promise<SqlRow[]>;
  /** Lets what runs end, and closes the connections. */
  close(): Promise<void>;
}

export interface QueryPoolOptions {
  readonly open: () => Promise<DatabaseConnection>;
  readonly connections: number;
  /** Queries that one connection may have under way: they are answered one after the other. */
  readonly pipeline: number;
  /** Queries that may run and wait. */
  readonly limit: number;
  readonly reach: Pick<Reachability, "mayWait" | "note">;
}

/** A place for one connection, which is opened when it is first needed, and again when it was lost. */
interface Place {
  connection: Promise<DatabaseConnection> | undefined;
  running: number;
}

const PAUSE_MS = 100;
/** Statements that may run twice: they only read. */
const READS = /^\s*(?:SELECT|WITH)\b/iu;

/** Connections that are opened when they are first needed, and again when they were lost. */
interface Places {
  /** Runs a query on the connection with the fewest; waits where each has as many as it may. */
  run(query: Statement): Promise<SqlRow[]>;
  close(): Promise<void>;
}

function placesOf({ open, connections, pipeline }: QueryPoolOptions): Places {
  const places = Array.from({ length: connections }, () => newPlace());
  const waiting: (() => void)[] = [];

  /** Counts a query at the connection with the fewest. */
  async function take(): Promise<Place> {
    for (;;) {
      const [first = newPlace(), ...others] = places;
      const place = others.reduce((a, b) => (b.running < a.running ? b : a), first);
      if (place.running < pipeline) {
        // Counted at once: the next query of this turn takes another connection.
        place.running += 1;
        return place;
      }
      await new Promise<void>((resolve) => void waiting.push(resolve));
    }
  }

  async function connectionOf(place: Place): Promise<DatabaseConnection> {
    const present = await place.connection;
    if (present?.isOpen === true) return present;
    // Another query may have opened it meanwhile.
    if (place.connection === undefined || (await place.connection) === present)
      place.connection = open().catch((error: unknown) => {
        place.connection = undefined;
        throw error;
      });
    return place.connection;
  }

  return {
    async run(query) {
      const place = await take();
      try {
        const connection = await connectionOf(place);
        return rowsOf(await connection.query(query));
      } finally {
        place.running -= 1;
        waiting.shift()?.();
      }
    },
    async close() {
      const opened = await Promise.allSettled(places.map(async ({ connection }) => connection));
      for (const one of opened) if (one.status === "fulfilled") one.value?.close();
    },
  };
}

function newPlace(): Place {
  return { connection: undefined, running: 0 };
}

export function queryPool(options: QueryPoolOptions): QueryPool {
  const { limit, reach } = options;
  const places = placesOf(options);
  const running = new Set<Promise<unknown>>();

  async function settled(query: Statement): Promise<SqlRow[]> {
    for (;;) {
      try {
        return await places.run(query);
      } catch (error) {
        reach.note(error);
        const isReported = isUnreachable(error);
        if (!isReported || !READS.test(query.sql) || !reach.mayWait())
          throw Object.assign(sqlErrorOf(error, query.sql), { isReported });
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
  }

  return {
    async all(query) {
      if (running.size >= limit)
        throw new SqlError("busy", `${limit} queries wait for the database already`);
      const work = settled(query);
      running.add(work);
      try {
        return await work;
      } finally {
        running.delete(work);
      }
    },
    async close() {
      await Promise.allSettled(running);
      await places.close();
    },
  };
}
