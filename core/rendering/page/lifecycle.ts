import type { ApiError } from "../../http/api-error.ts";
import type { CdpData, CdpEvent } from "../cdp/cdp.ts";
import { networkFailure } from "../input/errors.ts";

/** The two events of a document that loads wait for, in Chromium's spelling. */
export type DocumentEvent = "DOMContentLoaded" | "load";

/** The events so far in the main frame of a page. */
export interface Lifecycle {
  /** Feeds an event of the page's own target. */
  see(event: CdpEvent): void;
  /**
   * Resolves when the events have happened to the current document.
   *
   * @throws ApiError the failure of the network when the document broke off before its end
   */
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

/** The facts about the current document. */
interface DocumentFacts {
  readonly names: Set<string>;
  leaving: boolean;
  isCut: boolean;
  broken: ApiError | null;
}

const newDocument = (): DocumentFacts => ({
  names: new Set(),
  leaving: false,
  isCut: false,
  broken: null,
});

/** Follows `Page.lifecycleEvent` of the main frame. */
export function followLifecycle(mainFrame: () => string): Lifecycle {
  let document = newDocument();
  let loader = "";
  let stale: string | null = null;
  const waiting = new Set<() => void>();
  const isSeen = ({ method, params }: CdpEvent): boolean => {
    if (method === "Network.loadingFailed")
      return params["requestId"] === loader && breakOff(document, params);
    if (params["frameId"] !== mainFrame()) return false;
    if (method === "Page.frameStoppedLoading") return stop(document);
    if (method !== "Page.lifecycleEvent" || params["loaderId"] === stale) return false;
    const name = String(params["name"]);
    // "init" starts a new document in the frame.
    if (name === "init") document = newDocument();
    loader = String(params["loaderId"]);
    document.names.add(name);
    return true;
  };
  return {
    get isCut() {
      return document.isCut;
    },
    see(event) {
      if (isSeen(event)) for (const check of waiting) check();
    },
    reached(events, signal) {
      const isReached = (): boolean => {
        if (events.every((event) => document.names.has(event))) return true;
        if (document.broken !== null) throw document.broken;
        return false;
      };
      return reach(waiting, isReached, signal);
    },
    restart(how) {
      document = newDocument();
      if (how === "replaced") stale = loader;
    },
    leaves() {
      document.leaving = true;
    },
  };
}

/** Chromium never says that a document is loaded whose last byte has not come. Its request is named as its loader. */
function breakOff(document: DocumentFacts, params: CdpData): boolean {
  if (params["canceled"] === true || document.names.has("DOMContentLoaded")) return false;
  document.broken = networkFailure(String(params["errorText"]));
  return true;
}

/** Chromium stops reading a document that navigates, and never says that it is loaded. */
function stop(document: DocumentFacts): boolean {
  if (!document.leaving) return false;
  document.leaving = false;
  document.isCut ||= !document.names.has("DOMContentLoaded");
  document.names.add("DOMContentLoaded").add("load");
  return true;
}

/** Resolves when a check holds, and rejects when it throws. It is made again at every call of the functions in `waiting`. */
function reach(
  waiting: Set<() => void>,
  isReached: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = (): void => {
      try {
        if (!isReached()) return;
        resolve();
      } catch (error) {
        reject(error);
      }
      settle();
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
