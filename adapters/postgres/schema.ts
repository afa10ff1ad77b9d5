import type { ActorKind, SharedSchema } from "../../core/ports.ts";
import { schemasOf, SEEN_STEPS, STORE_STEPS, unseenSteps } from "../shared/sql/schema-lists.ts";
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
      CREATE TABLE IF NOT EXISTS causey_schema (kind TEXT PRIMARY KEY, steps INTEGER NOT NULL);
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
 * at once, one does.
 */
export async function migrateTables(run: RunSession, kind: ActorKind): Promise<void> {
  await run(async (session) => {
    await lockTables(session);
    for (const list of schemasOf(kind)) await apply(session, list);
  });
}

async function lockTables(session: Session): Promise<void> {
  await session.all("SELECT pg_advisory_xact_lock(?)", [LOCK]);
}

async function apply(session: Session, list: SharedSchema): Promise<void> {
  const [row] = await session.all(SEEN_STEPS, [list.name]);
  const unseen = unseenSteps(list, Number(row?.["steps"] ?? 0));
  if (unseen.length === 0) return;
  for (const step of unseen) await session.exec(toPostgresSchema(step));
  await session.all(STORE_STEPS, [list.name, list.steps.length]);
}
