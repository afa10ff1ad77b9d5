import type { SqlRow, SqlValue, Statement } from "../../../ports.ts";
import type { SourceDocument } from "../../pdf/pdf-reader.ts";
import type { CrawlFormat } from "./crawl-schema.ts";
import {
  type CrawlFacts,
  type CrawlState,
  endCrawl,
  type HostQueue,
  writeFacts,
} from "./crawl-state.ts";
import { pageAddress } from "../rules/scope.ts";

/** A page that waits to be read. */
export interface WaitingPage {
  readonly seq: number;
  readonly url: string;
  readonly host: string;
  readonly depth: number;
  /** Attempts that have begun. */
  readonly attempts: number;
}

/** A page that was found. */
export type FoundPage = {
  readonly url: string;
  /** Whether the crawl goes there. */
  readonly within: boolean;
};

/** Facts about a page that was fetched. */
export type PageMetadata = {
  readonly status: number;
  readonly url: string;
  readonly title?: string;
  /** How it was read, of a crawl with `render: "auto"`. */
  readonly render?: "static" | "browser";
  /** The file that was read, for anything but a page. */
  readonly document?: SourceDocument;
};

/** The outcome of a page. */
export interface PageOutcome {
  readonly status: "completed" | "errored" | "disallowed" | "skipped";
  /** Absent when it was never fetched. */
  readonly meta?: PageMetadata;
  /** Why it is `errored`. */
  readonly error?: string;
  /** JSON texts. */
  readonly contents?: readonly (readonly [CrawlFormat, Uint8Array])[];
  readonly links?: readonly FoundPage[];
  /** Hosts that belong to the start as well. */
  readonly homes?: readonly string[];
  readonly browserMs?: number;
}

/** Bytes of one stored part. */
export const CONTENT_PART = 500_000;
/** Pages that are left out and listed nevertheless; further ones are not even counted. */
const SKIPPED = 10_000;
/** Addresses of one query: Durable Objects bind 100 values. */
const ASKED = 90;
/** Rows of one statement, of six values. */
const ROWS = 15;
/** Pages of one commit. */
const COMMIT = 300;

/** Adds pages that were found on one `depth` deep; what is known stays as it is. */
export async function addPages(
  state: CrawlState,
  found: readonly FoundPage[],
  depth: number,
): Promise<void> {
  for (let at = 0; at < found.length; at += COMMIT) {
    const { facts } = state;
    if (facts === null || facts.status !== "running") return;
    const isFull = facts.total >= limitOf(facts);
    if (isFull && facts.skipped >= SKIPPED) return;
    await addSome(state, facts, found.slice(at, at + COMMIT), depth);
  }
}

function limitOf({ input }: CrawlFacts): number {
  return input.limit ?? 10;
}

/** Returns how many pages a crawl may still take. */
export function roomOf(facts: CrawlFacts): number {
  return Math.max(0, limitOf(facts) - facts.total);
}

async function addSome(
  state: CrawlState,
  facts: CrawlFacts,
  found: readonly FoundPage[],
  depth: number,
): Promise<void> {
  const fresh = await unknown(state, found);
  const rows: SqlValue[][] = [];
  let { nextSeq, total, skipped } = facts;
  const waiting: string[] = [];
  for (const { url, within } of fresh) {
    if (within ? total >= limitOf(facts) : skipped >= SKIPPED) continue;
    const host = pageAddress(url)?.host ?? "";
    rows.push([state.context.name, nextSeq++, url, host, depth, within ? "queued" : "skipped"]);
    if (within) {
      total++;
      waiting.push(host);
    } else skipped++;
  }
  if (rows.length === 0) return;
  await writeFacts(state, { ...facts, nextSeq, total, skipped }, inserts(rows));
  for (const host of waiting) queueAt(state, host).waiting++;
}

async function unknown({ context }: CrawlState, found: readonly FoundPage[]): Promise<FoundPage[]> {
  const byUrl = new Map(found.map((page) => [page.url, page]));
  const urls = [...byUrl.keys()];
  for (let at = 0; at < urls.length; at += ASKED) {
    const asked = urls.slice(at, at + ASKED);
    const known = await context.sql.all(
      `SELECT url FROM rendering_crawl_pages WHERE actor = ? AND url IN (${asked.map(() => "?").join(", ")})`,
      [context.name, ...asked],
    );
    for (const { url } of known) byUrl.delete(String(url));
  }
  return [...byUrl.values()];
}

