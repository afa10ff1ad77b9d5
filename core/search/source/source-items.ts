import type { InstanceState } from "../state/instance-state.ts";
import type { SqlRow } from "../../ports.ts";
import { logStatements } from "../rows/item-log.ts";
import type { Pending } from "../rows/item-store.ts";
import { removeItem } from "../ingest/remove-item.ts";

/** The item that an instance has under the key of an entry. */
export interface KnownItem {
  readonly id: string;
  /** The source that gave it; null for an upload of a client. */
  readonly source: string | null;
  readonly version: string | null;
  /** The checksum of its newest content; empty before the first. */
  readonly checksum: string;
  readonly status: string;
}

/** Items of one query: Durable Objects bind 100 values. */
const ASKED = 50;

/** Returns the items that an instance has under some keys. */
export async function knownItems(
  { actor, context }: InstanceState,
  keys: readonly string[],
): Promise<Map<string, KnownItem>> {
  const found = new Map<string, KnownItem>();
  for (let at = 0; at < keys.length; at += ASKED) {
    const some = keys.slice(at, at + ASKED);
    const rows = await context.sql.all(
      `SELECT id, key, source, source_version, checksum, pending, status FROM search_items
        WHERE actor = ? AND key IN (${some.map(() => "?").join(", ")})`,
      [actor, ...some],
    );
    for (const row of rows) found.set(String(row["key"]), toKnown(row));
  }
  return found;
}

function toKnown(row: SqlRow): KnownItem {
  const pending = row["pending"] === null ? null : (JSON.parse(String(row["pending"])) as Pending);
  return {
    id: String(row["id"]),
    source: row["source"] == null ? null : String(row["source"]),
    version: row["source_version"] == null ? null : String(row["source_version"]),
    checksum: pending?.checksum ?? String(row["checksum"]),
    status: String(row["status"]),
  };
}

/** Notes that a job has seen items as they are. */
export async function markSeen(
  { actor, context }: InstanceState,
  seen: readonly { readonly id: string; readonly version: string | null }[],
  job: string,
): Promise<void> {
  if (seen.length === 0) return;
  const now = context.system.now();
  await context.sql.batch(
    seen.map(({ id, version }) => ({
      sql: "UPDATE search_items SET seen_job = ?, source_version = ?, seen_ms = ? WHERE actor = ? AND id = ?",
      params: [job, version, now, actor, id],
    })),
  );
}

/** A source's item that could not be had. */
export interface SourceFailure {
  readonly key: string;
  readonly known: KnownItem | undefined;
  readonly source: string;
  readonly job: string;
  readonly reason: string;
}

/** Notes on an item why it could not be had: what was indexed before serves on, and the next job tries again. */
export async function noteSourceFailure(
  { actor, context }: InstanceState,
  { key, known, source, job, reason }: SourceFailure,
): Promise<void> {
  const { system, sql } = context;
  const now = system.now();
  const error = reason.slice(0, 500);
  const id = known?.id ?? system.id();
  const row =
    known === undefined
      ? {
          sql: `INSERT INTO search_items (actor, id, key, status, error, revision, pending, metadata, checksum, size,
            content_type, created_ms, modified_ms, seen_ms, source, source_version, seen_job)
            VALUES (?, ?, ?, 'error', ?, 0, NULL, '{}', '', 0, '', ?, ?, ?, ?, NULL, ?)`,
          params: [actor, id, key, error, now, now, now, source, job],
        }
      : {
          sql: `UPDATE search_items SET status = 'error', error = ?, seen_ms = ?, seen_job = ?, source_version = NULL
            WHERE actor = ? AND id = ?`,
          params: [error, now, job, actor, id],
        };
  await sql.batch([
    row,
    ...logStatements(actor, id, { at: now, chunks: null, failure: error, tookMs: 0 }),
  ]);
}

/** Counts the items of a source, and those among them that a job has not seen. */
export async function countUnseen(
  { actor, context }: InstanceState,
  job: string,
  source: string,
): Promise<{ readonly all: number; readonly unseen: number }> {
  const [row] = await context.sql.all(
    `SELECT COUNT(*) AS items, COUNT(CASE WHEN seen_job = ? THEN 1 END) AS seen FROM search_items
      WHERE actor = ? AND source = ?`,
    [job, actor, source],
  );
  const all = Number(row?.["items"] ?? 0);
  return { all, unseen: all - Number(row?.["seen"] ?? 0) };
}

/** Deletes one item of the source that this job has not seen. Returns its key, or null when all were seen. */
export async function removeUnseen(state: InstanceState, job: string): Promise<string | null> {
  const [row] = await state.context.sql.all(
    `SELECT id, key FROM search_items WHERE actor = ? AND source IS NOT NULL
      AND (seen_job IS NULL OR seen_job <> ?) ORDER BY id LIMIT 1`,
    [state.actor, job],
  );
  if (row === undefined) return null;
  await removeItem(state, String(row["id"]));
  return String(row["key"]);
}
