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
  await session.exec(
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
  await addAlarmSlots(session);
  await createLeaseTables(session);
}

/** Makes the tables of nodes and of their leases. */
async function createLeaseTables(session: Session): Promise<void> {
  await session.exec(`
    CREATE TABLE IF NOT EXISTS causey_nodes (
      id TEXT PRIMARY KEY, address TEXT NOT NULL, version TEXT NOT NULL, expires TIMESTAMPTZ NOT NULL);
    ALTER TABLE causey_nodes ADD COLUMN IF NOT EXISTS machine TEXT NOT NULL DEFAULT '';
    ALTER TABLE causey_nodes ADD COLUMN IF NOT EXISTS renewed TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp();
    CREATE TABLE IF NOT EXISTS causey_cluster (id INTEGER PRIMARY KEY, secret TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS causey_slots (slot INTEGER PRIMARY KEY, owner TEXT, epoch BIGINT NOT NULL);
    CREATE TABLE IF NOT EXISTS causey_news (
      kind TEXT NOT NULL, actor TEXT NOT NULL, slot INTEGER NOT NULL, version BIGINT NOT NULL, PRIMARY KEY (kind, actor));
    INSERT INTO causey_slots (slot, owner, epoch) SELECT n, NULL, 0 FROM generate_series(0, ${SLOTS - 1}) AS n
      ON CONFLICT (slot) DO NOTHING;
  `);
}

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
    for (const list of schemasOf(kind)) await apply(session, list, ownNode);
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

const OTHERS = `SELECT address, version FROM causey_nodes WHERE expires > clock_timestamp() AND id <> ? ORDER BY address`;

/** Checks that no other node works with tables that are about to change. */
async function checkAlone(session: Session, name: string, ownNode = ""): Promise<void> {
  const others = await session.all(OTHERS, [ownNode]);
  if (others.length === 0) return;
  const list = others.map((one) => `${String(one["address"])} (${String(one["version"])})`);
  const message = `The tables of "${name}" cannot be changed while other servers use them: stop ${list.join(", ")}, then start this one again (a server that was killed counts until its lease is over)`;
  throw new ApiError("internal", { message });
}