/** Returns the statements that insert pages: values are actor, seq, url, host, depth and status. */
export function inserts(rows: readonly (readonly SqlValue[])[]): Statement[] {
  const statements: Statement[] = [];
  for (let at = 0; at < rows.length; at += ROWS) {
    const some = rows.slice(at, at + ROWS);
    statements.push({
      sql: `INSERT INTO rendering_crawl_pages (actor, seq, url, host, depth, status, attempts)
        VALUES ${some.map(() => "(?, ?, ?, ?, ?, ?, 0)").join(", ")}`,
      params: some.flat(),
    });
  }
  return statements;
}

/** Returns the pages of a host that wait. */
export function queueAt({ hosts, context }: CrawlState, host: string): HostQueue {
  let queue = hosts.get(host);
  if (queue === undefined)
    hosts.set(host, (queue = { waiting: 0, next: context.steady(), failures: 0 }));
  return queue;
}

/** Returns the first page of a host that waits. */
export async function firstWaiting(
  { context }: CrawlState,
  host: string,
): Promise<WaitingPage | null> {
  const [row] = await context.sql.all(
    `SELECT seq, url, depth, attempts FROM rendering_crawl_pages
      WHERE actor = ? AND status = 'queued' AND host = ? ORDER BY seq LIMIT 1`,
    [context.name, host],
  );
  return row === undefined ? null : toWaiting(row, host);
}

function toWaiting(row: SqlRow, host: string): WaitingPage {
  return {
    seq: Number(row["seq"]),
    url: String(row["url"]),
    host,
    depth: Number(row["depth"]),
    attempts: Number(row["attempts"]),
  };
}

/** Counts an attempt before it begins: a page that ends the process each time must not do so for ever. */
export async function countAttempt({ context }: CrawlState, { seq }: WaitingPage): Promise<void> {
  const sql =
    "UPDATE rendering_crawl_pages SET attempts = attempts + 1 WHERE actor = ? AND seq = ?";
  await context.sql.batch([{ sql, params: [context.name, seq] }], { lazy: true });
}

/** Writes down what became of a page; the crawl ends when its contents would take more than `maxBytes`. */
export async function finishPage(
  state: CrawlState,
  page: WaitingPage,
  outcome: PageOutcome,
  maxBytes: number,
): Promise<void> {
  if (outcome.links !== undefined) await addPages(state, outcome.links, page.depth + 1);
  const { facts, context } = state;
  if (facts?.status !== "running") return;
  const contents = outcome.contents ?? [];
  const next = factsAfter(facts, outcome);
  if (next.bytes > maxBytes) return endCrawl(state, "cancelled_due_to_limits");
  const actor = context.name;
  const done: Statement = {
    sql: `UPDATE rendering_crawl_pages SET status = ?, meta = ?, error = ?, sizes = ? WHERE actor = ? AND seq = ?`,
    params: [
      outcome.status,
      outcome.meta === undefined ? null : JSON.stringify(outcome.meta),
      outcome.error?.slice(0, 500) ?? null,
      JSON.stringify(Object.fromEntries(contents.map(([format, text]) => [format, text.length]))),
      actor,
      page.seq,
    ],
  };
  await writeFacts(state, next, [done, ...contents.flatMap(storeContent(actor, page.seq))]);
  const queue = queueAt(state, page.host);
  queue.waiting--;
  // A crawl may come by a hundred thousand hosts; `HostTurns` remembers those that were asked lately.
  if (queue.waiting <= 0) state.hosts.delete(page.host);
}

function factsAfter(facts: CrawlFacts, outcome: PageOutcome): CrawlFacts {
  const { status, contents = [], homes = [], browserMs = 0 } = outcome;
  const isSkipped = status === "skipped";
  return {
    ...facts,
    bytes: facts.bytes + contents.reduce((sum, [, text]) => sum + text.length, 0),
    homes: [...new Set([...facts.homes, ...homes])],
    browserMs: facts.browserMs + browserMs,
    total: facts.total - (isSkipped ? 1 : 0),
    skipped: facts.skipped + (isSkipped ? 1 : 0),
    finished: facts.finished + (isSkipped ? 0 : 1),
    completed: facts.completed + (status === "completed" ? 1 : 0),
  };
}

function storeContent(
  actor: string,
  seq: number,
): (content: readonly [CrawlFormat, Uint8Array]) => Statement[] {
  return ([format, text]) => {
    const statements: Statement[] = [];
    for (let at = 0, part = 0; at < text.length; at += CONTENT_PART, part++) {
      statements.push({
        sql: `INSERT INTO rendering_crawl_content (actor, seq, format, part, data) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (actor, seq, format, part) DO UPDATE SET data = excluded.data`,
        params: [actor, seq, format, part, text.subarray(at, at + CONTENT_PART)],
      });
    }
    return statements;
  };
}
