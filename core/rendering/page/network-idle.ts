import { isObject } from "../../http/json.ts";
import type { System } from "../../ports.ts";
import type { CdpEvent } from "../cdp/cdp.ts";

/** How long the network must be quiet, in ms (docs/compatibility.md). */
const QUIET_MS = 500;

/** The requests of a page that are under way, in all its frames and workers. */
export interface NetworkActivity {
  /** Feeds an event of any of the page's targets. */
  see(event: CdpEvent): void;
  /** Resolves when at most `limit` requests have been under way for 500 ms on end. */
  quiet(limit: number, signal: AbortSignal): Promise<void>;
}

/**
 * Counts requests from DevTools events. Chromium's own idle events come 2 s late for markup that loads
 * nothing, which is what most `html` renderings are.
 */
export function followNetwork(system: System): NetworkActivity {
  const open: Requests = new Map();
  const watchers = new Set<() => void>();
  return {
    see({ method, params }) {
      // The page asks for a worker's script, and the worker tells that it has come.
      const key = String(params["requestId"]);
      if (method === "Network.requestWillBeSent")
        open.set(key, { frame: String(params["frameId"]), document: String(params["loaderId"]) });
      else if (method === "Network.loadingFinished" || method === "Network.loadingFailed")
        open.delete(key);
      else if (method === "Page.frameDetached") forgetFrame(open, String(params["frameId"]), null);
      else if (method === "Page.frameNavigated") forgetFormer(open, params["frame"]);
      else return;
      for (const changed of watchers) changed();
    },
    async quiet(limit, signal) {
      for (;;) {
        if (open.size > limit) {
          await nextChange(watchers, signal);
          continue;
        }
        const change = new AbortController();
        const changed = (): void => {
          if (open.size > limit) change.abort();
        };
        watchers.add(changed);
        try {
          await system.sleep(QUIET_MS, AbortSignal.any([signal, change.signal]));
          return;
        } catch (error) {
          signal.throwIfAborted();
          if (!change.signal.aborted) throw error;
        } finally {
          watchers.delete(changed);
        }
      }
    },
  };
}

/** Requests of a frame that goes away, or of the document that it had before, get no end of their own. */
type Requests = Map<string, { readonly frame: string; readonly document: string }>;

/** Forgets the requests of a frame, but for those of one document. */
function forgetFrame(open: Requests, frame: string, kept: string | null): void {
  for (const [key, owner] of open)
    if (owner.frame === frame && owner.document !== kept) open.delete(key);
}

/** Forgets what a frame's former document asked for, such as the answer of the proxy's login. */
function forgetFormer(open: Requests, frame: unknown): void {
  if (isObject(frame)) forgetFrame(open, String(frame["id"]), String(frame["loaderId"]));
}

function nextChange(watchers: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (): void => {
      watchers.delete(done);
      signal.removeEventListener("abort", abort);
      resolve();
    };
    const abort = (): void => {
      watchers.delete(done);
      reject(signal.reason);
    };
    if (signal.aborted) return abort();
    watchers.add(done);
    signal.addEventListener("abort", abort, { once: true });
  });
}
