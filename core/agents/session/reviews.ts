import { REVIEW_MS } from "../../auth/while-permitted.ts";
import type { ActorContext, Connection } from "../../ports.ts";
import type { Holder, Reviewer } from "../define/services.ts";
import { grantOf } from "../protocol/grant.ts";

/** Has the tokens of an instance's connections asked for again. */
export interface Reviews {
  /** What is to be kept of the token of an upgrade. */
  holderOf(request: Request): Promise<Holder | null>;
  begin(connection: Connection, request: Request): void;
  end(connection: Connection): void;
  /** When the alarm has to go off for the next look (of `steady()`); null where timers do it, or nobody is connected. */
  nextDue(): number | null;
  /** Looks at all connections, if that is due. */
  runDue(): Promise<void>;
}

/**
 * The reviews of an instance. A timer would keep an instance from hibernating, and is forgotten when it does: there the
 * alarm, set by `beat`, has the connections looked at.
 */
export function startReviews(
  { sockets, steady, system }: Pick<ActorContext, "sockets" | "steady" | "system">,
  reviewer: Reviewer | undefined,
  beat: (at: number) => Promise<unknown>,
): Reviews {
  const byAlarm = reviewer !== undefined && sockets.hibernates === true;
  // The alarm that brings an instance back into memory looks at its connections at once.
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
