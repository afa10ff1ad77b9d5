import { ApiError } from "../../http/api-error.ts";
import { isTransient } from "../input/errors.ts";
import { type WorkOutcome, workSpan, type WorkSpan } from "../../trace/traced-work.ts";
import type { CrawlWork } from "./crawl-deps.ts";
import { addPages, countAttempt, finishPage, queueAt, roomOf } from "./rows/crawl-pages.ts";
import type { CrawlFacts, CrawlState, HostQueue } from "./rows/crawl-state.ts";
import type { PageOutcome, WaitingPage } from "./rows/page-outcome.ts";
import { hostTurnsAt } from "./host-turns.ts";
import { loadSitemaps } from "./load-sitemaps.ts";
import type { PageVisit } from "./load-page.ts";
import { type Later, readPage } from "./read-page.ts";
import { allowsUse, mayRead, type Robots } from "./rules/robots.ts";
import { compileScope } from "./rules/scope.ts";
import { closeSite, rulesOf } from "./site-rules.ts";
import type { ScopeInput } from "./sort-links.ts";

/** Attempts of one page. */
const ATTEMPTS = 3;
/** Milliseconds after which a site is asked again, times the attempt; and what a site may ask for. */
const AGAIN_MS = 5000;
const AGAIN_MOST_MS = 300_000;
/** Milliseconds after which a page is asked for again that the network failed, and how they grow. */
const FAILED_MS = 1000;
const FAILED_GROWTH = 4;
/** Failures of the network in a row after which each further page of a host gets one attempt: the host is gone. */
const FAILURES = 3;
/** Links from the start to a page. */
const DEPTH = 100_000;

/** Takes the turn of a page's host and reads the page; where it is not its turn yet, notes when it is. */
export async function visitPage(
  state: CrawlState,
  deps: CrawlWork,
  page: WaitingPage,
  signal: AbortSignal,
): Promise<void> {
  const { facts, context } = state;
  if (facts === null) return;
  const url = new URL(page.url);
  const queue = queueAt(state, page.host);
  const known = state.robots.get(url.origin);
  const delayMs = delayOf(known ?? null, deps);
  const wait = await hostTurnsAt(context.actors, url.host).take(delayMs);
  if (wait > 0) return void (queue.next = context.steady() + wait);
  await countAttempt(state, page);
  const span = visitSpan(state, deps, facts, page);
  const work = readOrFail(state, deps, {
    facts,
    page,
    queue,
    signal,
    traceparent: span.traceparent,
  });
  const outcome = await span.of(work, outcomeOf);
  if (signal.aborted) return;
  const now = context.steady();
  if ("later" in outcome) {
    const pause = outcome.ms ?? AGAIN_MS * (page.attempts + 1);
    return void (queue.next = now + Math.min(AGAIN_MOST_MS, Math.max(delayMs, pause)));
  }
  queue.next = now + delayOf(state.robots.get(url.origin) ?? null, deps);
  await state.inTurn(() => finishPage(state, page, outcome, deps.limits.maxBytes));
}

/** Returns the span of an attempt to read a page. */
function visitSpan(
  { context }: CrawlState,
  { tracer }: CrawlWork,
  { trace }: CrawlFacts,
  { attempts, url }: WaitingPage,
): WorkSpan {
  return workSpan(tracer, trace, () => ({
    name: "crawl page",
    attributes: {
      "causey.part": "rendering",
      // The host alone: paths and queries of pages can hold keys.
      "server.address": new URL(url).hostname,
      "causey.crawl": context.name,
      "causey.attempt": attempts + 1,
    },
  }));
}

/** Returns the outcome of a visit for its span. */
function outcomeOf(outcome: PageOutcome | Later): WorkOutcome {
  if ("later" in outcome) return { error: "later" };
  const { browserMs = 0, meta, status } = outcome;
  return {
    error: status === "errored" ? String(meta?.status ?? "not_read") : null,
    attributes: {
      "causey.crawl.outcome": status,
      "causey.browser_ms": browserMs,
      "http.response.status_code": meta?.status ?? null,
    },
  };
}

function delayOf(robots: Robots | null, { limits }: CrawlWork): number {
  return robots?.delay == null ? limits.delayMs : Math.ceil(robots.delay * 1000);
}

const failed = (error: string): PageOutcome => ({ status: "errored", error });

interface Visit {
  readonly facts: CrawlFacts;
  readonly page: WaitingPage;
  readonly queue: HostQueue;
  readonly signal: AbortSignal;
  readonly traceparent: string | null;
}

/**
 * Reads a page and returns its outcome, failures included. Rejects only for faults that lie outside of the page and its
 * site.
 */
async function readOrFail(
  state: CrawlState,
  deps: CrawlWork,
  { facts, page, queue, signal, traceparent }: Visit,
): Promise<PageOutcome | Later> {
  const isLast = page.attempts + 1 >= ATTEMPTS;
  if (page.attempts >= ATTEMPTS) return failed(`Not read in ${ATTEMPTS} attempts`);
  try {
    const outcome = await read(state, deps, { facts, page, isLast, signal, traceparent });
    queue.failures = 0;
    return outcome;
  } catch (error) {
    if (signal.aborted || !(error instanceof ApiError)) throw error;
    // Not the page's fault: the browser has too much to do, or is being replaced.
    const isBusy = error.kind === "render_rate_limited" || error.kind === "no_browser";
    if (isBusy && !isLast) return { later: true, ms: null };
    const isNetwork = isTransient(error);
    if (isNetwork) queue.failures += 1;
    if (!isNetwork || isLast || queue.failures > FAILURES) return failed(error.message);
    return { later: true, ms: FAILED_MS * FAILED_GROWTH ** page.attempts };
  }
}

