// The program of the threads of `writer.ts`: one batch at a time in a transaction of its own.
import { parentPort, workerData } from "node:worker_threads";
import { DatabaseSync } from "./database-sync.ts";
import type { SqlRow } from "../../../core/ports.ts";
import type { SqlError } from "../../../core/sql/sql-error.ts";
import { toSqlError } from "./sqlite-error.ts";
import { statements, type Statements } from "./sqlite-statements.ts";
import type { WriterAnswer, WriterMessage, WriterPart, WriterState } from "./writer-messages.ts";

/** How long a lock is waited for, in ms: a thread may wait on the spot. */
const BUSY_MS = 5000;

interface OpenBatch {
  readonly texts: string[];
  readonly changes: number[];
  readonly rows: [statement: number, rows: SqlRow[]][];
  /** Why it is not committed: the rest of it is passed over. */
  error: SqlError | null;
}

function runPart(run: Statements, batch: OpenBatch, { texts, statements: part }: WriterPart): void {
  batch.texts.push(...texts);
  for (const [text, params] of part) {
    const { rows, changes } = run.run(batch.texts[text] ?? "", params);
    if (rows.length > 0) batch.rows.push([batch.changes.length, rows]);
    batch.changes.push(changes);
  }
}

/** Runs parts of batches; the answer to a whole one, null before. */
function batches(db: DatabaseSync): (part: WriterPart) => WriterAnswer | null {
  const run = statements(db);
  let current: OpenBatch | null = null;
  const attempt = (batch: OpenBatch, work: () => void): void => {
    if (batch.error !== null) return;
    try {
      work();
    } catch (thrown) {
      batch.error = toSqlError(thrown, "batch");
      if (db.isTransaction) db.exec("ROLLBACK");
    }
  };
  return (part) => {
    const isFirst = current === null;
    const batch = (current ??= { texts: [], changes: [], rows: [], error: null });
    attempt(batch, () => {
      if (isFirst) db.exec("BEGIN IMMEDIATE");
      runPart(run, batch, part);
      if (part.isLast) db.exec("COMMIT");
    });
    if (!part.isLast) return null;
    current = null;
    const { error, changes, rows } = batch;
    if (error !== null) return { reason: error.reason, message: error.message };
    return { changes: new Float64Array(changes), rows };
  };
}

function openWriter({ path, pragmas }: { path: string; pragmas: string }): WriterState {
  try {
    const db = new DatabaseSync(path);
    db.exec(`PRAGMA busy_timeout = ${BUSY_MS}; ${pragmas}`);
    const take = batches(db);
    parentPort?.on("message", (message: WriterMessage) => {
      if ("end" in message) {
        db.close();
        parentPort?.postMessage({ state: "closed" } satisfies WriterState);
        return;
      }
      const answer = take(message);
      if (answer !== null)
        parentPort?.postMessage(answer, "changes" in answer ? [answer.changes.buffer] : []);
    });
    return { state: "ready" };
  } catch (error) {
    return { state: "failed", error: String(error) };
  }
}

// Its owner has given it.
parentPort?.postMessage(openWriter(workerData as { path: string; pragmas: string }));
