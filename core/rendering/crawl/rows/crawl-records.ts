import type { SqlRow, SqlValue } from "../../../ports.ts";
import type { PageMetadata } from "./page-outcome.ts";
import type { CrawlFormat } from "./crawl-schema.ts";
import type { CrawlState, CrawlStatus } from "./crawl-state.ts";

/** The states of a page. */
export const recordStatuses = [
  "queued",
  "errored",
  "completed",
  "disallowed",
  "skipped",
  "cancelled",
] as const;

/** The state of a page. */
export type RecordStatus = (typeof recordStatuses)[number];

/** One page of a crawl without its contents. */
export type CrawlRecord = {
  readonly seq: number;
  readonly url: string;
  readonly status: string;
  readonly metadata?: PageMetadata;
  readonly error?: string;
  /** How often it was asked for; absent when it was once, or never. */
  readonly attempts?: number;
  /** Bytes of each content. */
  readonly sizes: Readonly<Record<string, number>>;
};

/** A crawl, and some of its pages. */
export type CrawlRead = {
  readonly status: CrawlStatus;
  readonly browserMs: number;
  readonly total: number;
  readonly finished: number;
  readonly skipped: number;
  readonly records: readonly CrawlRecord[];
  /** The position of the next pages; null after the last. */
  readonly cursor: number | null;
};

export type CrawlPageQuery = {
  /** The first of them. */
  readonly cursor: number;
  readonly limit: number;
  readonly status: RecordStatus | null;
};

/** Bytes of contents that one answer has, and records. */
const ANSWER = 10 * 1024 * 1024;
const RECORDS = 1000;

/** Reads some pages; null for an unknown crawl. */
export async function readCrawl(
  { context, facts }: CrawlState,
  { cursor, limit, status }: CrawlPageQuery,
): Promise<CrawlRead | null> {
  if (facts === null) return null;
  const isOver = facts.status !== "running";
  // Pages still waiting at the end of a crawl count as cancelled: their rows need not be touched for it.
  const stored = status === "cancelled" ? "queued" : status;
  const isEmpty = (status === "cancelled" && !isOver) || (status === "queued" && isOver);
  const most = Math.min(limit, RECORDS);
  const filter = stored === null ? "" : "AND status = ?";
  const params: SqlValue[] = stored === null ? [] : [stored];
  const rows = isEmpty
    ? []
    : await context.sql.all(
        `SELECT seq, url, status, attempts, meta, error, sizes FROM rendering_crawl_pages
          WHERE actor = ? AND seq >= ? ${filter} ORDER BY seq LIMIT ?`,
        [context.name, cursor, ...params, most + 1],
      );
  const { total, finished, skipped, browserMs } = facts;
  const counters = { status: facts.status, total, finished, skipped, browserMs };
  const records: CrawlRecord[] = [];
  let bytes = 0;
  for (const row of rows) {
    const record = toRecord(row, isOver);
    bytes += Object.values(record.sizes).reduce((sum, size) => sum + size, 0);
    // One page at least, however large it is.
    if (records.length === most || (bytes > ANSWER && records.length > 0))
      return { ...counters, records, cursor: record.seq };
    records.push(record);
  }
  return { ...counters, records, cursor: null };
}

function toRecord(row: SqlRow, isOver: boolean): CrawlRecord {
  const status = String(row["status"]);
  return {
    seq: Number(row["seq"]),
    url: String(row["url"]),
    status: status === "queued" && isOver ? "cancelled" : status,
    ...(row["meta"] == null ? {} : { metadata: JSON.parse(String(row["meta"])) as never }),
    ...(row["error"] == null ? {} : { error: String(row["error"]) }),
    ...(Number(row["attempts"]) > 1 ? { attempts: Number(row["attempts"]) } : {}),
    sizes: row["sizes"] == null ? {} : (JSON.parse(String(row["sizes"])) as Record<string, number>),
  };
}

/** Returns a part of a page's content, as JSON text; null when it is gone. */
export async function readContentPart(
  { context }: CrawlState,
  seq: number,
  format: CrawlFormat,
  part: number,
): Promise<Uint8Array | null> {
  const [row] = await context.sql.all(
    "SELECT data FROM rendering_crawl_content WHERE actor = ? AND seq = ? AND format = ? AND part = ?",
    [context.name, seq, format, part],
  );
  return row?.["data"] instanceof Uint8Array ? row["data"] : null;
}
