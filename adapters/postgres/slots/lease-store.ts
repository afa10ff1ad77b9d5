import type { Sql, SqlRow } from "../../../core/ports.ts";
import { unknownStep } from "../../shared/sql/schema-lists.ts";
import { UNKNOWN_STEPS } from "../schema.ts";
import type { DatabaseTime } from "./database-time.ts";
import { PROTOCOL } from "./protocol.ts";

export interface ClusterNode {
  readonly id: string;
  /** The `host:port` at which other nodes call it. */
  readonly address: string;
  readonly version: string;
  /** The name of its machine. */
  readonly machine: string;
}

/** A slot as the database has it. */
export interface SlotRow {
  readonly slot: number;
  /** Id of the node; null while no node has taken it. */
  readonly owner: string | null;
  /** Grows whenever the slot changes hands. */
  readonly epoch: number;
}

/** The rows of leases. All times are the database's. */
export interface LeaseStore {
  /**
   * Renews the lease of this node, and of all its slots by that. Returns the nodes that live, and a number that differs
   * when any slot has changed hands. Rejects with `internal` when the lease had run out and the tables are now for another version.
   */
  renew(): Promise<{ readonly nodes: readonly ClusterNode[]; readonly changes: number }>;
  slots(): Promise<readonly SlotRow[]>;
  /** Takes up to so many slots that no living node has. */
  claim(count: number): Promise<void>;
  /** Gives own slots to another node, or to none. Waits for the batches that still write under them. */
  give(slots: readonly number[], to: string | null): Promise<void>;
  /** Removes this node, which has given away all it had. */
  leave(): Promise<void>;
  /** Stores why this node must not work with the tables. It stays in the list of nodes for a day. */
  refuse(reason: string): Promise<void>;
}

const UNTIL = "clock_timestamp() + CAST(? AS DOUBLE PRECISION) * INTERVAL '1 millisecond'";

/** While a lease holds, no other node changes tables in a way that this one may not know. */
const RENEW = `UPDATE causey_nodes SET expires = ${UNTIL}, renewed = clock_timestamp(), ahead_ms = ?
  WHERE id = ? AND expires > clock_timestamp() RETURNING id`;

/** Begins a lease, also one that had run out, unless the tables have meanwhile become those of another version. */
const BEGIN = `WITH unknown AS MATERIALIZED (${UNKNOWN_STEPS}),
  begun AS (INSERT INTO causey_nodes (id, address, version, machine, protocol, expires)
    SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS INTEGER), ${UNTIL}
    WHERE NOT EXISTS (SELECT 1 FROM unknown)
    ON CONFLICT (id) DO UPDATE SET expires = excluded.expires, renewed = clock_timestamp(), refusal = NULL)
  SELECT kind, needs, version, knows FROM unknown ORDER BY kind LIMIT 1`;

const LIVING = `SELECT id, address, version, machine, (SELECT SUM(epoch)::BIGINT FROM causey_slots) AS changes,
  CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now
  FROM causey_nodes WHERE expires > clock_timestamp() ORDER BY id COLLATE "C"`;

const SLOTS_BY_OWNER = `SELECT COALESCE(owner, '') AS owner, STRING_AGG(slot || ':' || epoch, ' ') AS slots
  FROM causey_slots GROUP BY owner`;

/**
 * A row that a batch holds \`FOR SHARE\` is left for the next time. A node that has not renewed cannot do so before this is
 * committed: it then reads who has its slots.
 */
const CLAIM = `WITH ended AS MATERIALIZED (
    SELECT id FROM causey_nodes WHERE expires <= clock_timestamp() FOR SHARE SKIP LOCKED)
  UPDATE causey_slots SET owner = ?, epoch = epoch + 1 WHERE slot IN (
    SELECT slot FROM causey_slots AS one WHERE owner IN (SELECT id FROM ended)
      OR NOT EXISTS (SELECT 1 FROM causey_nodes AS node WHERE node.id = one.owner)
    ORDER BY slot LIMIT ? FOR UPDATE SKIP LOCKED)`;

