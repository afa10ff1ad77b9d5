import { type ActorClient, actorClient } from "../../../actors/actor-client.ts";
import { ApiError } from "../../../http/api-error.ts";
import type { Actor, ActorContext, ActorKind, Actors, SqlRow, Statement } from "../../../ports.ts";
import { crawlListTables } from "./crawl-tables.ts";

/** One crawl, as the list of its account knows it. */
export type ListedCrawl = {
  readonly id: string;
  readonly url: string;
  readonly status: string;
  readonly total: number;
  readonly finished: number;
  readonly skipped: number;
  /** Unix ms. */
  readonly created: number;
  readonly ended: number | null;
};

/** A crawl that is about to begin. */
export type NewCrawl = Pick<ListedCrawl, "id" | "url">;

/** How many crawls an account may have. */
export type CrawlBounds = { readonly running: number; readonly kept: number };

export interface CrawlList {
  /**
   * Makes room for a crawl, and gives the ids of the oldest ended ones whose place it takes. @throws ApiError
   * `render_rate_limited` when as many run as may
   */
  reserve(crawl: NewCrawl, bounds: CrawlBounds): Promise<string[]>;
  /** Writes down how a crawl is. */
  note(crawl: ListedCrawl): Promise<void>;
  forget(ids: readonly string[]): Promise<void>;
  /** The newest first, those before `before`. */
  list(most: number, before: number | null, status: string | null): Promise<ListedCrawl[]>;
}

/** A crawl that was not made this long after its place was: the process died in between. In ms. */
const BEGIN_MS = 60_000;

/** The kind of actor that lists the crawls of an account; named by the account. */
export const crawlListKind: ActorKind = {
  name: "rendering-crawl-list",
  schema: crawlListTables,
  interleaved: ["list"],
  start: (context): Actor => ({ methods: { ...methodsOf(context) } }),
};

export function crawlListAt(actors: Pick<Actors, "get">, account: string): ActorClient<CrawlList> {
  return actorClient(actors.get(crawlListKind.name, account));
}

function methodsOf(context: ActorContext): CrawlList {
  const { name, sql } = context;
  return {
    reserve: (crawl, bounds) => reserve(context, crawl, bounds),
    async note(crawl) {
      await sql.batch([put(name, crawl)]);
    },
    async forget(ids) {
      await sql.batch(ids.map((id) => remove(name, id)));
    },
    async list(most, before, status) {
      const rows = await sql.all(
        `SELECT * FROM rendering_crawl_list WHERE actor = ? AND created_ms < ?
          AND (CAST(? AS TEXT) IS NULL OR status = ? OR (status = 'starting' AND CAST(? AS TEXT) = 'running'))
          ORDER BY created_ms DESC, id LIMIT ?`,
        [name, before ?? Number.MAX_SAFE_INTEGER, status, status, status, most],
      );
      return rows.map(toCrawl);
    },
  };
}

async function reserve(
  { name, sql, system }: ActorContext,
  crawl: NewCrawl,
  { running, kept }: CrawlBounds,
): Promise<string[]> {
  const now = system.now();
  const stale: Statement = {
    sql: "DELETE FROM rendering_crawl_list WHERE actor = ? AND status = 'starting' AND created_ms < ?",
    params: [name, now - BEGIN_MS],
  };
  await sql.batch([stale]);
  const [counts] = await sql.all(
    `SELECT COUNT(*) AS n, SUM(CASE WHEN ended_ms IS NULL THEN 1 ELSE 0 END) AS r,
      MAX(created_ms) AS newest
      FROM rendering_crawl_list WHERE actor = ?`,
    [name],
  );
  if (Number(counts?.["r"] ?? 0) >= running) {
    throw new ApiError("render_rate_limited", {
      message: `Rate limit exceeded: ${running} crawls of this account are running, wait for one or cancel it`,
      headers: { "retry-after": "30", "x-should-retry": "false" },
    });
  }
  const surplus = Math.max(0, Number(counts?.["n"] ?? 0) + 1 - kept);
  const old = await sql.all(
    `SELECT id FROM rendering_crawl_list WHERE actor = ? AND ended_ms IS NOT NULL ORDER BY created_ms, id LIMIT ?`,
    [name, surplus],
  );
  // Pages of the list begin at a time, so no two are of the same.
  const created = Math.max(now, Number(counts?.["newest"] ?? 0) + 1);
  const counters = { total: 1, finished: 0, skipped: 0 };
  await sql.batch([put(name, { ...crawl, ...counters, status: "starting", created, ended: null })]);
  return old.map((row) => String(row["id"]));
}

function put(actor: string, crawl: ListedCrawl): Statement {
  const { id, url, status, total, finished, skipped, created, ended } = crawl;
  return {
    sql: `INSERT INTO rendering_crawl_list (actor, id, url, status, total, finished, skipped, created_ms, ended_ms)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (actor, id) DO UPDATE SET status = excluded.status,
      total = excluded.total, finished = excluded.finished, skipped = excluded.skipped, ended_ms = excluded.ended_ms`,
    params: [actor, id, url, status, total, finished, skipped, created, ended],
  };
}

function remove(actor: string, id: string): Statement {
  return {
    sql: "DELETE FROM rendering_crawl_list WHERE actor = ? AND id = ?",
    params: [actor, id],
  };
}

function toCrawl(row: SqlRow): ListedCrawl {
  const status = String(row["status"]);
  return {
    id: String(row["id"]),
    url: String(row["url"]),
    status: status === "starting" ? "running" : status,
    total: Number(row["total"]),
    finished: Number(row["finished"]),
    skipped: Number(row["skipped"]),
    created: Number(row["created_ms"]),
    ended: row["ended_ms"] === null ? null : Number(row["ended_ms"]),
  };
}
