import { ApiError } from "../../core/http/api-error.ts";
import type { ActorKind, SharedSchema } from "../../core/ports.ts";
import { neededSteps, stepSql } from "../../core/sql/schema-step.ts";
import {
  LATER_COLUMNS,
  SCHEMA_COLUMNS,
  schemasOf,
  SEEN_STEPS,
  STORE_STEPS,
  storedSteps,
  unseenSteps,
} from "../shared/sql/schema-lists.ts";
import type { RunSession, Session } from "./session.ts";
import { addAlarmSlots } from "./slot-alarms.ts";
import { SLOTS } from "./slot-of.ts";
import { toPostgresSchema } from "./statement-text.ts";

/** The advisory lock for changing tables: "causey" in ASCII. */
const LOCK = 0x63_61_75_73_65_79;

/** Makes the tables in which the adapter keeps its own affairs. */
export async function createOwnTables(session: Session): Promise<void> {
  await lockTables(session);
  await makeLacking(
    session,
    toPostgresSchema(`
      CREATE TABLE IF NOT EXISTS causey_schema (${SCHEMA_COLUMNS});
      ${LATER_COLUMNS.map((column) => `ALTER TABLE causey_schema ADD COLUMN IF NOT EXISTS ${column};`).join("\n")}
      CREATE TABLE IF NOT EXISTS causey_alarms (
        kind TEXT NOT NULL, actor TEXT NOT NULL, at INTEGER NOT NULL, attempts INTEGER NOT NULL,
        version INTEGER NOT NULL, PRIMARY KEY (kind, actor));
      CREATE INDEX IF NOT EXISTS causey_alarms_of_kind ON causey_alarms (kind, at);
      CREATE TABLE IF NOT EXISTS causey_clock (
        id INTEGER PRIMARY KEY, steady INTEGER NOT NULL, wall INTEGER NOT NULL);
    `),
  );
  await createLeaseTables(session);
  await addAlarmSlots(session);
}

/** Makes the tables of nodes and of their leases. */
async function createLeaseTables(session: Session): Promise<void> {
  await makeLacking(
    session,
    `
    ALTER TABLE causey_alarms ADD COLUMN IF NOT EXISTS slot INTEGER;
    CREATE TABLE IF NOT EXISTS causey_nodes (
      id TEXT PRIMARY KEY, address TEXT NOT NULL, version TEXT NOT NULL, expires TIMESTAMPTZ NOT NULL);
    ALTER TABLE causey_nodes ADD COLUMN IF NOT EXISTS machine TEXT NOT NULL DEFAULT '';
    ALTER TABLE causey_nodes ADD COLUMN IF NOT EXISTS protocol INTEGER;
    ALTER TABLE causey_nodes ADD COLUMN IF NOT EXISTS renewed TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp();
    ALTER TABLE causey_nodes ADD COLUMN IF NOT EXISTS ahead_ms BIGINT;
    ALTER TABLE causey_nodes ADD COLUMN IF NOT EXISTS refusal TEXT;
    CREATE TABLE IF NOT EXISTS causey_node_steps (
      node TEXT NOT NULL, kind TEXT NOT NULL, steps INTEGER NOT NULL, noted TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (node, kind));
    CREATE TABLE IF NOT EXISTS causey_cluster (id INTEGER PRIMARY KEY, secret TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS causey_slots (slot INTEGER PRIMARY KEY, owner TEXT, epoch BIGINT NOT NULL);
    CREATE TABLE IF NOT EXISTS causey_news (
      kind TEXT NOT NULL, actor TEXT NOT NULL, slot INTEGER NOT NULL, version BIGINT NOT NULL, PRIMARY KEY (kind, actor));
    INSERT INTO causey_slots (slot, owner, epoch) SELECT n, NULL, 0 FROM generate_series(0, ${SLOTS - 1}) AS n
      ON CONFLICT (slot) DO NOTHING`,
  );
}

/** Lists the tables and indexes that are there, and the columns of each. */
const MADE = `SELECT relname AS name, NULL AS part FROM pg_class WHERE relname LIKE 'causey%' AND pg_table_is_visible(oid)
  UNION ALL SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relname LIKE 'causey%' AND pg_table_is_visible(c.oid) AND NOT a.attisdropped`;
/** The table, index or column that a statement makes. */
const MAKES =
  /(?:CREATE (?:TABLE|INDEX)|ALTER TABLE (?<table>\w+) ADD COLUMN) IF NOT EXISTS (?<name>\w+)/u;

