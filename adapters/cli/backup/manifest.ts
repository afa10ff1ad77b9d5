import { misfitText } from "../../../core/http/fields/misfit.ts";
import * as v from "valibot";

/** The name of the database in the data folder and in a backup. */
export const DATABASE = "causey.db";

/** Files of the data folder that a backup holds beside the database: secrets that the first start made. */
export const KEPT: readonly string[] = ["token", "demo-webhook-secret"];

/** The name of the {@link Manifest} in a backup. */
export const MANIFEST = "causey-backup.json";

/** The description inside a backup. */
export interface Manifest {
  readonly format: 1;
  /** The version of causey that wrote the backup. */
  readonly version: string;
  readonly createdAt: string;
  readonly files: Record<string, { readonly bytes: number; readonly sha256: string }>;
}

const schema = v.pipe(
  v.string(),
  v.parseJson(undefined, "its description is not JSON"),
  v.object({
    format: v.literal(1, "it was written by a newer version"),
    version: v.string(),
    createdAt: v.string(),
    files: v.record(v.string(), v.object({ bytes: v.number(), sha256: v.string() })),
  }),
);

/** Parses the description of a backup. Throws a one-line error when it is invalid. */
export function parseManifest(text: string): Manifest {
  const { success, output, issues } = v.safeParse(schema, text);
  if (success) return output;
  throw new Error(`This backup cannot be read: ${misfitText(issues)}`);
}
