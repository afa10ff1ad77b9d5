import { formatInstant } from "../../http/fields/instant.ts";
import type { SqlRow } from "../../ports.ts";
import { builtinMetadata, type Metadata, type MetadataWarning } from "../filter/metadata.ts";
import type { FileWarning } from "../read/file-warning.ts";

/** The progress of an item on its way into the index. */
export type ItemStatus = "queued" | "running" | "completed" | "error" | "skipped" | "outdated";

/** A warning about an item that was indexed: something of its file was not read, or no filter sees some metadata. */
export type ItemWarning = FileWarning | MetadataWarning;

/** An item as the API shows it. */
export type Item = {
  readonly id: string;
  readonly key: string;
  readonly checksum: string;
  readonly chunks_count: number | null;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly file_size: number;
  readonly metadata: Metadata;
  readonly namespace: string;
  readonly next_action: "INDEX" | "DELETE" | null;
  readonly source_id: string;
  readonly status: ItemStatus;
  readonly error?: string;
  /** The parts of its file that could not be read; an upload's answer also has warnings about its metadata. @default all was read */
  readonly warnings?: readonly ItemWarning[];
};

/** The column that tells whether something of an item waits to be indexed. */
export const WAITS: string =
  "(SELECT COUNT(*) FROM search_work w WHERE w.actor = i.actor AND w.id = i.id) AS waits";

/** The columns that {@link toItem} reads. */
export const ITEM_COLUMNS: string = `i.id, i.key, i.status, i.error, i.metadata, i.checksum, i.size, i.chunks, i.created_ms, i.modified_ms, i.seen_ms, i.source, i.warnings, ${WAITS}`;

/** Turns a row of `search_items` into an item. */
export function toItem(row: SqlRow, namespace: string): Item {
  const status = String(row["status"]) as ItemStatus;
  const key = String(row["key"]);
  const error = row["error"];
  const warnings = row["warnings"];
  return {
    id: String(row["id"]),
    key,
    checksum: String(row["checksum"]),
    chunks_count: row["chunks"] === null ? null : Number(row["chunks"]),
    created_at: formatInstant(Number(row["created_ms"])),
    last_seen_at: formatInstant(Number(row["seen_ms"])),
    file_size: Number(row["size"]),
    metadata: itemMetadata(row, key),
    namespace,
    next_action: Number(row["waits"]) > 0 ? "INDEX" : null,
    source_id: row["source"] == null ? "builtin" : String(row["source"]),
    status,
    ...(typeof error === "string" ? { error } : {}),
    ...(typeof warnings === "string" ? { warnings: JSON.parse(warnings) as FileWarning[] } : {}),
  };
}

/** Returns all metadata of an item: its own, and what follows from its key and its time. */
export function itemMetadata(row: SqlRow, key: string): Metadata {
  const own = JSON.parse(String(row["metadata"])) as Metadata;
  return { ...own, ...builtinMetadata(key, Number(row["modified_ms"])) };
}
