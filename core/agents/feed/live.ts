import { newsOrTime } from "../../time/news-or-time.ts";
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

  return {
    ...crowd,
    publish(seq, event) {
      crowd.publish(seq, event);
      for (const wake of waiters) wake();
    },
    async next(since, waitMs) {
      // Listening starts before the table is read, so nothing is stored in between.
      const { promise: published, resolve: wake } = Promise.withResolvers<void>();
      waiters.add(wake);
      try {
        const found = await readFeed(context.sql, agent, since);
        const hasNews = found.events.length > 0 || found.reset !== null;
        if (since < 0 || hasNews || waitMs === 0 || context.system.closing?.aborted === true)
          return found;
        await newsOrTime(context.system, published, waitMs);
        return await readFeed(context.sql, agent, found.last);
      } finally {
        waiters.delete(wake);
      }
    },
  };
}
