import type { CdpEvent } from "../cdp/cdp.ts";

/** The two events of a document that loads wait for, in Chromium's spelling. */
export type DocumentEvent = "DOMContentLoaded" | "load";

/** The events so far in the main frame of a page. */
export interface Lifecycle {
  /** Feeds an event of the page's own target. */
  see(event: CdpEvent): void;
  /** Resolves when the events have happened to the current document. */
  reached(events: readonly DocumentEvent[], signal: AbortSignal): Promise<void>;
  /**
   * Forgets the current document: before a navigation away from it (`replaced`, so that its late events do
   * not count for the next one), or before new markup is written into it.
   */
  restart(how: "replaced" | "rewritten"): void;
  /** The page navigates: unless a new document comes, the one that is shown is as loaded as it will ever be. */
  leaves(): void;
  /** Whether a navigation that came to nothing stopped the document before its end. */
  readonly isCut: boolean;
}

/** Follows `Page.lifecycleEvent` of the main frame. */
export function followLifecycle(mainFrame: () => string): Lifecycle {
  let names = new Set<string>();
  let loader = "";
  let stale: string | null = null;
  let leaving = false;
  let isCut = false;
  const waiting = new Set<() => void>();
  return {
    get isCut() {
      return isCut;
    },
    see({ method, params }) {
      // Chromium stops reading a document that navigates, and never says that it is loaded.
      if (method === "Page.frameStoppedLoading" && params["frameId"] === mainFrame() && leaving) {
        leaving = false;
        isCut ||= !names.has("DOMContentLoaded");
        names.add("DOMContentLoaded").add("load");
        for (const check of waiting) check();
        return;
      }
      if (
        method !== "Page.lifecycleEvent" ||
        params["frameId"] !== mainFrame() ||
        params["loaderId"] === stale
      )
        return;
      const name = String(params["name"]);
      // "init" starts a new document in the frame.
      if (name === "init") {
        names = new Set();
        leaving = false;
        isCut = false;
      }
      loader = String(params["loaderId"]);
      names.add(name);
      for (const check of waiting) check();
    },
    reached: (events, signal) =>
      reach(waiting, () => events.every((event) => names.has(event)), signal),
    restart(how) {
      names = new Set();
      leaving = false;
      isCut = false;
      if (how === "replaced") stale = loader;
    },
    leaves() {
      leaving = true;
    },
  };
}

/** Resolves when a check holds that is made again at every call of the functions in `waiting`. */
function reach(
  waiting: Set<() => void>,
  isReached: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = (): void => {
      if (!isReached()) return;
      settle();
      resolve();
    };
    const abort = (): void => {
      settle();
      reject(signal.reason);
    };
    const settle = (): void => {
      waiting.delete(check);
      signal.removeEventListener("abort", abort);
    };
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    waiting.add(check);
    check();
  });
}
