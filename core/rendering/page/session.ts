import { ApiError } from "../../http/api-error.ts";
import type { Browser, Wire } from "../../ports.ts";
import { within } from "../input/timers.ts";
import { openCdp, type Cdp } from "../cdp/cdp.ts";
import { openTab, type Tab, type TabDeps } from "./tab.ts";

export interface BrowserSessionDeps extends TabDeps {
  readonly browser: Browser;
  /** The whole request, queue included, in ms. */
  readonly requestMs: number;
}

/** A connection to the browser with one blank tab in a browser context of its own. */
export interface BrowserSession {
  readonly wire: Wire;
  readonly cdp: Cdp;
  readonly tab: Tab;
}

/** How long a browser may take to start and accept a connection, to open a page, and to dispose of it, in ms. */
const CONNECT_MS = 60_000;
const OPEN_MS = 10_000;
const DISPOSE_MS = 10_000;

/** DevTools ids have 31 bits; the session counts up from 1. */
const DISPOSE_ID = 2_147_483_647;

/** The browser died or hung before the page had begun. */
export class LostBrowser extends ApiError {}

/**
 * Opens a session. One that does not open in time, or whose caller has left, is disposed of. Once it is open, the signal
 * has no effect any more.
 */
export async function openSession(
  deps: BrowserSessionDeps,
  signal: AbortSignal,
): Promise<BrowserSession> {
  const wire = await connect(deps, signal);
  const cdp = openCdp(wire, { system: deps.system, callMs: deps.requestMs });
  const detach = cdp.endWith(signal);
  let context: string | null = null;
  const open = async (): Promise<BrowserSession> => {
    const made = await cdp.call("Target.createBrowserContext", { disposeOnDetach: true });
    context = String(made["browserContextId"]);
    return { wire, cdp, tab: await openTab(cdp, deps, context) };
  };
  const session = await answering(deps, { wire, cdp, context: () => context }, signal, open);
  detach();
  return session;
}

/**
 * Does something with a browser that has to answer in time: one that does not is replaced, and any other failure ends
 * the session.
 *
 * @throws LostBrowser when the browser died or hung
 */
export async function answering<T>(
  deps: BrowserSessionDeps,
  session: { readonly wire: Wire; readonly cdp: Cdp; readonly context: () => string | null },
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const { wire, cdp } = session;
  // A third, so that the second attempt still fits into the request's time.
  const ms = Math.min(OPEN_MS, deps.requestMs / 3);
  try {
    return await within({ ms, system: deps.system, signal, expired: hung }, () =>
      Promise.race([work(), cdp.ended]),
    );
  } catch (error) {
    if (error instanceof LostBrowser) {
      cdp.fail(error);
      killBrowser(wire);
    } else void endSession(deps, { wire, cdp, context: session.context() });
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
async function connect(deps: BrowserSessionDeps, signal: AbortSignal): Promise<Wire> {
  const { browser, system, requestMs } = deps;
  const tooLate = (): ApiError =>
    new ApiError("no_browser", {
      message: "The browser did not start in time",
      headers: { "retry-after": "5" },
    });
  return within(
    { ms: Math.min(CONNECT_MS, requestMs / 2), system, signal, expired: tooLate },
    async (inner) => {
      const wire = await browser.connect({ signal });
      if (inner.aborted) wire.close();
      return wire;
    },
  );
}

/**
 * Closes the connection when the browser has disposed of the context; one that does not is replaced. Told on the wire
 * itself, because after an abort the session takes no more calls. Resolves when it is over.
 */
export function endSession(
  { system }: BrowserSessionDeps,
  session: { readonly wire: Wire; readonly cdp: Cdp; readonly context: string | null },
): Promise<void> {
  const { wire, cdp, context } = session;
  cdp.fail(new ApiError("page_crashed", { message: "The page was closed" }));
  if (context === null) {
    wire.close();
    return Promise.resolve();
  }
  const done = new AbortController();
  wire.onClose(() => done.abort());
  wire.onMessage((text) => {
    if (text.startsWith(`{"id":${DISPOSE_ID},`)) done.abort();
  });
  const params = { browserContextId: context };
  wire.send(JSON.stringify({ id: DISPOSE_ID, method: "Target.disposeBrowserContext", params }));
  const over = system.sleep(DISPOSE_MS, done.signal).then(
    () => killBrowser(wire),
    () => wire.close(),
  );
  system.waitUntil(over);
  return over;
}

function killBrowser(wire: Wire): void {
  if (wire.kill === undefined) wire.close();
  else wire.kill();
}
