import { BoundedMap } from "../../../work/bounded-map.ts";
import { type Clock, startClock } from "../../../entity/clock.ts";
import type { ActorContext, SqlRow, SqlValue, Statement } from "../../../ports.ts";
import { crawlListAt, type ListedCrawl } from "./crawl-list.ts";
import type { CrawlBody } from "./crawl-schema.ts";
import type { Robots } from "../rules/robots.ts";
import { type CrawlSecrets, endedInput, forgetKey, openInput } from "./sealed-input.ts";

/** Sites whose rules a crawl keeps in memory. */
const SITES = 20;

/** How a crawl is. All but the first are ends. */
export type CrawlStatus =
  | "running"
  | "completed"
  | "errored"
  | "cancelled_by_user"
  | "cancelled_due_to_timeout"
  | "cancelled_due_to_limits";

/** The facts of a crawl as a whole; a copy of its row. */
export interface CrawlFacts {
  /** The request; only its `url` once the crawl has ended, or when the request cannot be opened. */
  readonly input: CrawlBody;
  /** {@link input} as the row has it: sealed, because it may hold credentials. */
  readonly stored: string;
  /** Whether the crawl knows what it was asked for. */
  readonly isOpen: boolean;
  /** The owner for the fair sharing of slots: a token, or an account. */
  readonly owner: string;
  readonly status: CrawlStatus;
  /** The hosts (with ports) of its start: where it was sent, and where that redirected to. */
  readonly homes: readonly string[];
  readonly nextSeq: number;
  readonly total: number;
  readonly finished: number;
  readonly completed: number;
  readonly skipped: number;
  /** The pages of {@link skipped} that were read before, and took no place of the limit. */
  readonly freed: number;
  /** The bytes of its contents. */
  readonly bytes: number;
  readonly browserMs: number;
  /** Unix ms. */
  readonly created: number;
  readonly ended: number | null;
  /** Whether its account knows of its end. */
  readonly isReported: boolean;
  /** The `traceparent` of the request behind it; null without tracing. */
  readonly trace: string | null;
  /** When there is something to do for an ended crawl, of `steady()`. */
  readonly due: number;
}

/** The pages of a host that wait. */
export interface HostQueue {
  waiting: number;
  /** The earliest time of the next request, of `steady()`. */
  next: number;
  /** Attempts in a row that the network failed. */
  failures: number;
}

/** A crawl that is held in memory: its rows are the truth. */
export interface CrawlState {
  readonly context: ActorContext;
  readonly clock: Clock;
  /** Null before it was made and after it was deleted. */
  facts: CrawlFacts | null;
  readonly hosts: Map<string, HostQueue>;
  /** Robots of origins that were asked for lately. */
  readonly robots: Map<string, Robots>;
  /** Aborted when the crawl ends before its pages do. */
  readonly stop: AbortController;
  /** Runs work that reads facts and writes them back, one at a time. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** Wakes the runner. */
  ring(): void;
  /** Resolves at the next ring. */
  news(): Promise<void>;
}

/** Reads a crawl's rows. */
export async function openCrawl(context: ActorContext, secrets: CrawlSecrets): Promise<CrawlState> {
  const [row] = await context.sql.all("SELECT * FROM rendering_crawls WHERE actor = ?", [
    context.name,
  ]);
  const facts =
    row === undefined
      ? null
      : { ...toFacts(row), ...(await openInput(context, secrets, String(row["input"]))) };
  const hosts = new Map<string, HostQueue>();
  if (facts?.status === "running") {
    const rows = await context.sql.all(
      `SELECT host, COUNT(*) AS n FROM rendering_crawl_pages WHERE actor = ? AND status = 'queued'
        GROUP BY host ORDER BY MIN(seq)`,
      [context.name],
    );
    for (const { host, n } of rows)
      hosts.set(String(host), { waiting: Number(n), next: context.steady(), failures: 0 });
  }
  let wake = (): void => undefined;
  let tail: Promise<unknown> = Promise.resolve();
  const parts = {
    context,
    facts,
    hosts,
    robots: new BoundedMap<string, Robots>(SITES),
    stop: new AbortController(),
    inTurn: <T>(work: () => Promise<T>): Promise<T> => {
      const result = tail.then(work);
      tail = result.catch(() => undefined);
      return result;
    },
    ring: () => wake(),
    news: () => new Promise<void>((resolve) => (wake = resolve)),
  };
  return Object.assign(parts, {
    clock: await startClock(context, () => Promise.resolve(nextDue(parts))),
  });
}

/** Returns when work is due (of `steady()`); null for a deleted crawl. */
function nextDue({
  facts,
  hosts,
  context,
}: Pick<CrawlState, "facts" | "hosts" | "context">): number | null {
  if (facts === null) return null;
  return facts.status === "running" ? (nextTurn(hosts) ?? context.steady()) : facts.due;
}

