import type { ActorContext, SqlRow, SqlValue, Statement } from "../ports.ts";
import { isAmong } from "../sql/sql-text.ts";
import type { ReplayFilter } from "./replay-filter.ts";

/** Entities that one statement lists. */
const LIST_SLICE = 200;

/** Lists the next entities of the oldest replay that has not listed all; resolves to whether there was one. */
export async function listReplayEntities(context: ActorContext): Promise<boolean> {
  const { name: actor, sql, steady } = context;
  const [replay] = await sql.all(
    `SELECT id, filter, owners, agent, entity FROM webhooks_replays
      WHERE actor = ? AND status = 'running' AND listed = 0 ORDER BY created_at, id LIMIT 1`,
    [actor],
  );
  if (replay === undefined) return false;
  const id = String(replay["id"]);
  const rows = await sql.all(...entitiesOf(actor, replay));
  const last = rows.at(-1) ?? replay;
  const statements: Statement[] = rows.map((row) => ({
    sql: `INSERT INTO webhooks_replay_entities (actor, replay, agent, entity, due, tries, queued)
      SELECT actor, id, ?, ?, ?, 0, 0 FROM webhooks_replays WHERE actor = ? AND id = ? AND status = 'running'
      ON CONFLICT (actor, replay, agent, entity) DO NOTHING`,
    params: [row["agent"] ?? "", row["entity"] ?? "", steady(), actor, id],
  }));
  statements.push({
    sql: `UPDATE webhooks_replays SET agent = ?, entity = ?, entities = entities + ?, listed = ?
      WHERE actor = ? AND id = ?`,
    params: [
      last["agent"] ?? "",
      last["entity"] ?? "",
      rows.length,
      Number(rows.length < LIST_SLICE),
      actor,
      id,
    ],
  });
  await sql.batch(statements);
  return true;
}

function entitiesOf(actor: string, replay: SqlRow): [sql: string, params: SqlValue[]] {
  const filter = JSON.parse(String(replay["filter"])) as ReplayFilter;
  const owners = JSON.parse(String(replay["owners"] ?? "null")) as string[] | null;
  const isDead = filter.of === "dead-letters";
  const table = isDead ? "webhooks_index_failures" : "webhooks_index_entities";
  const params: SqlValue[] = [actor, String(replay["agent"]), String(replay["entity"])];
  let where = "actor = ? AND (agent, entity) > (?, ?)";
  if (isDead) where += " AND state = 'dead'";
  for (const column of ["agent", "entity"] as const) {
    const value = filter[column];
    if (value === undefined) continue;
    where += ` AND ${column} = ?`;
    params.push(value);
  }
  // Only the entity knows which events a source sent; any entity of the source's group may hold some.
  const sources = isDead && filter.source !== undefined ? [filter.source] : owners;
  if (sources !== null) {
    const sent = isAmong("source", sources);
    where += ` AND ${sent.sql}`;
    params.push(...sent.params);
  }
  const sql = `SELECT agent, entity FROM ${table} WHERE ${where} GROUP BY agent, entity ORDER BY agent, entity LIMIT ?`;
  return [sql, [...params, LIST_SLICE]];
}
