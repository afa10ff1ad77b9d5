import type { SqlRow, SqlValue, Statement } from "../../../ports.ts";
import type { CrawlFormat } from "./crawl-schema.ts";
import {
  type CrawlFacts,
  type CrawlState,
  endCrawl,
  type HostQueue,
  writeFacts,
} from "./crawl-state.ts";
import type { FoundPage, PageOutcome, WaitingPage } from "./page-outcome.ts";
import { withoutCopy } from "./same-page.ts";

/** Bytes of one stored part. */
export const CONTENT_PART = 500_000;
/** Pages that are left out and listed nevertheless; further ones are not even counted. */
const SKIPPED = 10_000;
/** Pages that are left out and take no place, for each page of the limit: a site may make endlessly many copies of one. */
const FREE = 10;
/** Values of one query: Durable Objects bind 100. */
const ASKED = 90;
/** Rows of one statement, of eight values. */
const ROWS = 12;
/** Pages of one pattern unless the body says how many. */
const PER_PATTERN = 500;
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
  const trap = await trapOf(state, facts, fresh);
  const rows: SqlValue[][] = [];
  let { nextSeq, total, skipped } = facts;
  const waiting: string[] = [];
  for (const { url, key, pattern, within } of fresh) {
    const isWanted = within && total < limitOf(facts) && trap.takes(pattern);
    if (!isWanted && ((within && total >= limitOf(facts)) || skipped >= SKIPPED)) continue;
    const { host } = new URL(url);
    const status = isWanted ? "queued" : "skipped";
    const counted = isWanted ? pattern : null;
    rows.push([state.context.name, nextSeq++, url, host, depth, status, key, counted]);
    if (isWanted) {
      total++;
      waiting.push(host);
    } else skipped++;
  }
  if (rows.length === 0) return;
  await writeFacts(state, { ...facts, nextSeq, total, skipped }, inserts(rows));
  for (const host of waiting) queueAt(state, host).waiting++;
}

async function unknown({ context }: CrawlState, found: readonly FoundPage[]): Promise<FoundPage[]> {
  const fresh = new Map<string, FoundPage>();
  // Crawls from before keys were stored know pages by their addresses.
  for (const page of found) fresh.set(page.key, page).set(page.url, page);
  const values = [...fresh.keys()];
  for (let at = 0; at < values.length; at += ASKED) {
    const asked = values.slice(at, at + ASKED);
    const known = await context.sql.all(
      `SELECT page_key FROM rendering_crawl_pages WHERE actor = ? AND page_key IN (${marks(asked)})`,
      [context.name, ...asked],
    );
    for (const row of known) forget(fresh, String(row["page_key"]));
  }
  return [...new Set(fresh.values())];
}

function forget(pages: Map<string, FoundPage>, value: string): void {
  const page = pages.get(value);
  if (page === undefined) return;
  pages.delete(page.key);
  pages.delete(page.url);
}

/** Bounds the pages of one pattern, which a site may make endlessly many of. */
async function trapOf(
  { context }: CrawlState,
  { input }: CrawlFacts,
  found: readonly FoundPage[],
): Promise<{ takes(pattern: string | null): boolean }> {
  const most = input.options?.maxPerPattern ?? PER_PATTERN;
  const patterns = [...new Set(found.flatMap((page) => page.pattern ?? []))];
  const counts = new Map<string, number>();
  for (let at = 0; at < patterns.length; at += ASKED) {
    const asked = patterns.slice(at, at + ASKED);
    const rows = await context.sql.all(
      `SELECT pattern, COUNT(*) AS n FROM rendering_crawl_pages
        WHERE actor = ? AND pattern IN (${marks(asked)}) GROUP BY pattern`,
      [context.name, ...asked],
    );
    for (const { pattern, n } of rows) counts.set(String(pattern), Number(n));
  }
  return {
    takes(pattern) {
      if (pattern === null) return true;
      const count = (counts.get(pattern) ?? 0) + 1;
      counts.set(pattern, count);
      return count <= most;
    },
  };
}

function marks(values: readonly unknown[]): string {
  return values.map(() => "?").join(", ");
}

/** Returns the statements that insert pages: values are actor, seq, url, host, depth, status, key and pattern. */
export function inserts(rows: readonly (readonly SqlValue[])[]): Statement[] {
  const statements: Statement[] = [];
  for (let at = 0; at < rows.length; at += ROWS) {
    const some = rows.slice(at, at + ROWS);
    statements.push({
      sql: `INSERT INTO rendering_crawl_pages (actor, seq, url, host, depth, status, page_key, pattern, attempts)
        VALUES ${some.map(() => "(?, ?, ?, ?, ?, ?, ?, ?, 0)").join(", ")}`,
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
  read: PageOutcome,
  maxBytes: number,
): Promise<void> {
  if (read.links !== undefined) await addPages(state, read.links, page.depth + 1);
  const { facts, context } = state;
  if (facts?.status !== "running") return;
  const { outcome, otherKey } = await withoutCopy(state, facts, page, read);
  const contents = outcome.contents ?? [];
  const next = factsAfter(facts, outcome);
  if (next.bytes > maxBytes) return endCrawl(state, "cancelled_due_to_limits");
  const actor = context.name;
  const done: Statement = {
    sql: `UPDATE rendering_crawl_pages SET status = ?, meta = ?, error = ?, sizes = ?, other_key = ?
      WHERE actor = ? AND seq = ?`,
    params: [
      outcome.status,
      outcome.meta === undefined ? null : JSON.stringify(outcome.meta),
      outcome.error?.slice(0, 500) ?? null,
      JSON.stringify(Object.fromEntries(contents.map(([format, text]) => [format, text.length]))),
      otherKey,
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
  const isFree = isSkipped && facts.freed < Math.min(SKIPPED, FREE * limitOf(facts));
  return {
    ...facts,
    bytes: facts.bytes + contents.reduce((sum, [, text]) => sum + text.length, 0),
    homes: [...new Set([...facts.homes, ...homes])],
    browserMs: facts.browserMs + browserMs,
    total: facts.total - (isFree ? 1 : 0),
    skipped: facts.skipped + (isSkipped ? 1 : 0),
    freed: facts.freed + (isFree ? 1 : 0),
    finished: facts.finished + (isFree ? 0 : 1),
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
