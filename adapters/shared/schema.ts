import { ApiError } from "../../core/http/api-error.ts";
import type { ActorKind } from "../../core/ports.ts";
import type { SqliteDatabase } from "./sqlite.ts";

/** Creates the tables in which local actors keep their own affairs. */
export function createTables(db: SqliteDatabase): void {
  db.transaction(() => {
    db.exec(`
      CREATE TABLE IF NOT EXISTS causey_schema (kind TEXT PRIMARY KEY, steps INTEGER NOT NULL);
      CREATE TABLE IF NOT EXISTS causey_alarms (
        kind TEXT NOT NULL, actor TEXT NOT NULL, at INTEGER NOT NULL, attempts INTEGER NOT NULL,
        version INTEGER NOT NULL, PRIMARY KEY (kind, actor));
      CREATE INDEX IF NOT EXISTS causey_alarms_due ON causey_alarms (at);
    `);
  });
}

/** Applies those schema steps of a kind that this database has not seen, in one transaction. */
export function migrate(db: SqliteDatabase, kind: ActorKind): void {
  db.transaction(() => {
    const [row] = db.rows("SELECT steps FROM causey_schema WHERE kind = ?", [kind.name]);
    const applied = Number(row?.["steps"] ?? 0);
    const known = kind.schema.length;
    if (applied > known) {
      const message = `The database holds "${kind.name}" at schema step ${applied} and this version knows ${known}: start the version that wrote it`;
      throw new ApiError("internal", { message });
    }
    for (const step of kind.schema.slice(applied)) db.exec(step);
    db.rows(
      "INSERT INTO causey_schema (kind, steps) VALUES (?, ?) ON CONFLICT (kind) DO UPDATE SET steps = excluded.steps",
      [kind.name, known],
    );
  });
}
