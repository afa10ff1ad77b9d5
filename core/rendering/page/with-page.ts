import { ApiError } from "../../http/api-error.ts";
import type { Wire } from "../../ports.ts";
import { openCdp, type Cdp } from "./cdp.ts";
import type { Job } from "../job.ts";
import { openPage, type Page, type PageDeps } from "./page.ts";
import { within } from "../timers.ts";

/** How long a browser may take to start and accept a connection, to open a page, and to dispose of it, in ms. */
const CONNECT_MS = 60_000;
const OPEN_MS = 10_000;
const DISPOSE_MS = 10_000;

/** DevTools ids have 31 bits; the session counts up from 1. */
const DISPOSE_ID = 2_147_483_647;

interface Session {
  readonly wire: Wire;
  readonly cdp: Cdp;
  readonly context: string;
  readonly page: Page;
}

/**
 * Opens a page in a fresh browser context, hands it to `use`, and disposes of the context on every way out:
 * nothing (cookies, storage, cache, service workers) survives, and nothing of the page runs on. When the browser dies
 * or hangs before the page has begun, another one is tried once. A browser that hangs is replaced.
 */
export async function withPage<T>(
  deps: PageDeps,
  job: Job,
  signal: AbortSignal,
  use: (page: Page) => Promise<T>,
): Promise<T> {
  const session = await openSession(deps, job, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof LostBrowser) return openSession(deps, job, signal);
    throw error;
  });
  try {
    return await Promise.race([use(session.page), session.cdp.ended]);
  } finally {
    endSession(deps, session);
  }
}

/** The browser died or hung before the page had begun. */
class LostBrowser extends ApiError {}

async function openSession(deps: PageDeps, job: Job, signal: AbortSignal): Promise<Session> {
  const { system, requestMs } = deps;
  const wire = await connect(deps, signal);
  const cdp = openCdp(wire, { system, signal, callMs: requestMs });
  let context: string | null = null;
  const open = async (): Promise<Session> => {
    const made = await cdp.call("Target.createBrowserContext", { disposeOnDetach: true });
    context = String(made["browserContextId"]);
    return { wire, cdp, context, page: await openPage(cdp, deps, job, context) };
  };
  try {
    // A third, so that the second attempt still fits into the request's time.
    const ms = Math.min(OPEN_MS, requestMs / 3);
    return await within(ms, system, signal, hung, () => Promise.race([open(), cdp.ended]));
  } catch (error) {
    if (error instanceof LostBrowser) {
      cdp.fail(error);
      killBrowser(wire);
    } else endSession(deps, { wire, cdp, context });
    if (!(error instanceof ApiError) || error.kind !== "no_browser") throw error;
    throw new LostBrowser("no_browser", { ...error.options, cause: error });
  }
}

function hung(): LostBrowser {
  return new LostBrowser("no_browser", {
    message: "The browser did not open a page in time",
    headers: { "retry-after": "1" },
  });
}

/** A connection that comes too late is closed at once. */
async function connect(deps: PageDeps, signal: AbortSignal): Promise<Wire> {
  const { browser, system, requestMs } = deps;
  const tooLate = (): ApiError =>
    new ApiError("no_browser", {
      message: "The browser did not start in time",
      headers: { "retry-after": "5" },
    });
  return within(Math.min(CONNECT_MS, requestMs / 2), system, signal, tooLate, async (inner) => {
    const wire = await browser.connect({ signal });
    if (inner.aborted) wire.close();
    return wire;
  });
}

/**
 * Closes the connection when the browser has disposed of the context; one that does not is replaced. Told on the wire
 * itself, because after an abort the session takes no more calls.
 */
function endSession(
  { system }: PageDeps,
  session: Omit<Session, "page" | "context"> & { readonly context: string | null },
): void {
  const { wire, cdp, context } = session;
  cdp.fail(new ApiError("page_crashed", { message: "The page was closed" }));
  if (context === null) return wire.close();
  const done = new AbortController();
  wire.onClose(() => done.abort());
  wire.onMessage((text) => {
    if (text.startsWith(`{"id":${DISPOSE_ID},`)) done.abort();
  });
  const params = { browserContextId: context };
  wire.send(JSON.stringify({ id: DISPOSE_ID, method: "Target.disposeBrowserContext", params }));
  system.waitUntil(
    system.sleep(DISPOSE_MS, done.signal).then(
      () => killBrowser(wire),
      () => wire.close(),
    ),
  );
}

function killBrowser(wire: Wire): void {
  if (wire.kill === undefined) wire.close();
  else wire.kill();
}
