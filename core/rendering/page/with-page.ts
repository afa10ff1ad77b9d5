import { ApiError } from "../../http/api-error.ts";
import type { Job } from "../job/job.ts";
import type { KeptPages } from "./kept-pages.ts";
import { openPage, type Page } from "./page.ts";
import type { PagesAhead } from "./pages-ahead.ts";
import { answering, endSession, LostBrowser, openSession } from "./session.ts";
import type { BrowserSession, BrowserSessionDeps } from "./session.ts";

export interface PageDeps extends BrowserSessionDeps {
  readonly ahead: PagesAhead;
  readonly kept: KeptPages;
}

/**
 * Hands a blank page in a browser context of its own to `use`, and disposes of the context on every way out: nothing
 * (cookies, storage, cache, service workers) survives, and nothing of the page runs on. A plain document, which can do
 * nothing but be shown, gets a page that has shown such documents of the same caller before; when it does anything else
 * after all, it is shown once more in a page of its own. When the browser dies or hangs before the page has opened, another one is
 * tried once, and so is another page when one crashes as it begins. A browser that hangs is replaced.
 */
export async function withPage<T>(
  deps: PageDeps,
  job: Job,
  signal: AbortSignal,
  use: (page: Page) => Promise<T>,
): Promise<T> {
  const { requester: known = null } = job;
  const requester = known !== null && (await deps.kept.isFor(job)) ? known : null;
  const session = requester === null ? undefined : deps.kept.take(requester);
  if (requester !== null && session !== undefined) {
    const done = await inKeptPage(deps, { job, session, owner: requester }, signal, use);
    if (done !== null) return done.result;
  }
  const begunAt = deps.system.monotonic();
  try {
    return await inOwnPage(deps, job, { requester, signal, use });
  } catch (error) {
    signal.throwIfAborted();
    if (!isCrash(error) || !mayBeginAgain(job, deps.system.monotonic() - begunAt)) throw error;
    return inOwnPage(deps, job, { requester, signal, use });
  }
}

/**
 * For so many ms a crash is the browser's own: about one page of 500 with a file of another site is killed by Chromium 153 ("bad IPC
 * message, reason 262") as it begins. A document that takes too much memory lives longer.
 */
const CRASH_AT_START_MS = 3000;

/** Whether a page that crashed may be loaded once more: no action has run on it. */
function mayBeginAgain({ body }: Job, ms: number): boolean {
  return ms < CRASH_AT_START_MS && (body.actions ?? []).length === 0;
}

/** Shows a plain document in a page that has shown others; null where that does not do. */
async function inKeptPage<T>(
  deps: PageDeps,
  { job, session, owner }: { readonly job: Job; readonly session: BrowserSession; owner: string },
  signal: AbortSignal,
  use: (page: Page) => Promise<T>,
): Promise<{ readonly result: T } | null> {
  const opened = await giveTab(deps, session, { job, signal, isUsed: true }).catch(
    (error: unknown) => {
      signal.throwIfAborted();
      if (isLost(error)) return null;
      throw error;
    },
  );
  if (opened === null) return null;
  let isWhole = false;
  try {
    const result = await Promise.race([use(opened.page), session.cdp.ended]);
    isWhole = !session.tab.hasActed;
    return isWhole ? { result } : null;
  } catch (error) {
    signal.throwIfAborted();
    if (session.tab.hasActed) return null;
    throw error;
  } finally {
    opened.detach();
    if (isWhole) deps.kept.put(owner, session);
    else void endSession(deps, { ...session, context: session.tab.context });
  }
}

interface PageUse<T> {
  readonly requester: string | null;
  readonly signal: AbortSignal;
  readonly use: (page: Page) => Promise<T>;
}

/** Uses a page of its own, which is kept for further plain documents of `requester`; null = it is not kept. */
async function inOwnPage<T>(
  deps: PageDeps,
  job: Job,
  { requester, signal, use }: PageUse<T>,
): Promise<T> {
  const ahead = deps.ahead.take();
  const first =
    ahead === undefined ? openNew(deps, job, signal) : giveTab(deps, ahead, { job, signal });
  let over = Promise.resolve();
  try {
    const { session, page, detach } = await first.catch((error: unknown) => {
      signal.throwIfAborted();
      if (isLost(error)) return openNew(deps, job, signal);
      throw error;
    });
    deps.ahead.refill();
    let isWhole = false;
    try {
      const result = await Promise.race([use(page), session.cdp.ended]);
      isWhole = true;
      return result;
    } finally {
      detach();
      if (isWhole && requester !== null && !session.tab.hasActed) deps.kept.put(requester, session);
      else over = endSession(deps, { ...session, context: session.tab.context });
    }
  } finally {
    deps.ahead.closing(over);
  }
}

interface OpenedPage {
  readonly session: BrowserSession;
  readonly page: Page;
  /** From then on, the job's signal means nothing to the session. */
  readonly detach: () => void;
}

async function openNew(deps: PageDeps, job: Job, signal: AbortSignal): Promise<OpenedPage> {
  return giveTab(deps, await openSession(deps, signal), { job, signal });
}

interface TabUse {
  readonly job: Job;
  readonly signal: AbortSignal;
  readonly isUsed?: boolean | undefined;
}

async function giveTab(
  deps: PageDeps,
  session: BrowserSession,
  { job, signal, isUsed = false }: TabUse,
): Promise<OpenedPage> {
  const { wire, cdp, tab } = session;
  const detach = cdp.endWith(signal);
  const page = await answering(deps, { wire, cdp, context: () => tab.context }, signal, () =>
    openPage(tab, job, isUsed),
  );
  return { session, page, detach };
}

/** Nothing of the job has run: the browser is gone, or the blank page is. */
function isLost(error: unknown): boolean {
  return error instanceof LostBrowser || isCrash(error);
}

function isCrash(error: unknown): boolean {
  return error instanceof ApiError && error.kind === "page_crashed";
}
