import { REVIEW_MS } from "../../auth/while-permitted.ts";
import type { ActorContext, Connection } from "../../ports.ts";
import type { Holder, Reviewer } from "../define/services.ts";
import { grantOf } from "../protocol/grant.ts";

/** Checks the tokens of an instance's connections again. */
export interface Reviews {
  /** The part of an upgrade's token to keep with its connection. */
  holderOf(request: Request): Promise<Holder | null>;
  begin(connection: Connection, request: Request): void;
  end(connection: Connection): void;
  /** The time of the alarm for the next check (of `steady()`); null if timers do it, or without connections. */
  nextDue(): number | null;
  /** Checks all connections, if that is due. */
  runDue(): Promise<void>;
}

/**
 * The reviews of an instance. A timer would keep an instance from hibernating, and is forgotten when it does: on such
 * platforms the alarm, set by `beat`, checks the connections.
 */
export function startReviews(
  { sockets, steady, system }: Pick<ActorContext, "sockets" | "steady" | "system">,
  reviewer: Reviewer | undefined,
  beat: (at: number) => Promise<unknown>,
): Reviews {
  const byAlarm = reviewer !== undefined && sockets.hibernates === true;
  // The alarm that brings an instance back into memory checks its connections at once.
  let due = steady();
  const held = (): Connection[] =>
    sockets.connections().filter((one) => grantOf(one).holder !== null);
  return {
    holderOf: async (request) => (await reviewer?.holderOf(request)) ?? null,
    begin(connection, request) {
      if (reviewer === undefined || grantOf(connection).holder === null) return;
      if (!byAlarm) return reviewer.watch(connection, request);
      if (held().length === 1) due = steady() + REVIEW_MS;
      system.waitUntil(beat(due));
    },
    end: (connection) => reviewer?.unwatch(connection),
    nextDue: () => (byAlarm && held().length > 0 ? due : null),
    async runDue() {
      if (!byAlarm || due > steady()) return;
      due = steady() + REVIEW_MS;
      await Promise.all(held().map((one) => reviewer.review(one)));
    },
  };
}
