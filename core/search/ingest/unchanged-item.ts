import { indexMetadata, type Metadata, type MetadataWarning } from "../filter/metadata.ts";
import type { Upload } from "../rows/item-store.ts";
import { liveFacts } from "./commit-item.ts";
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
 * Returns the item that has the content of an upload already, indexed as the settings say, or about to get its vectors, or to
 * have its pictures read; null for any other upload. Notes that it was seen. Asking a model again would cost as much as the first time.
 */
export async function unchangedItem(
  state: InstanceState,
  { key, metadata, checksum, contentType }: UploadFacts,
): Promise<UnchangedItem | null> {
  const { actor, context } = state;
  const { settings } = state.facts();
  const { sql, system } = context;
  const [row] = await sql.all(
    `SELECT * FROM search_items i WHERE actor = ? AND key = ? AND source IS NULL AND (
      (recipe = ? AND status IN ('completed', 'running') AND indexed_revision = revision AND pending IS NULL)
      OR (status IN ('queued', 'running') AND pending IS NOT NULL AND EXISTS (SELECT 1 FROM search_work w
        WHERE w.actor = i.actor AND w.id = i.id AND w.stage = 'pictures' AND w.revision = i.revision)))`,
    [actor, key, recipeOf(settings)],
  );
  if (row === undefined) return null;
  const known = liveFacts(row);
  const isOther = known.checksum !== checksum || known.contentType !== contentType;
  if (isOther || !isSame(known.metadata, metadata)) return null;
  const itemId = String(row["id"]);
  await sql.batch([
    {
      sql: "UPDATE search_items SET seen_ms = ? WHERE actor = ? AND id = ?",
      params: [system.now(), actor, itemId],
    },
  ]);
  const { warnings } = indexMetadata(key, known.modified, metadata, settings.custom_metadata);
  return { itemId, warnings };
}

function isSame(one: Metadata, other: Metadata): boolean {
  const fields = Object.entries(one);
  return (
    fields.length === Object.keys(other).length &&
    fields.every(([field, value]) => Object.hasOwn(other, field) && other[field] === value)
  );
}
