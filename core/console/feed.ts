import type { ServerSentEvent } from "../http/sse.ts";
import type { System } from "../ports.ts";

/** A minute of one part, as the console shows it. */
export interface MinuteFigures {
  readonly at: number;
  readonly part: string;
  readonly failed: number;
  readonly refused: number;
  readonly totals: {
    readonly count: number;
    readonly ms: number;
    readonly bytes: number;
    readonly buckets: readonly number[];
  };
}

/** Where the console reads. */
export interface FeedSource {
  readonly deprecated: () => Promise<unknown>;
  readonly history: (since: number) => Promise<readonly MinuteFigures[]>;
  readonly health: () => Promise<unknown>;
  /** Tokens and cost, by the gateway's metrics; null where they are off. */
  readonly usage: () => Promise<unknown>;
  readonly follow: (
    position: number,
    waitMs: number,
  ) => Promise<{ readonly rows: readonly unknown[]; readonly position: number }>;
}

/** Milliseconds of one wait for news; short, because a shutdown waits for it. */
const WAIT_MS = 5000;
/** Milliseconds between two overviews, and of what they show. */
const OVERVIEW_MS = 2000;
const SHOWN_MS = 3_600_000;

/** Everything live on the console's pages, as one stream: `requests` as they come, `overview` while they do. */
export async function* feed(
  source: FeedSource,
  system: System,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent> {
  let position = -1;
  let told = Number.NEGATIVE_INFINITY;
  const isOver = (): boolean => signal.aborted || system.closing?.aborted === true;
  while (!isOver()) {
    const now = system.now();
    if (now - told >= OVERVIEW_MS) {
      told = now;
      const [history, health, usage] = await Promise.all([
        source.history(now - SHOWN_MS),
        source.health(),
        source.usage(),
      ]);
      yield { event: "overview", data: JSON.stringify({ now, history, health, usage }) };
    }
    const page = await source.follow(position, position < 0 ? 0 : WAIT_MS);
    if (page.rows.length > 0 || position < 0) {
      yield { event: "requests", data: JSON.stringify(page.rows), id: String(page.position) };
    }
    if (position >= 0 && page.rows.length > 0) await pause(OVERVIEW_MS / 4, system, signal);
    position = page.position;
  }
}

async function pause(ms: number, system: System, signal: AbortSignal): Promise<void> {
  const { closing } = system;
  const either = closing === undefined ? signal : AbortSignal.any([signal, closing]);
  await system.sleep(ms, either).catch(() => undefined);
}
