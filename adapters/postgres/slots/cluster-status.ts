import type { ActorNode, Sql } from "../../../core/ports.ts";

/** By the clock of due times, moved on to now. */
const STATUS = `WITH clock AS (
    SELECT steady + GREATEST(CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) - wall, 0) AS now FROM causey_clock),
  due AS (
    SELECT owner AS node, MAX(clock.now - at) AS lag FROM clock, causey_alarms AS alarm
    JOIN causey_slots AS one ON one.slot = alarm.slot GROUP BY owner)
  SELECT node.id, address, machine, version, COUNT(slot) AS slots, expires > clock_timestamp() AS lives,
    CAST(EXTRACT(EPOCH FROM clock_timestamp() - renewed) * 1000 AS BIGINT) AS ago,
    GREATEST((SELECT lag FROM due WHERE due.node = node.id), 0) AS lag
  FROM causey_nodes AS node LEFT JOIN causey_slots ON owner = node.id GROUP BY node.id ORDER BY address`;

/** Lists the nodes of a database; those that ended without a word are there for a day. */
export async function clusterStatus(sql: Pick<Sql, "all">): Promise<ActorNode[]> {
  const rows = await sql.all(STATUS);
  return rows.map((row) => ({
    id: String(row["id"]),
    address: String(row["address"]),
    machine: String(row["machine"]),
    version: String(row["version"]),
    slots: Number(row["slots"]),
    renewedMsAgo: Number(row["ago"]),
    lives: row["lives"] === 1,
    lagMs: Number(row["lag"]),
  }));
}