/** Returns when the first host may be asked again (of `steady()`); null when no page waits. */
export function nextTurn(hosts: CrawlState["hosts"]): number | null {
  let next: number | null = null;
  for (const queue of hosts.values())
    if (queue.waiting > 0 && (next === null || queue.next < next)) next = queue.next;
  return next;
}

/**
 * Runs statements and writes down what of the facts has changed; memory follows the rows. The request of a crawl may have
 * megabytes, so it is not written with every page.
 */
export async function writeFacts(
  state: CrawlState,
  facts: CrawlFacts,
  statements: readonly Statement[],
  due: number | null = null,
): Promise<void> {
  const changed = changes(state.context.name, state.facts, facts);
  await state.clock.write([...statements, ...changed], due);
  state.facts = facts;
}

/** The columns of a crawl's row, but for its name. */
const columns: readonly (readonly [name: string, valueOf: (facts: CrawlFacts) => SqlValue])[] = [
  ["input", ({ stored }) => stored],
  ["status", ({ status }) => status],
  ["homes", ({ homes }) => JSON.stringify(homes)],
  ["next_seq", ({ nextSeq }) => nextSeq],
  ["total", ({ total }) => total],
  ["finished", ({ finished }) => finished],
  ["completed", ({ completed }) => completed],
  ["skipped", ({ skipped }) => skipped],
  ["freed", ({ freed }) => freed],
  ["bytes", ({ bytes }) => bytes],
  ["browser_ms", ({ browserMs }) => browserMs],
  ["created_ms", ({ created }) => created],
  ["ended_ms", ({ ended }) => ended],
  ["told", ({ isReported }) => (isReported ? 1 : 0)],
  ["trace", ({ trace }) => trace],
  ["due", ({ due }) => Math.ceil(due)],
];

function changes(actor: string, before: CrawlFacts | null, after: CrawlFacts): Statement[] {
  if (before === null) {
    const names = columns.map(([name]) => name).join(", ");
    const sql = `INSERT INTO rendering_crawls (actor, ${names}) VALUES (?${", ?".repeat(columns.length)})`;
    return [{ sql, params: [actor, ...columns.map(([, valueOf]) => valueOf(after))] }];
  }
  const changed = columns.filter(([, valueOf]) => valueOf(before) !== valueOf(after));
  if (changed.length === 0) return [];
  const values = changed.map(([name]) => `${name} = ?`).join(", ");
  const sql = `UPDATE rendering_crawls SET ${values} WHERE actor = ?`;
  return [{ sql, params: [...changed.map(([, valueOf]) => valueOf(after)), actor] }];
}

function toFacts(row: SqlRow): Omit<CrawlFacts, "input" | "isOpen" | "owner"> {
  return {
    stored: String(row["input"]),
    status: String(row["status"]) as CrawlStatus,
    homes: JSON.parse(String(row["homes"])) as string[],
    nextSeq: Number(row["next_seq"]),
    total: Number(row["total"]),
    finished: Number(row["finished"]),
    completed: Number(row["completed"]),
    skipped: Number(row["skipped"]),
    freed: Number(row["freed"]),
    bytes: Number(row["bytes"]),
    browserMs: Number(row["browser_ms"]),
    created: Number(row["created_ms"]),
    ended: row["ended_ms"] === null ? null : Number(row["ended_ms"]),
    isReported: Number(row["told"]) === 1,
    trace: row["trace"] == null ? null : String(row["trace"]),
    due: Number(row["due"]),
  };
}

/** Returns the account and the id in the name of a crawl's actor. */
export function crawlName(name: string): { readonly account: string; readonly id: string } {
  const slash = name.lastIndexOf("/");
  return { account: name.slice(0, slash), id: name.slice(slash + 1) };
}

function listed(state: CrawlState, facts: CrawlFacts): ListedCrawl {
  const { status, total, finished, skipped, created, ended, input } = facts;
  const { id } = crawlName(state.context.name);
  return { id, url: input.url, status, total, finished, skipped, created, ended };
}

/** Writes down in the list of its account how a crawl is. */
export async function tellList(state: CrawlState, facts: CrawlFacts): Promise<void> {
  const { account } = crawlName(state.context.name);
  await crawlListAt(state.context.actors, account).note(listed(state, facts));
}

/**
 * Ends a running crawl: its stored request is wiped, because it may hold credentials. The list is updated first, so that a
 * client that has seen the end may begin another crawl in its place; it is updated again afterwards.
 */
export async function endCrawl(
  state: CrawlState,
  status: Exclude<CrawlStatus, "running">,
): Promise<void> {
  const { facts, context } = state;
  if (facts?.status !== "running") return;
  const ended = context.system.now();
  const due = context.steady();
  const { url } = facts.input;
  const wiped = { input: { url }, stored: endedInput(url), isOpen: false };
  const last = { ...facts, ...wiped, status, ended, isReported: false, due };
  await tellList(state, last).catch(() => undefined);
  await writeFacts(state, last, [forgetKey(context.name)], due);
  state.hosts.clear();
  state.stop.abort();
  state.ring();
}
