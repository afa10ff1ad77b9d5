import type { ActorContext, Connection } from "../../ports.ts";
import { readFeed, type FeedPage } from "./read-feed.ts";
import { startFollowers, type Followers } from "./followers.ts";

/** Passes committed events on to those who follow the instance's feed. */
export interface Live extends Followers {
  /** Reads the events after `since` (-1 = from now on); without any, waits up to `waitMs` for one. */
  next(since: number, waitMs: number): Promise<FeedPage>;
}

/** The feed of an instance. `isFollowing` says which connections had subscribed before an eviction. */
export async function startLive(
  context: ActorContext,
  agent: string,
  isFollowing: (connection: Connection) => boolean,
): Promise<Live> {
  const crowd = await startFollowers(context, agent, isFollowing);
  const waiters = new Set<() => void>();
  const { closing } = context.system;

  return {
    ...crowd,
    publish(seq, event) {
      crowd.publish(seq, event);
      for (const wake of waiters) wake();
    },
    async next(since, waitMs) {
      // Listening starts before the table is read, so nothing is stored in between.
      let wake = (): void => undefined;
      const published = new Promise<void>((resolve) => {
        wake = resolve;
        waiters.add(resolve);
        closing?.addEventListener("abort", wake, { once: true });
      });
      const done = new AbortController();
      try {
        const found = await readFeed(context.sql, agent, since);
        const hasNews = found.events.length > 0 || found.reset !== null;
        if (since < 0 || hasNews || waitMs === 0 || closing?.aborted === true) return found;
        await Promise.race([
          published,
          context.system.sleep(waitMs, done.signal).catch(() => undefined),
        ]);
        return await readFeed(context.sql, agent, found.last);
      } finally {
        waiters.delete(wake);
        closing?.removeEventListener("abort", wake);
        done.abort();
      }
    },
  };
}
