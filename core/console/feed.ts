import type { Viewer } from "../auth/principal.ts";
import type { ServerSentEvent } from "../http/sse.ts";
import type { ActorNode, System } from "../ports.ts";
import type { AccountUsage } from "./usage.ts";

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

/** The data behind the console. Each answer holds only what the viewer may see, and is null if that is nothing. */
export interface FeedSource {
  /** The permissions that the viewer lacks, by the part that is hidden without them. */
  readonly hidden: (viewer: Viewer) => Readonly<Record<string, string>>;
  readonly history: (since: number, viewer: Viewer) => Promise<readonly MinuteFigures[] | null>;
  /** The public answer of `/readyz`. */
  readonly health: () => Promise<unknown>;
  /** Tokens and cost, from the gateway's metrics; also null if those are off. */
  readonly usage: (viewer: Viewer) => Promise<AccountUsage | null>;
  /** The servers that share the database; also null for a single one. */
  readonly nodes: (viewer: Viewer) => Promise<readonly ActorNode[] | null>;
  readonly follow: (position: number, waitMs: number) => Promise<TrafficPage>;
}

/** Figures of the last hour, as far as the viewer may see them. */
export interface Overview {
  /** Unix ms. */
  readonly now: number;
  /** Null if the viewer may see none of it. */
  readonly history: readonly MinuteFigures[] | null;
  /** The public answer of `/readyz`. */
  readonly health: unknown;
  readonly usage: AccountUsage | null;
  readonly nodes: readonly ActorNode[] | null;
  /** The permissions that the viewer lacks, by the part that is hidden without them. */
  readonly hidden: Readonly<Record<string, string>>;
}

/**
 * Requests after a position. They are filtered for the viewer only after they have come, so that a lost permission
 * counts at once.
 */
export interface TrafficPage {
  readonly position: number;
  readonly seenBy: (viewer: Viewer) => readonly unknown[] | null;
}

/** Milliseconds of one wait for news; short, because a shutdown waits for it. */
const WAIT_MS = 5000;
/** Milliseconds between two overviews, and of the history that they show. */
const OVERVIEW_MS = 2000;
const SHOWN_MS = 3_600_000;

/**
 * Everything live on the console's pages, as one stream: `requests` as they come, `overview` while they do. The viewer is
 * looked up again for each part of it, so that a token that loses a permission loses sight at once; null ends the stream.
 */
export async function* feed(
  source: FeedSource,
  findViewer: () => Promise<Viewer | null>,
  system: System,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent> {
  let position = -1;
  let overviewAt = Number.NEGATIVE_INFINITY;
  const isOver = (): boolean => signal.aborted || system.closing?.aborted === true;
  while (!isOver()) {
    const page = await source.follow(position, position < 0 ? 0 : WAIT_MS);
    const viewer = await findViewer();
    if (viewer === null) return;
    const now = system.now();
    if (now - overviewAt >= OVERVIEW_MS) {
      overviewAt = now;
      yield { event: "overview", data: JSON.stringify(await overview(source, viewer, now)) };
    }
    const rows = page.seenBy(viewer);
    if (position < 0 || (rows !== null && rows.length > 0))
      yield { event: "requests", data: JSON.stringify(rows) };
    // Also without news, because the source lets only so many clients wait.
    if (position >= 0) await pause(OVERVIEW_MS / 4, system, signal);
    position = page.position;
  }
}

async function overview(source: FeedSource, viewer: Viewer, now: number): Promise<Overview> {
  const [history, health, usage, nodes] = await Promise.all([
    source.history(now - SHOWN_MS, viewer),
    source.health(),
    source.usage(viewer),
    source.nodes(viewer),
  ]);
  return { now, history, health, usage, nodes, hidden: source.hidden(viewer) };
}

async function pause(ms: number, system: System, signal: AbortSignal): Promise<void> {
  const { closing } = system;
  const either = closing === undefined ? signal : AbortSignal.any([signal, closing]);
  await system.sleep(ms, either).catch(() => undefined);
}