/**
 * Runs these statements, except those that make something which is there. `IF NOT EXISTS` is not enough: it locks the table
 * first. Beside the writes of other nodes that can be a deadlock; beside a node that stands still it waits.
 */
async function makeLacking(session: Session, statements: string): Promise<void> {
  const made = new Set(
    (await session.all(MADE)).map(({ name, part }) =>
      part === null ? String(name) : `${String(name)}.${String(part)}`,
    ),
  );
  for (const statement of statements.split(";")) {
    const { table, name } = MAKES.exec(statement)?.groups ?? {};
    const isMade = made.has(table === undefined ? String(name) : `${table}.${String(name)}`);
    if (!isMade && statement.trim() !== "") await session.exec(statement);
  }
}

/**
 * Reads the lists with a step that a node has to know and does not, and holds what they say until the transaction ends: a change
 * waits for it. Every row of `causey_schema` is locked in the order in which the change locks them.
 */
export const UNKNOWN_STEPS = `SELECT seen.kind, seen.needs, seen.version, known.steps AS knows
  FROM (SELECT kind, COALESCE(needs, steps) AS needs, version FROM causey_schema ORDER BY kind COLLATE "C" FOR SHARE) AS seen
  JOIN causey_node_steps AS known ON known.node = CAST(? AS TEXT) AND known.kind = seen.kind AND known.steps < seen.needs`;

/** Stores which steps a node knows: its lease, and its writes without one, are compared with them. */
const KNOWN_STEPS = `INSERT INTO causey_node_steps (node, kind, steps) VALUES (?, ?, ?)
  ON CONFLICT (node, kind) DO UPDATE SET steps = excluded.steps`;

/**
 * Applies those schema steps of a kind that this database has not seen, in one transaction. Of several processes that start
 * at once, one does. Throws `internal` when a step is not additive and another node than `ownNode` lives: its statements may fail then.
 */
export async function migrateTables(
  run: RunSession,
  kind: ActorKind,
  ownNode?: string,
): Promise<void> {
  await run(async (session) => {
    await lockTables(session);
    for (const list of schemasOf(kind)) {
      await apply(session, list, ownNode);
      if (ownNode !== undefined)
        await session.all(KNOWN_STEPS, [ownNode, list.name, list.steps.length]);
    }
  });
}

async function lockTables(session: Session): Promise<void> {
  await session.all("SELECT pg_advisory_xact_lock(?)", [LOCK]);
}

async function apply(session: Session, list: SharedSchema, ownNode?: string): Promise<void> {
  const [row] = await session.all(SEEN_STEPS, [list.name]);
  const unseen = unseenSteps(list, row);
  if (unseen.length === 0) return;
  if (row !== undefined && neededSteps(unseen) > 0) await checkAlone(session, list.name, ownNode);
  for (const step of unseen) await session.exec(toPostgresSchema(stepSql(step)));
  await session.all(STORE_STEPS, storedSteps(list));
}

/** A node that comes back, or joins, waits for these locks, and then finds a step that it does not know. */
const LOCK_MARKS = `SELECT kind FROM causey_schema ORDER BY kind COLLATE "C" FOR UPDATE`;
const OTHERS = `SELECT address, version, expires > clock_timestamp() AS lives FROM causey_nodes WHERE id <> ?
  ORDER BY id COLLATE "C" FOR UPDATE`;
/** Ends the writes that a node which stands still has under way. */
const FREE_SLOTS =
  "UPDATE causey_slots SET owner = NULL, epoch = epoch + 1 WHERE owner IS NOT NULL AND owner <> ?";

/** Checks that no other node works with tables that are about to change, nor begins to before this transaction ends. */
async function checkAlone(session: Session, name: string, ownNode = ""): Promise<void> {
  await session.all(LOCK_MARKS);
  const others = (await session.all(OTHERS, [ownNode])).filter((one) => one["lives"] === 1);
  if (others.length === 0) return void (await session.all(FREE_SLOTS, [ownNode]));
  const list = others.map((one) => `${String(one["address"])} (${String(one["version"])})`);
  const message = `The tables of "${name}" cannot be changed while other servers use them: stop ${list.join(", ")}, then start this one again (a server that was killed counts until its lease is over)`;
  throw new ApiError("internal", { message });
}
