import type { ActorContext, SqlRow } from "../../ports.ts";

/** Jobs that are read at a time. */
const BATCH = 32;

const COLUMNS =
  "SELECT id, task, payload, event_seq, attempt, due, retry, replay, trace FROM agents_jobs";
const SELECT = `${COLUMNS} WHERE agent = ? AND event_seq IS`;

/** Events as long as they are due, in order, and tasks; those that are due first come first. */
export async function dueJobs(context: ActorContext, agent: string): Promise<SqlRow[]> {
  const { sql } = context;
  const now = context.steady();
  const events = await sql.all(`${SELECT} NOT NULL ORDER BY position LIMIT ?`, [agent, BATCH]);
  const tasks = await sql.all(`${SELECT} NULL AND due <= ? ORDER BY due, position LIMIT ?`, [
    agent,
    now,
    BATCH,
  ]);
  const waits = events.findIndex((row) => Number(row["due"]) > now);
  const ready = waits === -1 ? events : events.slice(0, waits);
  let latest = 0;
  const timed = [...ready, ...tasks].map((row) => {
    // An event is never before an earlier one, whose due time may be later.
    latest = row["event_seq"] == null ? latest : Math.max(latest, Number(row["due"]));
    return { row, at: row["event_seq"] == null ? Number(row["due"]) : latest };
  });
  return timed
    .toSorted((a, b) => a.at - b.at)
    .slice(0, BATCH)
    .map(({ row }) => row);
}

/** The waiting events up to that of a job, in order, as far as none waits for its next run. */
export async function eventsUpTo(
  { sql, steady }: ActorContext,
  agent: string,
  id: string,
): Promise<SqlRow[]> {
  const [mine] = await sql.all("SELECT position FROM agents_jobs WHERE agent = ? AND id = ?", [
    agent,
    id,
  ]);
  if (mine === undefined) return [];
  const earlier = await sql.all(`${SELECT} NOT NULL AND position <= ? ORDER BY position LIMIT ?`, [
    agent,
    mine["position"] ?? 0,
    BATCH,
  ]);
  const waits = earlier.findIndex((row) => isWaiting(row, steady()));
  return waits === -1 ? earlier : earlier.slice(0, waits);
}

/** Whether an event has failed and waits for its next run. */
function isWaiting(row: SqlRow, now: number): boolean {
  return Number(row["attempt"]) > 0 && Number(row["due"]) > now;
}

/** When the next job is due, by the steady clock: a task, or the event that all others wait for. */
export async function nextJob({ sql }: ActorContext, agent: string): Promise<number | null> {
  const [row] = await sql.all(
    `SELECT (SELECT MIN(due) FROM agents_jobs WHERE agent = ? AND event_seq IS NULL) AS task,
      (SELECT due FROM agents_jobs WHERE agent = ? AND event_seq IS NOT NULL
        ORDER BY position LIMIT 1) AS event`,
    [agent, agent],
  );
  const times = [row?.["task"], row?.["event"]].filter((due) => due != null).map(Number);
  return times.length === 0 ? null : Math.min(...times);
}
