import { ApiError } from "../../../core/http/api-error.ts";
import type { ActorKind, SharedSchema } from "../../../core/ports.ts";

/** Returns the lists of steps that make a kind's tables, in order, each with the name that its count is kept under. */
export function schemasOf(kind: ActorKind): readonly SharedSchema[] {
  if (kind.shared === undefined) return [{ name: kind.name, steps: kind.schema }];
  // A name of its own: a kind that once counted both lists as one must not take that count for one of them.
  return [kind.shared, { name: `${kind.name}/own`, steps: kind.schema }];
}

/** Reads the count of steps that a database has seen of a list. */
export const SEEN_STEPS = "SELECT steps FROM causey_schema WHERE kind = ?";
/** Stores that count. */
export const STORE_STEPS =
  "INSERT INTO causey_schema (kind, steps) VALUES (?, ?) ON CONFLICT (kind) DO UPDATE SET steps = excluded.steps";

/** Returns the steps that a database has not seen yet. Throws `internal` when it has seen more than there are. */
export function unseenSteps({ name, steps }: SharedSchema, seen: number): readonly string[] {
  if (seen <= steps.length) return steps.slice(seen);
  const message = `The database holds "${name}" at schema step ${seen} and this version knows ${steps.length}: start the version that wrote it`;
  throw new ApiError("internal", { message });
}