interface ReadInputs {
  readonly facts: CrawlFacts;
  readonly page: WaitingPage;
  readonly isLast: boolean;
  readonly signal: AbortSignal;
  readonly traceparent: string | null;
}

async function read(
  state: CrawlState,
  deps: CrawlWork,
  { facts, page, isLast, signal, traceparent }: ReadInputs,
): Promise<PageOutcome | Later> {
  const { input } = facts;
  const url = new URL(page.url);
  const robots = await siteRules(state, deps, { url, isLast, signal });
  if (robots === null) return { later: true, ms: null };
  if (!isAllowed(robots, url, facts)) return { status: "disallowed" };
  // Why a redirect was not followed.
  let refusal: "skipped" | "disallowed" | null = null;
  const follow = async (next: URL): Promise<void> => {
    refusal = await refusalOf(state, deps, { facts, page, url: next, signal });
    if (refusal !== null) throw new ApiError("blocked_url");
  };
  const homesAt = (final: URL): string[] =>
    page.seq === 0 ? [...new Set([...facts.homes, final.host])] : [...facts.homes];
  let home: URL | null = null;
  const visit: PageVisit = {
    url,
    isStart: page.seq === 0,
    isLast,
    body: input,
    traceparent,
    follow,
    scopeAt: (final) => {
      home = final;
      const isWanted = input.source !== "sitemaps" && page.depth < (input.depth ?? DEPTH);
      return isWanted ? scopeOf(facts, deps, homesAt(final)) : null;
    },
  };
  const outcome = await readPage(deps, visit, signal).catch((error: unknown): PageOutcome => {
    if (refusal === null) throw error;
    return { status: refusal };
  });
  if (page.seq !== 0 || "later" in outcome) return outcome;
  const homes = homesAt(home ?? url);
  const missing = await addSitemaps(state, deps, {
    facts,
    site: { origin: (home ?? url).origin, homes, robots },
    signal,
  });
  // Its own reason is the more important one.
  const error = outcome.error ?? missing;
  return { ...outcome, homes, ...(error === null ? {} : { error }) };
}

interface RulesInputs {
  readonly url: URL;
  readonly isLast: boolean;
  readonly signal: AbortSignal;
}

/** Returns the rules of a page's site; null while it cannot say, and a closed site when it could not at last. */
async function siteRules(
  state: CrawlState,
  deps: CrawlWork,
  { url: { origin }, isLast, signal }: RulesInputs,
): Promise<Robots | null> {
  const robots = await rulesOf(state, deps, origin, signal);
  return robots ?? (isLast ? closeSite(state, origin) : null);
}

function isAllowed(robots: Robots, url: URL, { input }: CrawlFacts): boolean {
  const purposes = input.crawlPurposes ?? ["search", "ai-input", "ai-train"];
  return mayRead(robots, url) && allowsUse(robots, { purposes, use: input.contentUse ?? "full" });
}

interface Candidate {
  readonly facts: CrawlFacts;
  readonly page: WaitingPage;
  readonly url: URL;
  readonly signal: AbortSignal;
}

/** Says why a crawl does not follow a redirect; null when it does. The start may lead to another host. */
async function refusalOf(
  state: CrawlState,
  deps: CrawlWork,
  { facts, page, url, signal }: Candidate,
): Promise<"skipped" | "disallowed" | null> {
  const scope = compileScope(facts.input.options ?? {}, deps.policy.allow);
  if (page.seq !== 0 && !scope.holds(url, facts.homes)) return "skipped";
  const robots = await siteRules(state, deps, { url, isLast: true, signal });
  return robots !== null && isAllowed(robots, url, facts) ? null : "disallowed";
}

function scopeOf(
  { input }: CrawlFacts,
  { allowHosts }: CrawlWork,
  homes: readonly string[],
): ScopeInput {
  return { options: input.options ?? {}, homes, allowHosts };
}

interface SiteInputs {
  readonly facts: CrawlFacts;
  readonly site: {
    readonly origin: string;
    readonly homes: readonly string[];
    readonly robots: Robots;
  };
  readonly signal: AbortSignal;
}

/** Adds the pages of the start's sitemaps, before those that it links to. Resolves to why some may be missing, or null. */
async function addSitemaps(
  state: CrawlState,
  deps: CrawlWork,
  { facts, site, signal }: SiteInputs,
): Promise<string | null> {
  const { source, depth, modifiedSince } = facts.input;
  if (source === "links" || depth === 0) return null;
  const { origin, homes } = site;
  const robots =
    (await siteRules(state, deps, { url: new URL(origin), isLast: true, signal })) ?? site.robots;
  const wish = {
    crawl: facts.input,
    origin,
    robots,
    scope: scopeOf(facts, deps, homes),
    since: modifiedSince === undefined ? null : modifiedSince * 1000,
    delayMs: delayOf(robots, deps),
    take: (pages: Parameters<typeof addPages>[1]) =>
      state.inTurn(async () => {
        await addPages(state, pages, 1);
        return state.facts === null ? 0 : roomOf(state.facts);
      }),
  };
  return loadSitemaps(deps, wish, roomOf(facts), signal);
}
