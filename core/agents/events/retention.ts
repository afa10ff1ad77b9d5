import { eventTime, type Retention } from "../../entity/event.ts";
import type { ActorContext, SqlValue, Statement } from "../../ports.ts";
import { LAST_SEQ } from "./events.ts";

/** Rows that one run of retention deletes: about a millisecond of the database. */
const PRUNE_BATCH = 500;

/**
 * Rows whose handler still has to run, or whose failure still needs attention, which retention keeps. The lists are
 * read once per statement, not once per row.
 */
const UNSETTLED = `SELECT j.event_seq FROM agents_jobs j WHERE j.agent = ? AND j.event_seq IS NOT NULL
  UNION ALL SELECT d.event_seq FROM agents_dead d WHERE d.agent = ? AND d.event_seq IS NOT NULL`;

const BY_COUNT = `DELETE FROM agents_events WHERE agent = ? AND seq IN (
  SELECT v.seq FROM agents_events v
  WHERE v.agent = ? AND v.seq <= (SELECT ${LAST_SEQ} - e.max_events FROM agents_entities e WHERE e.agent = ?)
    AND v.seq NOT IN (${UNSETTLED}) ORDER BY v.seq LIMIT ?)`;

/** Looks at the oldest positions only: times follow positions, except where the clock has jumped. */
const BY_AGE = `DELETE FROM agents_events WHERE agent = ? AND seq IN (
  SELECT w.seq FROM (SELECT v.seq, v.timestamp FROM agents_events v
    WHERE v.agent = ? AND v.seq NOT IN (${UNSETTLED}) ORDER BY v.seq LIMIT ?) AS w
  WHERE w.timestamp < ?)`;

/** The newest event may go too: from here on the entity's row knows where counting goes on. */
const KEEP_LAST_SEQ = `UPDATE agents_entities SET last_seq = (
  SELECT ${LAST_SEQ} FROM agents_entities e WHERE e.agent = agents_entities.agent) WHERE agent = ?`;

const OLDEST = `SELECT e.max_age_ms AS max_age, (SELECT v.timestamp FROM agents_events v
    WHERE v.agent = e.agent AND v.seq NOT IN (${UNSETTLED}) ORDER BY v.seq LIMIT 1) AS oldest
  FROM agents_entities e WHERE e.agent = ? AND e.max_age_ms IS NOT NULL`;

/** Deletes at most `limit` of the events beyond the entity's `max_events`, oldest first. */
export function pruneByCount(agent: string, limit: number): Statement {
  return { sql: BY_COUNT, params: [agent, agent, agent, agent, agent, limit] };
}

/** Deletes those of the `limit` oldest events that are older than `before` (fixed-width ISO text). */
export function pruneByAge(agent: string, before: string, limit: number): Statement[] {
  return [
    { sql: KEEP_LAST_SEQ, params: [agent] },
    { sql: BY_AGE, params: [agent, agent, agent, agent, limit, before] },
  ];
}

/** When the oldest event that retention may delete reaches its age, by the steady clock; null = never. */
export async function nextExpiry(
  { sql, steady, system }: ActorContext,
  agent: string,
): Promise<number | null> {
  const [row] = await sql.all(OLDEST, [agent, agent, agent]);
  if (typeof row?.["oldest"] !== "string") return null;
  // One past the age, because retention deletes events that are strictly older.
  return Date.parse(row["oldest"]) + Number(row["max_age"]) + 1 + steady() - system.now();
}

/** Deletes a batch of the events that retention no longer keeps; resolves to whether there may be more. */
export async function prune({ sql, system }: ActorContext, agent: string): Promise<boolean> {
  const [row] = await sql.all(
    "SELECT max_events, max_age_ms FROM agents_entities WHERE agent = ?",
    [agent],
  );
  const statements: Statement[] = [];
  if (row?.["max_events"] != null) statements.push(pruneByCount(agent, PRUNE_BATCH));
  if (row?.["max_age_ms"] != null) {
    const before = eventTime(system.now() - Number(row["max_age_ms"]));
    statements.push(...pruneByAge(agent, before, PRUNE_BATCH));
  }
  if (statements.length === 0) return false;
  const results = await sql.batch(statements);
  return results.some(({ changes }) => changes >= PRUNE_BATCH);
}

/**
 * Applies the retention that is configured now to an entity, which would otherwise learn of it only with its next
 * event. Entities without a source hold nothing that retention could delete.
 */
export async function followRetention(
  { sql }: Pick<ActorContext, "sql">,
  agent: string,
  { maxAgeMs, maxEvents }: Retention,
): Promise<boolean> {
  const [row] = await sql.all(
    "SELECT max_events, max_age_ms FROM agents_entities WHERE agent = ? AND owner IS NOT NULL",
    [agent],
  );
  if (row === undefined) return false;
  if (numberOf(row["max_events"]) === maxEvents && numberOf(row["max_age_ms"]) === maxAgeMs)
    return false;
  const update = "UPDATE agents_entities SET max_events = ?, max_age_ms = ? WHERE agent = ?";
  await sql.batch([{ sql: update, params: [maxEvents, maxAgeMs, agent] }]);
  return true;
}

function numberOf(value: SqlValue | undefined): number | null {
  return value == null ? null : Number(value);
}
