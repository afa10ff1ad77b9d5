import { type ActorClient, actorClient } from "../../actors/actor-client.ts";
import type { Actor, ActorContext, ActorKind, Actors } from "../../ports.ts";

/** Spaces the requests of all crawls to one host. */
export interface HostTurns {
  /**
   * Takes the next turn. 0 when it is now, and the one after it is `delayMs` later; else the ms until the next turn,
   * without taking it.
   */
  take(delayMs: number): number;
}

/**
 * The kind of actor that is a host; named by it. It remembers nothing: when it is evicted or its process ends, its last
 * request is long ago, or a crawl asks once too early.
 */
export const hostTurnsKind: ActorKind = {
  name: "rendering-crawl-host",
  schema: [],
  interleaved: ["take"],
  start: (context): Actor => ({ methods: { ...turnsOf(context) } }),
};

function turnsOf({ steady }: ActorContext): HostTurns {
  let next = 0;
  return {
    take(delayMs) {
      const now = steady();
      if (next > now) return next - now;
      next = now + delayMs;
      return 0;
    },
  };
}

/** Returns the turns of a host, which all crawls share. */
export function hostTurnsAt(actors: Pick<Actors, "get">, host: string): ActorClient<HostTurns> {
  return actorClient(actors.get(hostTurnsKind.name, host));
}
