import type { EventRecord } from "../../entity/event.ts";
import type { ActorContext, Connection } from "../../ports.ts";
import { readFeed, type FeedPage } from "./read-feed.ts";
import { eventFrame, resetFrame } from "../protocol/protocol.ts";
import { hasRoom } from "../protocol/has-room.ts";

/** The connections that follow an instance's feed. */
export interface Followers {
  /** Sends a committed event to the followers. */
  publish(seq: number, event: EventRecord): void;
  /** Sends a connection every event after `since`, then each new one, without gap or repetition. */
  subscribe(connection: Connection, since: number): void;
  unsubscribe(connection: Connection): void;
}

interface Follower {
  readonly connection: Connection;
  /** Position of the newest event sent. */
  last: number;
  /** Position of the newest event published. */
  newest: number;
  /** Events go out as they are published; otherwise a replay reads them from the table. */
  isLive: boolean;
}

interface Crowd {
  readonly context: ActorContext;
  readonly agent: string;
  /** By the connection's id. */
  readonly all: Map<string, Follower>;
}

/** The followers of an instance. `isFollowing` says which connections had subscribed before an eviction. */
export async function startFollowers(
  context: ActorContext,
  agent: string,
  isFollowing: (connection: Connection) => boolean,
): Promise<Followers> {
  const all = await restored(context, agent, isFollowing);
  const crowd = { context, agent, all };
  return {
    publish(seq, event) {
      if (all.size === 0) return;
      const frame = eventFrame(seq, event);
      for (const follower of all.values()) {
        follower.newest = Math.max(follower.newest, seq);
        if (!follower.isLive || seq <= follower.last) continue;
        // Commits may be announced in another order than they were made in: the table has the right one.
        if (seq === follower.last + 1) pass(crowd, follower, seq, frame);
        else catchUp(crowd, follower);
      }
    },
    subscribe(connection, since) {
      const follower = { connection, last: since, newest: 0, isLive: false };
      all.set(connection.id, follower);
      catchUp(crowd, follower);
    },
    unsubscribe(connection) {
      if (all.get(connection.id)?.connection === connection) all.delete(connection.id);
    },
  };
}

/** Restores the followers after an eviction. They had everything up to now, because publishing starts the instance. */
async function restored(
  context: ActorContext,
  agent: string,
  isFollowing: (connection: Connection) => boolean,
): Promise<Map<string, Follower>> {
  const open = context.sockets.connections().filter(isFollowing);
  if (open.length === 0) return new Map();
  const { last } = await readFeed(context.sql, agent, -1);
  return new Map(
    open.map((connection) => [connection.id, { connection, last, newest: last, isLive: true }]),
  );
}

/** Whether the follower was neither dropped nor replaced by a newer subscription of its connection. */
function isCurrent({ all }: Crowd, follower: Follower): boolean {
  return all.get(follower.connection.id) === follower;
}

function drop(crowd: Crowd, follower: Follower): void {
  if (isCurrent(crowd, follower)) crowd.all.delete(follower.connection.id);
}

function pass(crowd: Crowd, follower: Follower, seq: number, frame: string): boolean {
  if (follower.connection.send(frame)) {
    follower.last = seq;
    return true;
  }
  drop(crowd, follower);
  return false;
}

function catchUp(crowd: Crowd, follower: Follower): void {
  follower.isLive = false;
  crowd.context.system.waitUntil(replay(crowd, follower));
}

/** Sends events from the table until it holds no more. Between the last read and going live nothing is awaited. */
async function replay(crowd: Crowd, follower: Follower): Promise<void> {
  const { agent, context } = crowd;
  try {
    while (isCurrent(crowd, follower)) {
      const page = await readFeed(context.sql, agent, follower.last);
      if (!isCurrent(crowd, follower) || !(await deliver(crowd, follower, page))) break;
      if (page.events.length > 0 || follower.newest > follower.last) continue;
      follower.isLive = true;
      return;
    }
  } catch {
    follower.connection.close(1013, "The events could not be read: come back and resume");
  }
  drop(crowd, follower);
}

/** Sends the events of a page, as fast as the client reads; false = stop serving this client. */
async function deliver(crowd: Crowd, follower: Follower, page: FeedPage): Promise<boolean> {
  const { connection } = follower;
  const isWanted = (): boolean => isCurrent(crowd, follower);
  if (page.reset !== null) {
    if (!pass(crowd, follower, page.reset - 1, resetFrame(page.reset))) return false;
  }
  for (const { seq, event } of page.events) {
    const frame = eventFrame(seq, event);
    if (!(await hasRoom(crowd.context.system, connection, frame, isWanted))) {
      if (isWanted()) connection.close(1013, "Too slow: come back and resume");
      return false;
    }
    if (!pass(crowd, follower, seq, frame)) return false;
  }
  return true;
}
