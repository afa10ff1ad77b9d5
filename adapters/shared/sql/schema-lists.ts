import { ApiError } from "../../../core/http/api-error.ts";
import type { ActorKind, SharedSchema } from "../../../core/ports.ts";
import { neededSteps, type SchemaStep } from "../../../core/sql/schema-step.ts";
import { VERSION } from "../../../core/version.ts";

/** Returns the lists of steps that make a kind's tables, in order, each with the name that its count is kept under. */
export function schemasOf(kind: ActorKind): readonly SharedSchema[] {
  if (kind.shared === undefined) return [{ name: kind.name, steps: kind.schema }];
  // A name of its own: a kind that once counted both lists as one must not take that count for one of them.
  return [kind.shared, { name: `${kind.name}/own`, steps: kind.schema }];
}

/** The columns of `causey_schema`: steps that ran, how many of them a version has to know, and the version that wrote the last of those. */
export const SCHEMA_COLUMNS =
  "kind TEXT PRIMARY KEY, steps INTEGER NOT NULL, needs INTEGER, version TEXT";
/** Columns that a table of an earlier version lacks; without them each step has to be known. */
export const LATER_COLUMNS: readonly string[] = ["needs INTEGER", "version TEXT"];

/** Reads what a database has seen of a list. */
export const SEEN_STEPS = "SELECT steps, needs, version FROM causey_schema WHERE kind = ?";
/** Stores {@link storedSteps}. */
export const STORE_STEPS = `INSERT INTO causey_schema (kind, steps, needs, version) VALUES (?, ?, ?, ?)
  ON CONFLICT (kind) DO UPDATE SET steps = excluded.steps, needs = excluded.needs,
    version = CASE WHEN causey_schema.needs = excluded.needs THEN causey_schema.version ELSE excluded.version END`;

/** Returns the values of a database that has seen a whole list. */
export function storedSteps({ name, steps }: SharedSchema): [string, number, number, string] {
  return [name, steps.length, neededSteps(steps), VERSION];
}

/** Returns the steps that a database has not seen yet. Throws `internal` when it has seen one that this version has to know and does not. */
export function unseenSteps(
  { name, steps }: SharedSchema,
  row: Readonly<Record<string, unknown>> | undefined,
): readonly SchemaStep[] {
  const seen = Number(row?.["steps"] ?? 0);
  const needs = Number(row?.["needs"] ?? seen);
  if (needs <= steps.length) return steps.slice(seen);
  throw unknownStep({ name, needs, knows: steps.length, version: row?.["version"] });
}

/** Returns the failure of a version that must not work with the tables of a list. */
export function unknownStep(list: {
  readonly name: string;
  readonly needs: number;
  readonly knows: number;
  /** The version that wrote the step, as the database has it. */
  readonly version: unknown;
}): ApiError {
  const { knows, name, needs, version } = list;
  const what =
    typeof version === "string"
      ? `causey ${version} or newer, with the same agents`
      : "the version that wrote it";
  const message = `The database holds "${name}" at schema step ${needs} and this version (${VERSION}) knows ${knows}: start ${what}`;
  return new ApiError("internal", { message });
}
