import { ApiError } from "../http/api-error.ts";
import type { ServerSentEvent } from "../http/sse.ts";
import type { Sql, SqlRow, System } from "../ports.ts";
import type { LogQuery } from "./log-filters.ts";
import { whereLogs } from "./log-sql.ts";
import { logView } from "./log-view.ts";

/** Ids that are kept for followers who are behind: about 300 kB. */
const KEPT = 10_000;
/** Rows of one page. Durable Object storage binds at most 100 values, of which filters may take 90. */
const PAGE = 10;
/** One wait for news; short, because a shutdown waits for it. */
const WAIT_MS = 5000;
/** Nothing is kept for followers when nobody has looked for this long, in ms. */
const FOLLOWED_MS = 60_000;
/** Clients that may wait for news at the same time. */
const FOLLOWERS = 200;
/** Silent waits after which a comment is sent, so that proxies keep the connection: 15 s. */
const WAITS_PER_HEARTBEAT = 3;

/** What one look at the tail found. */
export type TailPage = {
  readonly rows: SqlRow[];
  /** Where the next look goes on. */
  readonly position: number;
  /** Rows that came and went, or were stored in another life of the actor, since the last look. */
  readonly missed: number;
};

/** Follows what is stored in a gateway's log, in the order in which it is stored. */
export interface LogTail {
  /** Rows were committed. */
  stored(ids: readonly string[]): void;
  /** Rows after `position` (-1 = from now on) that fit; when there are none, waits up to `waitMs`. */
  next(position: number, query: LogQuery, waitMs: number): Promise<TailPage>;
}

/** The tail of one gateway's log. Only ids are kept in memory; followers read the rows. */
export function logTail(actor: string, sql: Sql, system: System): LogTail {
  let ids: string[] = [];
  // The position of ids[0]: rows are numbered in the order in which they were stored.
  let first = 0;
  const waiters = new Set<() => void>();
  let lastLook = Number.NEGATIVE_INFINITY;

  async function read(position: number, query: LogQuery): Promise<TailPage> {
    const end = first + ids.length;
    if (position < 0 || position > end) return { rows: [], position: end, missed: 0 };
    const from = Math.max(position, first);
    const wanted = ids.slice(from - first, from - first + PAGE);
    const next = from + wanted.length;
    if (wanted.length === 0) return { rows: [], position: next, missed: from - position };
    const where = whereLogs(actor, query);
    const list = wanted.map(() => "?").join(", ");
    const rows = await sql.all(
      `SELECT * FROM gateway_logs WHERE ${where.sql} AND id IN (${list}) ORDER BY id`,
      [...where.params, ...wanted],
    );
    return { rows, position: next, missed: from - position };
  }

  return {
    stored(added) {
      if (waiters.size === 0 && system.now() - lastLook > FOLLOWED_MS) {
        first += ids.length + added.length;
        ids = [];
        return;
      }
      ids.push(...added);
      if (ids.length > 2 * KEPT) {
        first += ids.length - KEPT;
        ids = ids.slice(-KEPT);
      }
      for (const wake of waiters) wake();
    },
    async next(position, query, waitMs) {
      // Listening starts before the look, so that nothing is stored in between.
      const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
      if (waiters.size >= FOLLOWERS) {
        throw new ApiError("rate_limited", {
          message: `At most ${FOLLOWERS} clients follow one log`,
        });
      }
      waiters.add(wake);
      lastLook = system.now();
      const done = new AbortController();
      try {
        const found = await read(position, query);
        const moved = position >= 0 && found.position !== position;
        if (moved || waitMs === 0) return found;
        const { closing } = system;
        const over = closing === undefined ? done.signal : AbortSignal.any([done.signal, closing]);
        await Promise.race([woken, system.sleep(waitMs, over).catch(() => undefined)]);
        return await read(found.position, query);
      } finally {
        waiters.delete(wake);
        done.abort();
      }
    },
  };
}

/** The rows that are stored from now on, as server-sent events, until `signal` aborts. */
export async function* tailEvents(
  next: (position: number, waitMs: number) => Promise<TailPage>,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent | string> {
  let { position } = await next(-1, 0);
  yield ": following\n\n";
  let silent = 0;
  for (;;) {
    // The look goes on without its follower, for at most WAIT_MS.
    const page = await unlessAborted(next(position, WAIT_MS), signal);
    if (page === null) return;
    if (page.missed > 0) yield { event: "missed", data: JSON.stringify({ rows: page.missed }) };
    for (const row of page.rows)
      yield { id: String(row["id"]), data: JSON.stringify(logView(row)) };
    silent = page.rows.length === 0 ? silent + 1 : 0;
    if (silent >= WAITS_PER_HEARTBEAT) {
      silent = 0;
      yield ": alive\n\n";
    }
    position = page.position;
  }
}

/** Resolves to null as soon as the signal aborts. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve(null);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
