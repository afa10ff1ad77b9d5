import { newsOrTime } from "../../time/news-or-time.ts";
import { OUTBOUND_KIND } from "../../entity/outbound.ts";
import { ApiError } from "../../http/api-error.ts";
import { type CrawlDeps, crawlWork } from "./crawl-deps.ts";
import { crawlListAt } from "./rows/crawl-list.ts";
import { firstWaiting } from "./rows/crawl-pages.ts";
import {
  type CrawlFacts,
  crawlName,
  type CrawlState,
  endCrawl,
  nextTurn,
  tellList,
  writeFacts,
} from "./rows/crawl-state.ts";
import { crawlTableNames } from "./rows/crawl-tables.ts";
import type { WaitingPage } from "./rows/page-outcome.ts";
import { visitPage } from "./visit-page.ts";

/** Pages of one crawl at a time, each on another host. */
const AT_ONCE = 4;
/** Longest time that one alarm goes on, in ms, and pages that it begins: some runtimes bound both. */
const RUN_MS = 60_000;
const RUN_PAGES = 100;
/** A pause for which the alarm does not wait, in ms. */
const PAUSE_MS = 5000;
/** Longest time of a crawl, in ms. */
const WHOLE_MS = 7 * 86_400_000;
/** Milliseconds after which a failed notice to the account is sent again. */
const TELL_MS = 30_000;
/** Pages whose rows are deleted at a time. */
const DELETED = 50;

/**
 * Makes the runner of a crawl, for its alarm: it reads the pages, reports the end to the account, and finally deletes the
 * crawl. A process that dies leaves the alarm due, and the next one goes on at once.
 */
export function crawlRunner(state: CrawlState, deps: CrawlDeps): () => Promise<void> {
  const { context } = state;
  const { system } = context;
  const busy = new Set<string>();

  function start(page: WaitingPage): void {
    busy.add(page.host);
    const { closing } = system;
    const signal =
      closing === undefined ? state.stop.signal : AbortSignal.any([state.stop.signal, closing]);
    const done = visitPage(state, crawlWork(deps, state.facts?.owner ?? ""), page, signal)
      .catch((error: unknown) => {
        if (signal.aborted) return;
        deps.platform.log("error", "A page of a crawl failed", { error: String(error) });
        const queue = state.hosts.get(page.host);
        if (queue !== undefined) queue.next = context.steady() + PAUSE_MS;
      })
      .then(() => {
        busy.delete(page.host);
        state.ring();
      });
    system.waitUntil(done);
  }

  /** Begins the pages whose turn it is; returns how many. */
  async function startSome(now: number): Promise<number> {
    let count = 0;
    for (const [host, queue] of state.hosts) {
      if (busy.size >= AT_ONCE) break;
      if (queue.waiting <= 0 || queue.next > now || busy.has(host)) continue;
      const page = await firstWaiting(state, host);
      if (page === null) continue;
      start(page);
      count++;
    }
    return count;
  }

  async function run(): Promise<void> {
    const end = context.steady() + RUN_MS;
    for (let begun = 0; state.facts?.status === "running";) {
      const news = state.news();
      const now = context.steady();
      // Pages still running at the end go on beside the next alarm.
      if (now > end || begun >= RUN_PAGES || system.closing?.aborted === true) return;
      const early = earlyEnd(state.facts, deps);
      if (early !== null) return await state.inTurn(() => endCrawl(state, early));
      const count = await startSome(now);
      begun += count;
      if (count > 0) continue;
      const next = nextTurn(idle(state, busy));
      if (next === null && busy.size === 0) return await state.inTurn(() => finish(state));
      if (busy.size === 0 && next !== null && next - now > PAUSE_MS) return;
      await newsOrTime(system, news, Math.min(end, next ?? end) - now);
    }
  }

  return async () => {
    if (state.facts?.status === "running")
      await tellList(state, state.facts).catch(() => undefined);
    await run();
    await settle(state, deps);
  };
}

