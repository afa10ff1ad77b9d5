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
  /** The time of the alarm for the next check (of `steady()`); null if the runtime does it, or without connections. */
  nextDue(): number | null;
  /** Checks all connections, if that is due; resolves to those whose clients have vanished unnoticed so far. */
  runDue(): Promise<readonly Connection[]>;
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
  const { vanished } = sockets;
  let lookAt = steady();
  const held = (): Connection[] =>
    sockets.connections().filter((one) => grantOf(one).holder !== null);
  return {
    holderOf: async (request) => (await reviewer?.holderOf(request)) ?? null,
    begin(connection, request) {
      if (vanished !== undefined) {
        if (sockets.connections().length === 1) lookAt = steady() + vanished.everyMs;
        system.waitUntil(beat(lookAt));
      }
      if (reviewer === undefined || grantOf(connection).holder === null) return;
      if (!byAlarm) return reviewer.watch(connection, request);
      if (held().length === 1) due = steady() + REVIEW_MS;
      system.waitUntil(beat(due));
    },
    end: (connection) => reviewer?.unwatch(connection),
    nextDue() {
      const dues = [
        ...(byAlarm && held().length > 0 ? [due] : []),
        ...(vanished?.isNeeded() === true ? [lookAt] : []),
      ];
      return dues.length === 0 ? null : Math.min(...dues);
    },
    async runDue() {
      let ended: readonly Connection[] = [];
      if (vanished !== undefined && lookAt <= steady()) {
        lookAt = steady() + vanished.everyMs;
        ended = vanished.end();
      }
      if (byAlarm && due <= steady()) {
        due = steady() + REVIEW_MS;
        await Promise.all(held().map((one) => reviewer.review(one)));
      }
      return ended;
    },
  };
}
