import type { Job } from "../job/job.ts";
import { unusedSince } from "./pages-ahead.ts";
import { endSession, type BrowserSession, type BrowserSessionDeps } from "./session.ts";

/**
 * Pages that have shown plain documents of one caller, for the next such document of the same caller. A page costs a process,
 * which takes several times as long as showing a small document.
 */
export interface KeptPages {
  /** Whether a job shows a plain document (`plain-document.ts`). */
  isFor(job: Job): Promise<boolean>;
  /** The page that has waited for the shortest time; undefined where there is none. */
  take(owner: string): BrowserSession | undefined;
  /** Takes over a page that has shown nothing but plain documents of its owner. */
  put(owner: string, session: BrowserSession): void;
}

/** Each document has a page of its own. */
export const noKeptPages: KeptPages = {
  isFor: () => Promise.resolve(false),
  take: () => undefined,
  // Never called: no job is for it.
  put: () => undefined,
};

/** Documents that a page shows: then it is thrown away with all that the browser has gathered in its process. */
const MOST_USES = 50;

interface KeptPage {
  readonly owner: string;
  readonly session: BrowserSession;
}

/** Keeps up to `count` pages of all callers together; those that have waited longest make room. */
export function keptPages(count: number, deps: BrowserSessionDeps): KeptPages {
  if (count === 0) return noKeptPages;
  const { system } = deps;
  const resting = new Set<KeptPage>();
  const uses = new WeakMap<BrowserSession, number>();
  let asked = 0;
  let plainDocument: typeof import("./plain-document.ts") | undefined;
  let isWatching = false;
  const throwAway = (session: BrowserSession): void =>
    void endSession(deps, { ...session, context: session.tab.context });
  const end = (kept: KeptPage): void => {
    if (resting.delete(kept)) throwAway(kept.session);
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
    async isFor(job) {
      // The parser of HTML is loaded with the first document, not with the program.
      plainDocument ??= await import("./plain-document.ts");
      return plainDocument.isPlainJob(job);
    },
    take(owner) {
      asked = system.monotonic();
      for (const kept of [...resting].toReversed()) {
        if (kept.owner !== owner) continue;
        if (kept.session.tab.hasActed) end(kept);
        else {
          resting.delete(kept);
          return kept.session;
        }
      }
      return undefined;
    },
    put(owner, session) {
      const { tab, cdp } = session;
      const used = (uses.get(session) ?? 0) + 1;
      uses.set(session, used);
      // Without a job, requests that its document still makes are refused.
      tab.job = null;
      tab.answeredAt = system.monotonic();
      if (used >= MOST_USES || system.closing?.aborted === true) return throwAway(session);
      const kept: KeptPage = { owner, session };
      cdp.ended.catch(() => end(kept));
      resting.add(kept);
      for (const oldest of resting) if (resting.size > count) end(oldest);
      watch();
    },
  };
}
