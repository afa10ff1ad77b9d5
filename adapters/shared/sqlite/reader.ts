import { clearTimeout, setTimeout } from "node:timers";
import { URL } from "node:url";
import { startWorker } from "../work/start-worker.ts";
import type { SqlRow, SqlValue } from "../../../core/ports.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import type { ReaderAnswer, ReaderMessage, ReaderState } from "./reader-messages.ts";

/** A query whose caller waits; it gets null when no thread can be started. */
export interface ReaderQuery {
  readonly sql: string;
  readonly params: readonly SqlValue[];
  readonly resolve: (rows: SqlRow[] | null) => void;
  readonly reject: (error: Error) => void;
}

/** One thread with its connection. */
export interface Reader {
  /** Whether the thread has started, runs no query, and is not ending. */
  isFree(): boolean;
  run(query: ReaderQuery): void;
  /** Ends after a while, unless it gets a query; an idle thread keeps no process alive. */
  rest(idleMs: number): void;
  /** Closes the connection, then the thread. */
  end(): void;
  /** Resolves when the thread has ended. */
  readonly ended: Promise<void>;
}

/** Events for the owner of a reader. */
export interface ReaderEvents {
  readonly free: (reader: Reader) => void;
  /** No thread could be started, or it could not open the database. */
  readonly failed: (error: unknown) => void;
}

/** How long a thread may take to begin, in ms. */
const START_MS = 30_000;

/** As one file has the ending of the other: sources are TypeScript, the package is not. */
const entry = new URL(
  import.meta.url.endsWith(".ts") ? "reader-thread.ts" : "reader-thread.js",
  import.meta.url,
);

/** Starts a thread that reads the database. Throws where the host forbids threads. */
export function startReader(path: string, events: ReaderEvents): Reader {
  const worker = startWorker(entry, path);
  let state: "starting" | "free" | "busy" | "ending" = "starting";
  let query: ReaderQuery | null = null;
  let timer = setTimeout(() => void worker.terminate(), START_MS);
  const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));

  const tell = (message: ReaderMessage): void => worker.postMessage(message);
  const reader: Reader = {
    isFree: () => state === "free",
    run(next) {
      clearTimeout(timer);
      state = "busy";
      query = next;
      worker.ref();
      tell({ sql: next.sql, params: next.params });
    },
    rest(idleMs) {
      worker.unref();
      timer = setTimeout(() => reader.end(), idleMs);
      timer.unref();
    },
    end() {
      clearTimeout(timer);
      state = "ending";
      // The caller who closes the database waits for this, maybe with nothing else that keeps the process alive.
      worker.ref();
      tell({ end: true });
    },
    ended,
  };

  function change(message: ReaderState): void {
    if (message.state === "ready") return;
    if (message.state === "failed") events.failed(message.error);
    state = "ending";
    void worker.terminate();
  }
  worker.on("message", (message: ReaderState | ReaderAnswer) => {
    clearTimeout(timer);
    if ("state" in message) change(message);
    else settle(query, message);
    query = null;
    if (state === "ending") return;
    state = "free";
    events.free(reader);
  });
  worker.on("error", (error: unknown) => {
    if (state === "starting") events.failed(error);
  });
  worker.on("exit", () => {
    clearTimeout(timer);
    if (state === "starting") events.failed("The thread ended before it began");
    state = "ending";
    query?.reject(new SqlError("busy", "The thread that ran the query ended"));
  });
  return reader;
}

function settle(query: ReaderQuery | null, answer: ReaderAnswer): void {
  if ("rows" in answer) query?.resolve(answer.rows);
  else query?.reject(new SqlError(answer.reason, answer.message));
}