const GIVE = `UPDATE causey_slots SET owner = ?, epoch = epoch + 1
  WHERE owner = ? AND slot = ANY (CAST(STRING_TO_ARRAY(?, ' ') AS INTEGER[]))`;

/** Removes itself, and nodes that have ended without doing so. */
const LEAVE = `DELETE FROM causey_nodes WHERE (id = ? AND refusal IS NULL) OR expires < clock_timestamp() - INTERVAL '1 day'`;
/** Those of a node that is not there may be of one that is about to join. */
const FORGET = `DELETE FROM causey_node_steps AS known WHERE node = ?
  OR (noted < clock_timestamp() - INTERVAL '1 day' AND NOT EXISTS (SELECT 1 FROM causey_nodes AS node WHERE node.id = known.node))`;
/** A server that is started again and again has a new id each time: only the rows of its last minute stay. */
const REFUSE = `WITH former AS (DELETE FROM causey_nodes
    WHERE machine = ? AND id <> ? AND refusal IS NOT NULL AND renewed < clock_timestamp() - INTERVAL '1 minute')
  INSERT INTO causey_nodes (id, address, version, machine, protocol, expires, refusal)
    VALUES (?, ?, ?, ?, ?, clock_timestamp(), ?) ON CONFLICT (id) DO UPDATE SET refusal = excluded.refusal`;
/** The number of this version's protocol. */
const OWN_PROTOCOL = Number(PROTOCOL.split(" ").at(-1));

export function leaseStore(
  sql: Pick<Sql, "all">,
  node: ClusterNode,
  leaseMs: number,
  time: Pick<DatabaseTime, "aheadMs" | "note">,
): LeaseStore {
  const { address, id, machine, version } = node;
  return {
    async renew() {
      const renewed = await sql.all(RENEW, [leaseMs, time.aheadMs(), id]);
      if (renewed.length === 0) await begin(sql, node, leaseMs);
      const sent = performance.now();
      const rows = await sql.all(LIVING);
      if (rows[0] !== undefined) time.note(Number(rows[0]["now"]), sent);
      return { nodes: rows.map(toNode), changes: Number(rows[0]?.["changes"]) };
    },
    async slots() {
      return (await sql.all(SLOTS_BY_OWNER)).flatMap(toSlots);
    },
    async claim(count) {
      await sql.all(CLAIM, [id, count]);
    },
    async give(slots, to) {
      await sql.all(GIVE, [to, id, slots.join(" ")]);
    },
    async leave() {
      await sql.all(LEAVE, [id]);
      await sql.all(FORGET, [id]);
    },
    async refuse(reason) {
      const own = [id, address, version, machine, OWN_PROTOCOL];
      await sql.all(REFUSE, [machine, id, ...own, reason]);
    },
  };
}

async function begin(sql: Pick<Sql, "all">, node: ClusterNode, leaseMs: number): Promise<void> {
  const { address, id, machine, version } = node;
  const own = [id, address, version, machine, OWN_PROTOCOL];
  const [unknown] = await sql.all(BEGIN, [id, ...own, leaseMs]);
  if (unknown === undefined) return;
  throw unknownStep({
    name: String(unknown["kind"]),
    needs: Number(unknown["needs"]),
    knows: Number(unknown["knows"]),
    version: unknown["version"],
  });
}

function toNode(row: SqlRow): ClusterNode {
  const text = (name: string): string => String(row[name]);
  return {
    id: text("id"),
    address: text("address"),
    version: text("version"),
    machine: text("machine"),
  };
}

function toSlots(row: SqlRow): SlotRow[] {
  const owner = row["owner"] === "" ? null : String(row["owner"]);
  return String(row["slots"])
    .split(" ")
    .map((one) => {
      const [slot, epoch] = one.split(":").map(Number);
      return { slot: slot ?? 0, owner, epoch: epoch ?? 0 };
    });
}
