import { formatInstant } from "../../http/fields/instant.ts";
import { chunkId, type PageNumbers, pageNumbers } from "../retrieve/chunk-view.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { itemMetadata } from "../rows/item-record.ts";
import { itemRow } from "../rows/item-store.ts";
import type { Metadata } from "../filter/metadata.ts";

/** A chunk of an item as the API lists it. */
export type ItemChunk = PageNumbers & {
  readonly id: string;
  readonly text: string;
  readonly start_byte: number;
  readonly end_byte: number;
  readonly item: { readonly key: string; readonly timestamp: number; readonly metadata: Metadata };
};

/** An entry of an item's log as the API lists it. */
export type ItemLog = {
  readonly action: string;
  readonly chunkCount: number | null;
  readonly errorType: string | null;
  readonly fileKey: string;
  readonly message: string | null;
  readonly processingTimeMs: number | null;
  readonly timestamp: string;
};

/** Returns chunks of an item in their order, and how many there are. */
export async function itemChunks(
  state: InstanceState,
  itemId: string,
  limit: number,
  offset: number,
): Promise<{ readonly chunks: ItemChunk[]; readonly total: number }> {
  const row = await itemRow(state, itemId);
  const key = String(row["key"]);
  const item = { key, timestamp: Number(row["modified_ms"]), metadata: itemMetadata(row, key) };
  const rows = await state.context.sql.all(
    `SELECT ord, start_byte, end_byte, text, first_page, last_page FROM search_chunks WHERE actor = ? AND item_id = ?
      ORDER BY ord LIMIT ? OFFSET ?`,
    [state.actor, itemId, limit, offset],
  );
  const chunks = rows.map((one) => ({
    id: chunkId(itemId, Number(one["ord"])),
    text: String(one["text"]),
    start_byte: Number(one["start_byte"]),
    end_byte: Number(one["end_byte"]),
    ...pageNumbers(one),
    item,
  }));
  return { chunks, total: Number(row["chunks"] ?? 0) };
}

/** Log entries of an item, newest first; `next` continues, null at the end. */
export async function itemLogs(
  state: InstanceState,
  itemId: string,
  limit: number,
  before: number | null,
): Promise<{ readonly logs: ItemLog[]; readonly next: number | null }> {
  const key = String((await itemRow(state, itemId))["key"]);
  const rows = await state.context.sql.all(
    `SELECT * FROM search_logs WHERE actor = ? AND item_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?`,
    [state.actor, itemId, before ?? Number.MAX_SAFE_INTEGER, limit],
  );
  const logs = rows.map((row) => ({
    action: String(row["action"]),
    chunkCount: row["chunks"] === null ? null : Number(row["chunks"]),
    errorType: row["error"] === null ? null : String(row["error"]),
    fileKey: key,
    message: row["message"] === null ? null : String(row["message"]),
    processingTimeMs: row["took_ms"] === null ? null : Number(row["took_ms"]),
    timestamp: formatInstant(Number(row["at_ms"])),
  }));
  const last = rows.length === limit ? rows.at(-1)?.["seq"] : null;
  return { logs, next: last == null ? null : Number(last) };
}
