import type { Statement } from "../../ports.ts";
import { type FileWarning, lostText } from "../read/file-warning.ts";

/** Log entries that are kept per item. */
const KEPT_LOGS = 50;

/** How one attempt to index an item ended. */
export interface LogEntry {
  /** Unix ms. */
  readonly at: number;
  readonly chunks: number | null;
  /** Why it failed; null when it did not. */
  readonly failure: string | null;
  /** The parts of the file that could not be read. @default all of it was read */
  readonly warnings?: readonly FileWarning[];
  readonly tookMs: number;
}

/** Returns statements that add an entry to the log of an item and drop its oldest. */
export function logStatements(
  actor: string,
  itemId: string,
  { at, chunks, failure, warnings = [], tookMs }: LogEntry,
): Statement[] {
  const lost = lostText(warnings);
  return [
    {
      sql: `INSERT INTO search_logs (actor, item_id, seq, at_ms, action, chunks, error, message, took_ms)
        SELECT ?, ?, COALESCE(MAX(seq), 0) + 1, ?, 'INDEX', ?, ?, ?, ? FROM search_logs WHERE actor = ? AND item_id = ?`,
      params: [
        actor,
        itemId,
        at,
        chunks,
        failure === null ? null : "indexing_failed",
        failure ?? (lost === "" ? null : lost),
        tookMs,
        actor,
        itemId,
      ],
    },
    {
      sql: `DELETE FROM search_logs WHERE actor = ? AND item_id = ? AND seq <=
        (SELECT MAX(seq) FROM search_logs WHERE actor = ? AND item_id = ?) - ?`,
      params: [actor, itemId, actor, itemId, KEPT_LOGS],
    },
  ];
}
