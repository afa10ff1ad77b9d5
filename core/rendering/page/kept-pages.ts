import { unusedSince } from "./pages-ahead.ts";
import { answering, endSession, type BrowserSession, type BrowserSessionDeps } from "./session.ts";

/**
 * Pages that have shown plain documents of one caller, for the next such document of the same caller. A page costs a process,
 * which takes several times as long as showing a small document.
 */
export interface KeptPages {
  /** A page that is blank again; undefined where there is none, or one more may be had. */
  take(owner: string): Promise<BrowserSession | undefined>;
  /** Takes over a page that has shown nothing but plain documents of its owner. */
  put(owner: string, session: BrowserSession): void;
}

/** Each document has a page of its own. */
export const noKeptPages: KeptPages = {
  take: () => Promise.resolve(undefined),
  // Never called: nothing was taken.
  put: () => undefined,
};

/** Documents that a page shows: then it is thrown away with all that the browser has gathered in its process. */
const MOST_USES = 50;

interface KeptPage {
  readonly owner: string;
  readonly session: BrowserSession;
  /** Whether it has become blank again; false when it is gone. */
  readonly ready: Promise<boolean>;
  isReady: boolean;
}

/** Keeps up to `count` pages of all callers together; those that have waited longest make room. */
export function keptPages(count: number, deps: BrowserSessionDeps): KeptPages {
  if (count === 0) return noKeptPages;
  const { system } = deps;
  const resting = new Set<KeptPage>();
  const uses = new WeakMap<BrowserSession, number>();
  let asked = 0;
  let isWatching = false;
  const end = (kept: KeptPage): void => {
    if (resting.delete(kept)) throwAway(deps, kept.session);
  };
  const watch = (): void => {
    if (isWatching) return;
    isWatching = true;
    const endAll = (): void => {
      isWatching = false;
      for (const kept of resting) end(kept);
    };
    unusedSince(system, () => asked).then(endAll, () => undefined);
  };
  return {
    async take(owner) {
      asked = system.monotonic();
      const own = [...resting].filter((kept) => kept.owner === owner);
      // One that is being cleaned is waited for only where no further one may be made.
      const kept =
        own.find(({ isReady }) => isReady) ?? (resting.size < count ? undefined : own[0]);
      if (kept === undefined) return undefined;
      resting.delete(kept);
      return (await kept.ready) ? kept.session : undefined;
    },
    put(owner, session) {
      const used = (uses.get(session) ?? 0) + 1;
      uses.set(session, used);
      session.tab.job = null;
      if (used >= MOST_USES || system.closing?.aborted === true) return throwAway(deps, session);
      const kept: KeptPage = { owner, session, ready: blankAgain(deps, session), isReady: false };
      kept.ready.then(
        (isBlank) => {
          kept.isReady = true;
          if (!isBlank) resting.delete(kept);
        },
        () => undefined,
      );
      session.cdp.ended.catch(() => end(kept));
      resting.add(kept);
      for (const oldest of resting) if (resting.size > count) end(oldest);
      watch();
    },
  };
}

function throwAway(deps: BrowserSessionDeps, session: BrowserSession): void {
  void endSession(deps, { ...session, context: session.tab.context });
}

/** Leaves the document; false when the page does not get there, and is gone. */
async function blankAgain(
  deps: BrowserSessionDeps,
  { wire, cdp, tab }: BrowserSession,
): Promise<boolean> {
  const never = new AbortController().signal;
  try {
    await answering(deps, { wire, cdp, context: () => tab.context }, never, async () => {
      tab.lifecycle.restart("replaced");
      await cdp.call("Page.navigate", { url: "about:blank" }, tab.main?.session);
      await tab.lifecycle.reached(["load"], never);
    });
    return !tab.hasActed;
  } catch {
    return false;
  }
}
