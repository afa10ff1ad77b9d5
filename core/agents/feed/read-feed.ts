import type { Sql } from "../../ports.ts";
import { eventRange, eventsAfter, type NumberedEvent } from "./events.ts";

/** Rows that one look at the table reads. */
const PAGE = 64;
/** Characters of payload in one page; at least one event is returned. */
const PAGE_CHARS = 2 * 1024 * 1024;

/** What one look at the feed found. */
export type FeedPage = {
  readonly events: readonly NumberedEvent[];
  /** Set when events after `since` are gone already: the oldest position that is left. */
  readonly reset: number | null;
  /** Where the next look goes on. */
  readonly last: number;
};

/**
 * The events after `since`, oldest first, never across a gap: positions have none, so one that is missing was
 * deleted (retention keeps dead letters, so it may be in the middle), and the next look reports it as `reset`.
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