/** Returns how a crawl ends that cannot or may not go on; null for any other. */
function earlyEnd(
  { isOpen, input, created }: CrawlFacts,
  { platform: { log, system }, secrets }: CrawlDeps,
): "errored" | "cancelled_due_to_timeout" | null {
  if (isOpen) return system.now() - created > WHOLE_MS ? "cancelled_due_to_timeout" : null;
  log("error", "A crawl has ended: the request that it keeps sealed cannot be opened", {
    url: input.url,
    reason: secrets.master === null ? "its key is gone" : "no master secret opens it",
  });
  return "errored";
}

/** Returns the hosts that nothing is under way on. */
function idle({ hosts }: CrawlState, busy: ReadonlySet<string>): CrawlState["hosts"] {
  return new Map([...hosts].filter(([host]) => !busy.has(host)));
}

/** A crawl that could read nothing has failed. */
async function finish(state: CrawlState): Promise<void> {
  const { facts } = state;
  if (facts === null) return;
  const [errored] = await state.context.sql.all(
    "SELECT seq FROM rendering_crawl_pages WHERE actor = ? AND status = 'errored' LIMIT 1",
    [state.context.name],
  );
  const isFailure = facts.completed === 0 && errored !== undefined;
  await endCrawl(state, isFailure ? "errored" : "completed");
}

/** Finishes a crawl that has ended: its account is notified once, and its rows are deleted when their time is over. */
async function settle(state: CrawlState, deps: CrawlDeps): Promise<void> {
  const { context, facts } = state;
  if (facts === null || facts.status === "running" || facts.due > context.steady()) return;
  if (facts.isReported) return await state.inTurn(() => deleteCrawl(state));
  const isReported = await tell(state, deps, facts).then(
    () => true,
    (error: unknown) => {
      if (context.system.closing?.aborted !== true)
        deps.platform.log("warn", "The end of a crawl could not be reported", {
          error: String(error),
        });
      return false;
    },
  );
  const due = context.steady() + (isReported ? deps.limits.keepMs : TELL_MS);
  await state.inTurn(async () => {
    if (state.facts !== null) await writeFacts(state, { ...state.facts, isReported, due }, [], due);
  });
}

async function tell(
  state: CrawlState,
  { sendsWebhooks }: CrawlDeps,
  facts: CrawlFacts,
): Promise<void> {
  await tellList(state, facts);
  if (!sendsWebhooks) return;
  const { account, id } = crawlName(state.context.name);
  const { status, total, finished, skipped, input, trace } = facts;
  const message = {
    type: `crawl.${status}`,
    payload: { id, url: input.url, status, total, finished, skipped },
    // However often this is sent, each endpoint gets it once.
    idempotency_key: `crawl-${id}`,
    ...(trace === null ? {} : { trace }),
  };
  try {
    await state.context.actors.get(OUTBOUND_KIND, account).call("send", message);
  } catch (error) {
    // No later attempt would do better.
    if (!(error instanceof ApiError) || error.status >= 500) throw error;
  }
}

/** Deletes all rows of a crawl, a few pages at a time: contents may be large. */
async function deleteCrawl(state: CrawlState): Promise<void> {
  const { context, facts } = state;
  if (facts === null) return;
  await endCrawl(state, "cancelled_by_user");
  const { account, id } = crawlName(context.name);
  await crawlListAt(context.actors, account).forget([id]);
  for (let seq = DELETED; seq < facts.nextSeq; seq += DELETED) {
    await context.sql.batch(
      ["rendering_crawl_content", "rendering_crawl_pages"].map((table) => ({
        sql: `DELETE FROM ${table} WHERE actor = ? AND seq < ?`,
        params: [context.name, seq],
      })),
    );
  }
  const rest = crawlTableNames.map((table) => ({
    sql: `DELETE FROM ${table} WHERE actor = ?`,
    params: [context.name],
  }));
  await state.clock.clear(rest, null);
  state.facts = null;
}
