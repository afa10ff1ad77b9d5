import { ApiError } from "../../http/api-error.ts";
import type { Job } from "../job.ts";
import { openPage, type Page } from "./page.ts";
import type { PagesAhead } from "./pages-ahead.ts";
import { answering, endSession, LostBrowser, openSession } from "./session.ts";
import type { BrowserSession, BrowserSessionDeps } from "./session.ts";

/** What pages need from their surroundings. */
export interface PageDeps extends BrowserSessionDeps {
  readonly ahead: PagesAhead;
}

/**
 * Takes a blank page in a fresh browser context, hands it to `use`, and disposes of the context on every way out:
 * nothing (cookies, storage, cache, service workers) survives, and nothing of the page runs on. When the browser dies
 * or hangs before the page has begun, another one is tried once. A browser that hangs is replaced.
 */
export async function withPage<T>(
  deps: PageDeps,
  job: Job,
  signal: AbortSignal,
  use: (page: Page) => Promise<T>,
): Promise<T> {
  const ahead = deps.ahead.take();
  const first = ahead === undefined ? begin(deps, job, signal) : assign(deps, ahead, job, signal);
  let over = Promise.resolve();
  try {
    const { session, page } = await first.catch((error: unknown) => {
      signal.throwIfAborted();
      if (isLost(error)) return begin(deps, job, signal);
      throw error;
    });
    deps.ahead.refill();
    try {
      return await Promise.race([use(page), session.cdp.ended]);
    } finally {
      over = endSession(deps, { ...session, context: session.tab.context });
    }
  } finally {
    deps.ahead.closing(over);
  }
}

interface Begun {
  readonly session: BrowserSession;
  readonly page: Page;
}

async function begin(deps: PageDeps, job: Job, signal: AbortSignal): Promise<Begun> {
  return assign(deps, await openSession(deps, signal), job, signal);
}

async function assign(
  deps: PageDeps,
  session: BrowserSession,
  job: Job,
  signal: AbortSignal,
): Promise<Begun> {
  const { wire, cdp, tab } = session;
  cdp.endWith(signal);
  const page = await answering(deps, { wire, cdp, context: () => tab.context }, signal, () =>
    openPage(tab, job),
  );
  return { session, page };
}

/** Nothing of the job has run: the browser is gone, or the blank page is. */
function isLost(error: unknown): boolean {
  return (
    error instanceof LostBrowser || (error instanceof ApiError && error.kind === "page_crashed")
  );
}
