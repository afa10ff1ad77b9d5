import { useEffect, useState } from "preact/hooks";
import type { Overview as Figures } from "../core/console/feed.ts";
import type { Health } from "../core/signals/health.ts";
import type { RequestRow } from "../core/signals/requests/request-row.ts";
import { eventsOf, openFeed } from "./api.ts";

/** Figures of the last hour. */
export interface Overview extends Figures {
  readonly health: Health;
}

/** Everything that came over the stream. */
export interface Live {
  readonly isConnected: boolean;
  /** Why the stream did not open, or broke. */
  readonly error: string | null;
  readonly overview: Overview | null;
  /** Newest first. */
  readonly rows: readonly RequestRow[];
}

/** Rows that the page keeps. */
const KEPT = 1000;
/** Milliseconds before the stream is opened again. */
const AGAIN_MS = 2000;

/** Follows the one stream of the console, and opens it again when it breaks. */
export function useLive(onLoggedOut: () => void): Live {
  const [live, setLive] = useState<Live>({
    isConnected: false,
    error: null,
    overview: null,
    rows: [],
  });
  useEffect(() => {
    const over = new AbortController();
    const follow = async (): Promise<void> => {
      let isFirst = true;
      for await (const { event, data } of eventsOf(await openFeed(over.signal))) {
        const message: unknown = JSON.parse(data);
        const isStart = isFirst && event === "requests";
        if (isStart) isFirst = false;
        setLive((before) => added(before, event, message, isStart));
      }
    };
    const keep = async (): Promise<void> => {
      while (!over.signal.aborted) {
        let failure: string | null = null;
        try {
          await follow();
        } catch (error) {
          if (error instanceof Error && "status" in error && error.status === 401)
            return onLoggedOut();
          failure = error instanceof Error ? error.message : String(error);
        }
        const end = { isConnected: false, error: failure };
        setLive((before) => ({ ...before, ...end }));
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    };
    void keep();
    return () => over.abort();
  }, []);
  return live;
}

const connected = { isConnected: true, error: null };

function added(before: Live, event: string, message: unknown, isStart: boolean): Live {
  if (event === "overview") return { ...before, ...connected, overview: message as Overview };
  const rows = ((message as RequestRow[] | null) ?? []).toReversed();
  return {
    ...before,
    ...connected,
    rows: isStart ? rows : [...rows, ...before.rows].slice(0, KEPT),
  };
}
