import type { IncomingEvent } from "../../entity/event.ts";
import type { Sql, Statement } from "../../ports.ts";
import { isAmong } from "../../sql/sql-text.ts";

/** Entities that are older than owners belong to the source of their oldest event. */
const STORED_OWNER = `agents_entities.owner, (
  SELECT v.provider FROM agents_events v WHERE v.agent = agents_entities.agent ORDER BY v.seq LIMIT 1)`;
const OWNER = `COALESCE(${STORED_OWNER}, excluded.owner)`;

/** The first identifier that claims a name owns it; the update also locks the row where rows are locked. */
const CLAIM = `INSERT INTO agents_entities (agent, canonical, owner, last_seq, max_events, max_age_ms)
  VALUES (?, ?, ?, 0, ?, ?) ON CONFLICT (agent) DO UPDATE SET
    canonical = COALESCE(agents_entities.canonical, excluded.canonical),
    max_events = excluded.max_events, max_age_ms = excluded.max_age_ms`;

/** Makes no entity. */
const CLAIM_EXISTING = `UPDATE agents_entities SET canonical = COALESCE(canonical, CAST(? AS TEXT)), max_events = ?,
  max_age_ms = ?, owner = COALESCE(${STORED_OWNER}) WHERE agent = ? AND`;

/** The source that an entity belongs to; null before its first event. */
export async function entityOwner(sql: Pick<Sql, "all">, agent: string): Promise<string | null> {
  const select = `SELECT COALESCE(${STORED_OWNER}) AS owner FROM agents_entities WHERE agent = ?`;
  const [row] = await sql.all(select, [agent]);
  return row?.["owner"] == null ? null : String(row["owner"]);
}

/** Claims an entity for the source of an event; changes and returns nothing if it belongs to another source. */
export function claimEntity(event: IncomingEvent, agent: string): Statement {
  const { owners, retention } = event;
  const [first = null] = owners;
  const { maxAgeMs, maxEvents } = retention;
  const claim = [agent, event.canonical, first, maxEvents, maxAgeMs];
  const owned = isAmong(OWNER, owners);
  const returning = "RETURNING canonical, owner";
  if (event.claim === "existing") {
    const stored = isAmong(`COALESCE(${STORED_OWNER})`, owners);
    const params = [event.canonical, maxEvents, maxAgeMs, agent, ...stored.params];
    return { sql: `${CLAIM_EXISTING} ${stored.sql} ${returning}`, params };
  }
  // A reserved name belongs to this source, even if another source holds it now.
  if (event.claim === "reserved") {
    const owner = `CASE WHEN ${owned.sql} THEN ${OWNER} ELSE excluded.owner END`;
    return { sql: `${CLAIM}, owner = ${owner} ${returning}`, params: [...claim, ...owned.params] };
  }
  const sql = `${CLAIM}, owner = ${OWNER} WHERE ${owned.sql} ${returning}`;
  return { sql, params: [...claim, ...owned.params] };
}
