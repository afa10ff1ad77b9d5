import { ApiError } from "../../../core/http/api-error.ts";
import type { ActorKind, SharedSchema } from "../../../core/ports.ts";
import { schemasOf } from "../../shared/sqlite/schema-lists.ts";

/** Applies those schema steps of a kind that this object's database has not seen, in one transaction. */
export function migrateObject(storage: DurableObjectStorage, kind: ActorKind): void {
  storage.transactionSync(() => {
    storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS causey_schema (kind TEXT PRIMARY KEY, steps INTEGER NOT NULL)",
    );
    for (const list of schemasOf(kind)) apply(storage.sql, list);
  });
}

function apply(sql: SqlStorage, { name, steps }: SharedSchema): void {
  const [row] = sql.exec("SELECT steps FROM causey_schema WHERE kind = ?", name).toArray();
  const applied = Number(row?.["steps"] ?? 0);
  if (applied > steps.length) {
    const message = `The object holds "${name}" in a newer form (step ${applied}, this version knows ${steps.length}): deploy the newer version`;
    throw new ApiError("internal", { message });
  }
  if (applied === steps.length) return;
  for (const step of steps.slice(applied)) sql.exec(step);
  sql.exec(
    "INSERT INTO causey_schema (kind, steps) VALUES (?, ?) ON CONFLICT (kind) DO UPDATE SET steps = excluded.steps",
    name,
    steps.length,
  );
}
