import { indexMetadata, type Metadata, type MetadataWarning } from "../filter/metadata.ts";
import type { Upload } from "../rows/item-store.ts";
import { recipeOf } from "../state/instance-settings.ts";
import type { InstanceState } from "../state/instance-state.ts";

/** An upload, as far as it decides what is indexed. */
export type UploadFacts = Pick<Upload, "key" | "metadata" | "checksum" | "contentType">;

/** An item that an upload would only make again. */
export type UnchangedItem = {
  readonly itemId: string;
  readonly warnings: readonly MetadataWarning[];
};

/**
 * Returns the item that has the content of an upload already, indexed as the settings say, or about to get its vectors; null
 * for any other upload. Notes that it was seen. Making the same vectors again would cost an embedder as much as the first time.
 */
export async function unchangedItem(
  state: InstanceState,
  { key, metadata, checksum, contentType }: UploadFacts,
): Promise<UnchangedItem | null> {
  const { actor, context } = state;
  const { settings } = state.facts();
  const { sql, system } = context;
  const [row] = await sql.all(
    `SELECT id, metadata, modified_ms FROM search_items WHERE actor = ? AND key = ? AND checksum = ? AND content_type = ?
      AND recipe = ? AND status IN ('completed', 'running') AND indexed_revision = revision AND pending IS NULL
      AND source IS NULL`,
    [actor, key, checksum, contentType, recipeOf(settings)],
  );
  if (row === undefined || !isSame(JSON.parse(String(row["metadata"])) as Metadata, metadata))
    return null;
  const itemId = String(row["id"]);
  await sql.batch([
    {
      sql: "UPDATE search_items SET seen_ms = ? WHERE actor = ? AND id = ?",
      params: [system.now(), actor, itemId],
    },
  ]);
  const modified = Number(row["modified_ms"]);
  const { warnings } = indexMetadata(key, modified, metadata, settings.custom_metadata);
  return { itemId, warnings };
}

function isSame(one: Metadata, other: Metadata): boolean {
  const fields = Object.entries(one);
  return (
    fields.length === Object.keys(other).length &&
    fields.every(([field, value]) => Object.hasOwn(other, field) && other[field] === value)
  );
}
