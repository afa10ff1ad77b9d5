import type { ActorNode, Sql, SqlRow } from "../../../core/ports.ts";

/** By the clock of due times, moved on to now. */
const STATUS = `WITH clock AS (
    SELECT steady + GREATEST(CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) - wall, 0) AS now FROM causey_clock),
  due AS (
    SELECT owner AS node, MAX(clock.now - at) AS lag FROM clock, causey_alarms AS alarm
    JOIN causey_slots AS one ON one.slot = alarm.slot GROUP BY owner)
  SELECT node.id, address, machine, version, protocol, ahead_ms, refusal, COUNT(slot) AS slots,
    expires > clock_timestamp() AS lives,
    CAST(EXTRACT(EPOCH FROM clock_timestamp() - renewed) * 1000 AS BIGINT) AS ago,
    GREATEST((SELECT lag FROM due WHERE due.node = node.id), 0) AS lag
  FROM causey_nodes AS node LEFT JOIN causey_slots ON owner = node.id GROUP BY node.id ORDER BY address`;

const STEPS = `SELECT node, kind AS list, known.steps AS knows, seen.steps AS database
  FROM causey_node_steps AS known JOIN causey_schema AS seen USING (kind) ORDER BY kind COLLATE "C"`;

/** Lists the nodes of a database; those that ended without a word, or were refused, are there for a day. */
export async function clusterStatus(sql: Pick<Sql, "all">): Promise<ActorNode[]> {
  const [rows, steps] = await Promise.all([sql.all(STATUS), sql.all(STEPS)]);
  const nodes = rows.map((row) => toNode(row, steps));
  return nodes.map((one) => ({ ...one, refusal: one.refusal ?? unlike(one, nodes) }));
}

function toNode(row: SqlRow, steps: readonly SqlRow[]): ActorNode {
  const number = (name: string): number | null => (row[name] === null ? null : Number(row[name]));
  return {
    id: String(row["id"]),
    address: String(row["address"]),
    machine: String(row["machine"]),
    version: String(row["version"]),
    protocol: number("protocol"),
    schema: steps
      .filter(({ node }) => node === row["id"])
      .map((one) => ({
        list: String(one["list"]),
        knows: Number(one["knows"]),
        database: Number(one["database"]),
      })),
    clockAheadMs: number("ahead_ms"),
    refusal: row["refusal"] === null ? null : String(row["refusal"]),
    slots: Number(row["slots"]),
    renewedMsAgo: Number(row["ago"]),
    lives: row["lives"] === 1,
    lagMs: Number(row["lag"]),
  };
}

/** Says which newer node a living one cannot call, nor be called by. */
function unlike({ lives, protocol }: ActorNode, nodes: readonly ActorNode[]): string | null {
  if (!lives || protocol === null) return null;
  const newer = nodes.find((one) => one.lives && (one.protocol ?? 0) > protocol + 1);
  if (newer === undefined) return null;
  return `Its protocol is ${protocol}, that of ${newer.address} is ${newer.protocol}, and only neighbours work together: start causey ${newer.version} here`;
}
