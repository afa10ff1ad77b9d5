import type { Sql, ActorRef } from "../../ports.ts";
import { eventRange, eventsAfter, type NumberedEvent } from "../events/events.ts";
import type { ServerSentEvent } from "../../http/sse.ts";

/** Rows that one look at the table reads. */
const PAGE = 64;
/** Characters of payload in one page; at least one event is returned. */
const PAGE_CHARS = 2 * 1024 * 1024;

export type FeedPage = {
  readonly events: readonly NumberedEvent[];
  /** Set when events after `since` are gone already: the oldest position that is left. */
  readonly reset: number | null;
  /** The position after which the next read continues. */
  readonly last: number;
};

/**
 * The events after `since`, oldest first, never across a gap. Positions have no gaps of their own, so a missing one was
 * deleted; it may be in the middle, because retention keeps dead letters. The next look reports the gap as `reset`.
 */
export async function readFeed(sql: Sql, agent: string, since: number): Promise<FeedPage> {
  const { oldest, last } = await eventRange(sql, agent);
  if (since < 0) return { events: [], reset: null, last };
  // A position of another life of the entity, which was destroyed meanwhile.
  if (since > last) return pageFrom(await eventsAfter(sql, agent, oldest - 1, PAGE), oldest);
  const rows = await eventsAfter(sql, agent, since, PAGE);
  const first = rows[0]?.seq ?? last + 1;
  if (first > since + 1) return pageFrom(rows, first);
  return { ...pageFrom(rows, since + 1), reset: null };
}

function pageFrom(rows: readonly NumberedEvent[], first: number): FeedPage {
  const events: NumberedEvent[] = [];
  let chars = 0;
  for (const row of rows) {
    chars += row.event.payload?.length ?? 0;
    const isNext = row.seq === first + events.length;
    if (!isNext || (events.length > 0 && chars > PAGE_CHARS)) break;
    events.push(row);
  }
  return { events, reset: first, last: first - 1 + events.length };
}

/** One wait for news. */
const POLL_MS = 5000;
/** Silent polls after which a comment is sent, so that proxies keep the connection: 15 s. */
const POLLS_PER_HEARTBEAT = 3;
/** Wait before a client reconnects. */
const RETRY_MS = 3000;

/**
 * The events of an agent after `since` (-1 = from now on), each with its `seq` as id, until one of the signals
 * aborts: the client has left, or the server is about to. The client resumes with `Last-Event-ID`; when events in
 * between are gone, it gets an event `reset` first.
 */
export async function* eventStream(
  agent: ActorRef,
  since: number,
  signals: readonly (AbortSignal | undefined)[],
): AsyncGenerator<ServerSentEvent | string> {
  const isOver = (): boolean => signals.some((signal) => signal?.aborted === true);
  yield `retry: ${RETRY_MS}\n\n`;
  let position = since;
  let silent = 0;
  while (!isOver()) {
    const page = (await agent.call("nextEvents", position, POLL_MS)) as FeedPage;
    if (page.reset !== null) {
      const data = JSON.stringify({ oldest: page.reset });
      yield { event: "reset", id: String(page.reset - 1), data };
    }
    // Sets the client's Last-Event-ID without an event, so that nothing is lost if it leaves before the first.
    if (position < 0) yield `id: ${page.last}\n\n`;
    for (const { seq, event } of page.events) {
      if (isOver()) return;
      yield { id: String(seq), data: JSON.stringify(event) };
    }
    silent = page.events.length === 0 ? silent + 1 : 0;
    if (silent > 0 && silent % POLLS_PER_HEARTBEAT === 0) yield ": alive\n\n";
    position = page.last;
  }
}
