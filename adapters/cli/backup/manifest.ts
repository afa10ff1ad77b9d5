import * as v from "valibot";

/** The name of the database in the data folder and in a backup. */
export const DATABASE = "causey.db";

/** What else of the data folder belongs to a backup: secrets that the first start made. */
export const KEPT: readonly string[] = ["token", "demo-webhook-secret"];

/** The name of the {@link Manifest} in a backup. */
export const MANIFEST = "causey-backup.json";

/** What a backup says of itself. */
export interface Manifest {
  readonly format: 1;
  /** Of the causey that wrote it. */
  readonly version: string;
  readonly createdAt: string;
  readonly files: Record<string, { readonly bytes: number; readonly sha256: string }>;
}

const schema = v.pipe(
  v.string(),
  v.parseJson(undefined, "its description is no JSON"),
  v.object({
    format: v.literal(1, "it was written by a newer version"),
    version: v.string(),
    createdAt: v.string(),
    files: v.record(v.string(), v.object({ bytes: v.number(), sha256: v.string() })),
  }),
);

/** Reads what a backup says of itself. Throws one line for what is none. */
export function parseManifest(text: string): Manifest {
  const { success, output, issues } = v.safeParse(schema, text);
  if (success) return output;
  throw new Error(`This backup cannot be read: ${issues[0].message}`);
}
