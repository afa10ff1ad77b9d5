import { useEffect, useState } from "preact/hooks";
import { eventsOf, openFeed } from "./api.ts";

/** A minute of one part. */
export interface Minute {
  readonly at: number;
  readonly part: string;
  readonly failed: number;
  readonly refused: number;
  readonly totals: {
    readonly count: number;
    readonly ms: number;
    readonly buckets: readonly number[];
  };
}

/** The state of a part, as in `/readyz`. */
export interface PartHealth {
  readonly status: "ready" | "failing" | "unavailable";
  readonly reason?: string;
  /** A shortcoming of a ready part. */
  readonly detail?: string;
}

/** Figures of the last hour. */
export interface Overview {
  readonly now: number;
  /** Null if the token may see none of it. */
  readonly history: readonly Minute[] | null;
  readonly health: Readonly<Record<string, PartHealth>>;
  readonly usage: {
    readonly tokensIn: number;
    readonly tokensOut: number;
    readonly usd: number;
  } | null;
  /** The permissions that the token lacks, by the part that is hidden without them. */
  readonly hidden: Readonly<Record<string, string>>;
}

/** One answered request. */
export interface RequestRow {
  readonly time: number;
  readonly id: string;
  readonly part: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly ms: number;
  readonly firstMs?: number;
  readonly bytes?: number;
  readonly caller?: string;
  readonly error?: string;
  readonly reason?: string;
  readonly deprecation?: string;
  readonly made?: Made;
}

/** The effect of a request that can be repeated: a stored event, or a message to endpoints. */
export type Made =
  | {
      readonly kind: "event";
      readonly source: string;
      readonly agent: string;
      readonly entity: string;
      readonly id: string;
    }
  | { readonly kind: "message"; readonly id: string };

/** Everything that came over the stream. */
export interface Live {
  readonly isConnected: boolean;
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
  const [live, setLive] = useState<Live>({ isConnected: false, overview: null, rows: [] });
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
        try {
          await follow();
        } catch (error) {
          if (error instanceof Error && "status" in error && error.status === 401)
            return onLoggedOut();
        }
        setLive((before) => ({ ...before, isConnected: false }));
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    };
    void keep();
    return () => over.abort();
  }, []);
  return live;
}

function added(before: Live, event: string, message: unknown, isStart: boolean): Live {
  if (event === "overview") return { ...before, isConnected: true, overview: message as Overview };
  const rows = ((message as RequestRow[] | null) ?? []).toReversed();
  return {
    ...before,
    isConnected: true,
    rows: isStart ? rows : [...rows, ...before.rows].slice(0, KEPT),
  };
}
