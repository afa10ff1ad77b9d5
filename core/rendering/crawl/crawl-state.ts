import { type Clock, startClock } from "../../entity/clock.ts";
import type { ActorContext, SqlRow, Statement } from "../../ports.ts";
import type { CrawlBody } from "./crawl-schema.ts";
import type { Robots } from "./rules/robots.ts";
import { type CrawlSecrets, endedInput, forgetKey, openInput } from "./rows/sealed-input.ts";

/** How a crawl is. All but the first are ends. */
export type CrawlStatus =
  | "running"
  | "completed"
  | "errored"
  | "cancelled_by_user"
  | "cancelled_due_to_timeout"
  | "cancelled_due_to_limits";

/** What is known of a crawl as a whole; a copy of its row. */
export interface CrawlFacts {
  /** Of an ended crawl, and of one whose request cannot be opened, its `url` only. */
  readonly input: CrawlBody;
  /** {@link input} as the row has it: sealed, because it may hold credentials. */
  readonly stored: string;
  /** Whether the crawl knows what it was asked for. */
  readonly isOpen: boolean;
  readonly status: CrawlStatus;
  /** The hosts (with ports) of its start: where it was sent, and where that redirected to. */
  readonly homes: readonly string[];
  readonly nextSeq: number;
  readonly total: number;
  readonly finished: number;
  readonly completed: number;
  readonly skipped: number;
  /** Of its contents. */
  readonly bytes: number;
  readonly browserMs: number;
  /** Unix ms. */
  readonly created: number;
  readonly ended: number | null;
  /** Whether its account knows of its end. */
  readonly told: boolean;
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
  /** What reads facts and writes them back takes turns. */
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
    robots: new Map<string, Robots>(),
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

/** When there is something to do (of `steady()`); null when there is no crawl. */
function nextDue({
  facts,
  hosts,
  context,
}: Pick<CrawlState, "facts" | "hosts" | "context">): number | null {
  if (facts === null) return null;
  return facts.status === "running" ? (nextTurn(hosts) ?? context.steady()) : facts.due;
}

/** When the first host may be asked again (of `steady()`); null when no page waits. */
export function nextTurn(hosts: CrawlState["hosts"]): number | null {
  let next: number | null = null;
  for (const queue of hosts.values())
    if (queue.waiting > 0 && (next === null || queue.next < next)) next = queue.next;
  return next;
}

/** Runs statements and writes the facts down that hold afterwards; memory follows the rows. */
export async function writeFacts(
  state: CrawlState,
  facts: CrawlFacts,
  statements: readonly Statement[],
  due: number | null = null,
): Promise<void> {
  await state.clock.write([...statements, put(state.context.name, facts)], due);
  state.facts = facts;
}

function put(actor: string, facts: CrawlFacts): Statement {
  return {
    sql: `INSERT INTO rendering_crawls (actor, input, status, homes, next_seq, total, finished, completed, skipped, bytes,
        browser_ms, created_ms, ended_ms, told, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (actor) DO UPDATE SET input = excluded.input, status = excluded.status, homes = excluded.homes,
      next_seq = excluded.next_seq, total = excluded.total, finished = excluded.finished, completed = excluded.completed,
      skipped = excluded.skipped, bytes = excluded.bytes, browser_ms = excluded.browser_ms, ended_ms = excluded.ended_ms,
      told = excluded.told, due = excluded.due`,
    params: [
      actor,
      facts.stored,
      facts.status,
      JSON.stringify(facts.homes),
      facts.nextSeq,
      facts.total,
      facts.finished,
      facts.completed,
      facts.skipped,
      facts.bytes,
      facts.browserMs,
      facts.created,
      facts.ended,
      facts.told ? 1 : 0,
      Math.ceil(facts.due),
    ],
  };
}

function toFacts(row: SqlRow): Omit<CrawlFacts, "input" | "isOpen"> {
  return {
    stored: String(row["input"]),
    status: String(row["status"]) as CrawlStatus,
    homes: JSON.parse(String(row["homes"])) as string[],
    nextSeq: Number(row["next_seq"]),
    total: Number(row["total"]),
    finished: Number(row["finished"]),
    completed: Number(row["completed"]),
    skipped: Number(row["skipped"]),
    bytes: Number(row["bytes"]),
    browserMs: Number(row["browser_ms"]),
    created: Number(row["created_ms"]),
    ended: row["ended_ms"] === null ? null : Number(row["ended_ms"]),
    told: Number(row["told"]) === 1,
    due: Number(row["due"]),
  };
}

/** Ends a crawl that runs: what it stores of its request is wiped, because it may hold credentials. */
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
  const last = { ...facts, ...wiped, status, ended, told: false, due };
  await writeFacts(state, last, [forgetKey(context.name)], due);
  state.hosts.clear();
  state.stop.abort();
  state.ring();
}
