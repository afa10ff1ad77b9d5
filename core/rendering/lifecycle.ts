import type { CdpEvent } from "./cdp.ts";

/** The two events of a document that loads wait for, in Chromium's spelling. */
export type DocumentEvent = "DOMContentLoaded" | "load";

/** What has happened in the main frame of a page. */
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
}

/** Follows `Page.lifecycleEvent` of the main frame. */
export function followLifecycle(mainFrame: () => string): Lifecycle {
  let names = new Set<string>();
  let loader = "";
  let stale: string | null = null;
  const waiting = new Set<() => void>();
  return {
    see({ method, params }) {
      if (
        method !== "Page.lifecycleEvent" ||
        params["frameId"] !== mainFrame() ||
        params["loaderId"] === stale
      )
        return;
      const name = String(params["name"]);
      // "init" starts a new document in the frame.
      if (name === "init") names = new Set();
      loader = String(params["loaderId"]);
      names.add(name);
      for (const check of waiting) check();
    },
    reached(events, signal) {
      return new Promise((resolve, reject) => {
        const check = (): void => {
          if (!events.every((event) => names.has(event))) return;
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
    },
    restart(how) {
      names = new Set();
      if (how === "replaced") stale = loader;
    },
  };
}
