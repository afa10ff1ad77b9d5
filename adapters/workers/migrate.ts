import { ApiError } from "../../core/http/api-error.ts";
import type { ActorKind } from "../../core/ports.ts";

/** Applies those schema steps of a kind that this object's database has not seen, in one transaction. */
export function migrate(storage: DurableObjectStorage, kind: ActorKind): void {
  const { sql } = storage;
  storage.transactionSync(() => {
    sql.exec(
      "CREATE TABLE IF NOT EXISTS causey_schema (kind TEXT PRIMARY KEY, steps INTEGER NOT NULL)",
    );
    const [row] = sql.exec("SELECT steps FROM causey_schema WHERE kind = ?", kind.name).toArray();
    const applied = Number(row?.["steps"] ?? 0);
    if (applied > kind.schema.length) {
      const message = `The object holds "${kind.name}" in a newer form (step ${applied}, this version knows ${kind.schema.length}): deploy the newer version`;
      throw new ApiError("internal", { message });
    }
    if (applied === kind.schema.length) return;
    for (const step of kind.schema.slice(applied)) sql.exec(step);
    sql.exec(
      "INSERT INTO causey_schema (kind, steps) VALUES (?, ?) ON CONFLICT (kind) DO UPDATE SET steps = excluded.steps",
      kind.name,
      kind.schema.length,
    );
  });
}
