// The program of the threads of `readers.ts`: one query at a time, over a connection of its own that cannot write.
import { parentPort, workerData } from "node:worker_threads";
import { DatabaseSync } from "./database-sync.ts";
import type { SqlValue } from "../../../core/ports.ts";
import type { ReaderAnswer, ReaderMessage, ReaderState } from "./reader-messages.ts";
import { toSqlError } from "./sqlite-error.ts";
import { statements } from "./sqlite-statements.ts";

/** How long a lock is waited for, in ms: a thread may wait on the spot. */
const BUSY_MS = 5000;
/** Pages that stay in memory, in KiB. */
const CACHE_KIB = 8192;

interface Connection {
  readonly answer: (sql: string, params: readonly SqlValue[]) => ReaderAnswer;
  readonly close: () => void;
}

function open(path: string): Connection {
  const db = new DatabaseSync(path, { readOnly: true });
  db.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA cache_size = -${CACHE_KIB}`);
  const run = statements(db);
  return {
    answer(sql, params) {
      try {
        return { rows: run.run(sql, params).rows };
      } catch (thrown) {
        const { reason, message } = toSqlError(thrown, sql);
        return { reason, message };
      }
    },
    close: () => db.close(),
  };
}

function openReader(path: string): ReaderState {
  try {
    const { answer, close } = open(path);
    parentPort?.on("message", (message: ReaderMessage) => {
      if (!("end" in message)) {
        parentPort?.postMessage(answer(message.sql, message.params));
        return;
      }
      close();
      parentPort?.postMessage({ state: "closed" } satisfies ReaderState);
    });
    return { state: "ready" };
  } catch (error) {
    return { state: "failed", error: String(error) };
  }
}

parentPort?.postMessage(openReader(String(workerData)));
