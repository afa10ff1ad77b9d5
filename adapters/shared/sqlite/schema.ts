import type { ActorKind, SharedSchema, SqlRow } from "../../../core/ports.ts";
import { stepSql } from "../../../core/sql/schema-step.ts";
import {
  LATER_COLUMNS,
  SCHEMA_COLUMNS,
  schemasOf,
  SEEN_STEPS,
  STORE_STEPS,
  storedSteps,
  unseenSteps,
} from "../sql/schema-lists.ts";
import type { SqliteDatabase } from "./sqlite.ts";

/** Makes the tables in which local actors keep their own affairs. */
export const OWN_TABLES: string = `
  CREATE TABLE IF NOT EXISTS causey_schema (${SCHEMA_COLUMNS});
  CREATE TABLE IF NOT EXISTS causey_alarms (
    kind TEXT NOT NULL, actor TEXT NOT NULL, at INTEGER NOT NULL, attempts INTEGER NOT NULL,
    version INTEGER NOT NULL, PRIMARY KEY (kind, actor));
  DROP INDEX IF EXISTS causey_alarms_due;
  CREATE INDEX IF NOT EXISTS causey_alarms_of_kind ON causey_alarms (kind, at);
  CREATE TABLE IF NOT EXISTS causey_clock (
    id INTEGER PRIMARY KEY, steady INTEGER NOT NULL, wall INTEGER NOT NULL);
`;

/** Creates {@link OWN_TABLES}. */
export function createTables(db: SqliteDatabase): void {
  db.transaction(() => {
    db.exec(OWN_TABLES);
    const columns = db.rows("SELECT name FROM pragma_table_info('causey_schema')", []);
    if (!columns.some(({ name }) => name === "needs"))
      for (const column of LATER_COLUMNS) db.exec(`ALTER TABLE causey_schema ADD COLUMN ${column}`);
  });
}

/** Applies those schema steps of a kind that this database has not seen, in one transaction. */
export function migrate(db: SqliteDatabase, kind: ActorKind): void {
  db.transaction(() => {
    for (const list of schemasOf(kind)) apply(db, list);
  });
}

/** Whether this database holds tables of a kind in an older form, which {@link migrate} would change. */
export function isOutdated(db: SqliteDatabase, kind: ActorKind): boolean {
  return schemasOf(kind).some(({ name, steps }) => {
    const seen = Number(seenSteps(db, name)?.["steps"] ?? 0);
    return seen > 0 && seen < steps.length;
  });
}

function seenSteps(db: SqliteDatabase, name: string): SqlRow | undefined {
  return db.rows(SEEN_STEPS, [name])[0];
}

function apply(db: SqliteDatabase, list: SharedSchema): void {
  const unseen = unseenSteps(list, seenSteps(db, list.name));
  // Writes nothing where nothing is to be done: a server also starts on a full disk.
  if (unseen.length === 0) return;
  for (const step of unseen) db.exec(stepSql(step));
  db.rows(STORE_STEPS, storedSteps(list));
}
