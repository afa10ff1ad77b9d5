import type { EventRecord } from "../entity/event.ts";
import type { ActorContext, Connection } from "../ports.ts";
import { eventRange, eventsAfter, type NumberedEvent } from "./events.ts";
import { eventFrame, resetFrame } from "./protocol.ts";

/** Rows that a replay reads at a time. */
const PAGE = 200;
/** Events that may wait behind one connection's replay; more close it with 1013, and it resumes. */
const BUFFER_LIMIT = 1000;

/** What one poll of the feed found. */
export type FeedPage = {
  readonly events: readonly NumberedEvent[];
  /** Set when events after `since` are gone already: the oldest position that is left. */
  readonly reset: number | null;
  /** Where the next poll goes on. */
  readonly last: number;
};

/** Passes committed events on to those who follow the instance's feed. */
export interface Live {
  /** A committed event, called in commit order. */
  publish(seq: number, event: EventRecord): void;
  /** Sends a connection every event after `since`, then each new one, without gap or repetition. */
  subscribe(connection: Connection, since: number): Promise<void>;
  unsubscribe(connection: Connection): void;
  /** Events after `since` (-1 = from now on); when there are none, waits up to `waitMs` for one. */
  next(since: number, waitMs: number): Promise<FeedPage>;
}

interface Follower {
  readonly connection: Connection;
  last: number;
  /** Null once the replay is over and events go out at once. */
  buffer: NumberedEvent[] | null;
}

/** The feed of an instance. `isFollowing` tells which connections had subscribed before an eviction. */
export function startLive(
  context: ActorContext,
  agent: string,
  isFollowing: (connection: Connection) => boolean,
): Live {
  const crowd = startFollowers(context, agent, isFollowing);
  const waiters = new Set<() => void>();

  async function read(since: number): Promise<FeedPage> {
    const { oldest, last } = await eventRange(context.sql, agent);
    if (since < 0) return { events: [], reset: null, last };
    const reset = isGap(since, oldest, last) ? oldest : null;
    const from = reset === null ? since : reset - 1;
    const events = await eventsAfter(context.sql, agent, from, PAGE);
    return { reset, events, last: events.at(-1)?.seq ?? from };
  }

  return {
    subscribe: crowd.subscribe,
    unsubscribe: crowd.unsubscribe,
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
      });
      const done = new AbortController();
      try {
        const found = await read(since);
        if (found.events.length > 0 || found.reset !== null || waitMs === 0) return found;
        await Promise.race([
          published,
          context.system.sleep(waitMs, done.signal).catch(() => undefined),
        ]);
        return await read(found.last);
      } finally {
        waiters.delete(wake);
        done.abort();
      }
    },
  };
}

type Followers = Pick<Live, "publish" | "subscribe" | "unsubscribe">;

function startFollowers(
  context: ActorContext,
  agent: string,
  isFollowing: (connection: Connection) => boolean,
): Followers {
  let known: Map<string, Follower> | undefined;

  /** After an eviction: who had subscribed had everything up to then, because publishing starts the instance. */
  function all(): Map<string, Follower> {
    known ??= new Map(
      context.sockets
        .connections()
        .filter(isFollowing)
        .map((connection) => [connection.id, { connection, last: 0, buffer: null }]),
    );
    return known;
  }
  function pass(follower: Follower, { seq, event }: NumberedEvent): void {
    if (seq <= follower.last) return;
    if (follower.connection.send(eventFrame(seq, event))) follower.last = seq;
    else all().delete(follower.connection.id);
  }

  return {
    publish(seq, event) {
      for (const follower of all().values()) {
        if (follower.buffer === null) pass(follower, { seq, event });
        else if (follower.buffer.push({ seq, event }) > BUFFER_LIMIT) {
          all().delete(follower.connection.id);
          follower.connection.close(1013, "Too slow: come back and resume");
        }
      }
    },
    async subscribe(connection, since) {
      // First the buffer, then the table: an event stored while the table is read is in one of them.
      const buffer: NumberedEvent[] = [];
      const follower: Follower = { connection, last: since, buffer };
      all().set(connection.id, follower);
      const { oldest, last } = await eventRange(context.sql, agent);
      if (isGap(since, oldest, last)) {
        connection.send(resetFrame(oldest));
        follower.last = oldest - 1;
      }
      for (;;) {
        const page = await eventsAfter(context.sql, agent, follower.last, PAGE);
        for (const one of page) pass(follower, one);
        if (page.length < PAGE || all().get(connection.id) !== follower) break;
      }
      for (const one of buffer) pass(follower, one);
      follower.buffer = null;
    },
    unsubscribe(connection) {
      if (all().get(connection.id)?.connection === connection) all().delete(connection.id);
    },
  };
}

/** Events between `since` and what is kept are gone, or `since` is of another life of the entity. */
function isGap(since: number, oldest: number, last: number): boolean {
  return since > last || since < oldest - 1;
}
