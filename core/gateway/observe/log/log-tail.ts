import { newsOrTime } from "../../../time/news-or-time.ts";
import { ApiError, invalidRequest } from "../../../http/api-error.ts";
import type { ServerSentEvent } from "../../../http/sse.ts";
import type { Sql, SqlRow, System } from "../../../ports.ts";
import type { LogQuery } from "./log-filters.ts";
import { whereLogs } from "./log-sql.ts";
import { logView } from "./log-view.ts";

const PAGE = 50;
/** Numbers that one look passes over: a filter may find nothing among very many rows. */
const SPAN = 5000;
/** One wait for news; short, because a shutdown waits for it. */
const WAIT_MS = 5000;
/** Clients that may wait for news at the same time. */
const FOLLOWERS = 200;
/** Silent waits after which a comment is sent, so that proxies keep the connection: 15 s. */
const WAITS_PER_HEARTBEAT = 3;

export type TailPage = {
  readonly rows: SqlRow[];
  /** The position from which the next look goes on: a row's `seq`. */
  readonly position: number;
  /** Whether rows after the position were deleted before anybody looked. */
  readonly missed: boolean;
};

/** Follows a gateway's log in the order in which its rows are stored. */
export interface LogTail {
  /** Rows were committed. */
  stored(): void;
  /** Returns matching rows after `position` (-1 = from now on); waits up to `waitMs` for the first one. */
  next(position: number, query: LogQuery, waitMs: number): Promise<TailPage>;
}

export interface TailDeps {
  readonly actor: string;
  readonly sql: Sql;
  readonly system: System;
  /** The number (`seq`) of the row that was stored last. */
  readonly last: () => number;
}

/** Makes the tail of one gateway's log. It keeps nothing in memory: followers read the rows, from wherever they are. */
export function logTail(deps: TailDeps): LogTail {
  const { system } = deps;
  const waiters = new Set<() => void>();
  return {
    stored() {
      for (const wake of waiters) wake();
    },
    async next(position, query, waitMs) {
      // Listening starts before the look, so that nothing is stored in between.
      const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
      if (waiters.size >= FOLLOWERS) {
        throw new ApiError("rate_limited", {
          message: `At most ${FOLLOWERS} clients can follow one log at a time`,
        });
      }
      waiters.add(wake);
      try {
        const found = await look(position, query, deps);
        const moved = position >= 0 && found.position !== position;
        if (moved || waitMs === 0) return found;
        await newsOrTime(system, woken, waitMs);
        return await look(found.position, query, deps);
      } finally {
        waiters.delete(wake);
      }
    },
  };
}

async function look(position: number, query: LogQuery, deps: TailDeps): Promise<TailPage> {
  const { actor, sql } = deps;
  const last = deps.last();
  // A position that is not reached yet comes from a log that is gone.
  if (position < 0 || position >= last) return { rows: [], position: last, missed: false };
  const after = "actor = ? AND seq > ?";
  const [oldest] = await sql.all(
    "SELECT seq FROM gateway_logs WHERE actor = ? AND seq IS NOT NULL ORDER BY seq LIMIT 1",
    [actor],
  );
  const [nearest] = await sql.all(
    `SELECT seq FROM gateway_logs WHERE ${after} ORDER BY seq LIMIT 1`,
    [actor, position],
  );
  if (nearest === undefined) return { rows: [], position: last, missed: false };
  const start = Number(nearest["seq"]);
  const end = Math.min(last, start + SPAN);
  const where = whereLogs(actor, query);
  const rows = await sql.all(
    `SELECT * FROM gateway_logs WHERE ${where.sql} AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
    [...where.params, position, end, PAGE],
  );
  const lastRow = rows.length === PAGE ? rows.at(-1) : undefined;
  return {
    rows,
    position: lastRow === undefined ? end : Number(lastRow["seq"]),
    missed: start !== position + 1 && start === Number(oldest?.["seq"]),
  };
}

/**
 * Yields the rows that are stored after `from` (-1 = now), as server-sent events, until `signal` aborts. An event's id is
 * the position behind its row: a client that comes back with it goes on where it was.
 */
export async function* tailEvents(
  next: (position: number, waitMs: number) => Promise<TailPage>,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent | string> {
  let position = from < 0 ? (await next(-1, 0)).position : from;
  // An id from the beginning on: who loses the connection before the first row misses nothing either.
  yield { id: String(position), event: "following", data: "{}" };
  let silent = 0;
  for (;;) {
    // The look goes on without its follower, for at most WAIT_MS.
    const page = await unlessAborted(next(position, WAIT_MS), signal).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      return error;
    });
    if (page === null) return;
    if (page instanceof ApiError) {
      // Said, not only broken off: the client may come back with its position.
      yield { event: "error", data: JSON.stringify({ code: page.code, message: page.message }) };
      return;
    }
    if (page.missed) yield { event: "missed", data: "{}" };
    for (const row of page.rows)
      yield { id: String(row["seq"]), data: JSON.stringify(logView(row)) };
    silent = page.rows.length === 0 ? silent + 1 : 0;
    if (silent >= WAITS_PER_HEARTBEAT) {
      silent = 0;
      yield ": alive\n\n";
    }
    position = page.position;
  }
}

/** Returns the position that a `Last-Event-ID` names; -1 without one. Throws `invalid_request` for anything else. */
export function tailPosition(lastEventId: string | undefined): number {
  if (lastEventId === undefined || lastEventId === "") return -1;
  if (/^\d{1,15}$/.test(lastEventId)) return Number(lastEventId);
  throw invalidRequest(
    `Last-Event-ID: expected the id of an event of this stream, got "${lastEventId.slice(0, 32)}"`,
  );
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
