import {
  endSession,
  openSession,
  type BrowserSession,
  type BrowserSessionDeps,
} from "./session.ts";

/** Blank pages that are made before anybody asks for them. Each is used once. */
export interface PagesAhead {
  /** The page that has waited longest; undefined when none is ready. A rendering begins, which `closing` ends. */
  take(): BrowserSession | undefined;
  /** Makes as many as are missing, now or after the rendering; call it when the one that took a page, or found none, has begun. */
  refill(): void;
  /** Tells that a rendering is over, and its page is being disposed of until `over`. */
  closing(over: Promise<void>): void;
}

/** Unused pages are thrown away after this time, so that an idle browser can end, in ms. */
const UNUSED_MS = 30_000;

/** The runtime has no pages ahead: each connection belongs to the request that opened it. */
export const noPagesAhead: PagesAhead = {
  take: () => undefined,
  refill: () => undefined,
  closing: () => undefined,
};

/**
 * Keeps up to `count` blank pages ready. They are made from the first request on, after each that is taken; when the
 * browser does not make one, the next request finds out why.
 *
 * Each page is a process of its own, and under load those that are ready would only take memory: together with those in
 * use and those being disposed of they are one more than are in use, or than `count`.
 */
export function pagesAhead(count: number, deps: BrowserSessionDeps): PagesAhead {
  const { system } = deps;
  const ready = new Set<BrowserSession>();
  const ending = system.closing ?? new AbortController().signal;
  let [using, opening, closing, asked] = [0, 0, 0, 0];
  // Quiet: the last rendering found no other one, and no page that was being made or disposed of.
  let [isWatching, isQuiet] = [false, false];
  const open = async (): Promise<void> => {
    opening += 1;
    try {
      const session = await openSession(deps, ending);
      session.cdp.endWith(ending);
      ready.add(session);
      session.cdp.ended.catch(() => {
        if (ready.has(session)) end(session);
      });
      watch();
    } finally {
      opening -= 1;
    }
  };
  const fill = (): void => {
    const all = (): number => using + ready.size + opening + closing;
    while (ready.size + opening < count && all() <= Math.max(count, using))
      open().catch(() => undefined);
  };
  /** Throws the pages away when none was taken for a while. */
  const watch = (): void => {
    if (isWatching) return;
    isWatching = true;
    const throwAway = (): void => {
      for (const session of ready) end(session);
      isWatching = false;
    };
    unusedSince(system, () => asked).then(throwAway, () => undefined);
  };
  const end = (session: BrowserSession): void => {
    ready.delete(session);
    void endSession(deps, { ...session, context: session.tab.context });
  };
  return {
    take() {
      asked = system.monotonic();
      isQuiet = using + opening + closing === 0;
      using += 1;
      const [session] = ready;
      if (session !== undefined) ready.delete(session);
      return session;
    },
    refill() {
      // A rendering that begins in quiet has the processors to itself while one more page is ready.
      if (!isQuiet || ready.size === 0) fill();
    },
    closing(over) {
      using -= 1;
      closing += 1;
      void over.finally(() => {
        closing -= 1;
        fill();
      });
    },
  };
}

/** Resolves when the last question is half a minute ago. */
export async function unusedSince(
  system: BrowserSessionDeps["system"],
  asked: () => number,
): Promise<void> {
  for (let left = UNUSED_MS; left > 0; left = asked() + UNUSED_MS - system.monotonic())
    await system.sleep(left, system.closing);
}
