import { ApiError } from "../../../core/http/api-error.ts";
import type { ActorKind, SharedSchema } from "../../../core/ports.ts";
import { schemasOf } from "../sql/schema-lists.ts";
import type { SqliteDatabase } from "./sqlite.ts";

/** Makes the tables in which local actors keep their own affairs. */
export const OWN_TABLES = `
  CREATE TABLE IF NOT EXISTS causey_schema (kind TEXT PRIMARY KEY, steps INTEGER NOT NULL);
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
    const applied = appliedSteps(db, name);
    return applied > 0 && applied < steps.length;
  });
}

function appliedSteps(db: SqliteDatabase, name: string): number {
  const [row] = db.rows("SELECT steps FROM causey_schema WHERE kind = ?", [name]);
  return Number(row?.["steps"] ?? 0);
}

function apply(db: SqliteDatabase, { name, steps }: SharedSchema): void {
  const applied = appliedSteps(db, name);
  if (applied > steps.length) {
    const message = `The database holds "${name}" at schema step ${applied} and this version knows ${steps.length}: start the version that wrote it`;
    throw new ApiError("internal", { message });
  }
  // Writes nothing where nothing is to be done: a server also starts on a full disk.
  if (applied === steps.length) return;
  for (const step of steps.slice(applied)) db.exec(step);
  db.rows(
    "INSERT INTO causey_schema (kind, steps) VALUES (?, ?) ON CONFLICT (kind) DO UPDATE SET steps = excluded.steps",
    [name, steps.length],
  );
}
