import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import { URL } from "node:url";
import { startWorker } from "../work/start-worker.ts";
import type { Worker } from "node:worker_threads";
import type { Log, SqlValue, Statement, StatementResult } from "../../../core/ports.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import {
  type LongWriter,
  valueSize,
  type WriterAnswer,
  type WriterMessage,
  type WriterPart,
  type WriterState,
} from "./writer-messages.ts";

export interface WriterOptions {
  /** Statements that set up the connection as that of the event loop is. */
  readonly pragmas: string;
  /** How long an idle thread stays, in ms. @default 30000 */
  readonly idleMs?: number;
  readonly log: Log;
}

/** How long a thread may take to begin, in ms. */
const START_MS = 30_000;
/** Statements and characters that are handed over at once: less than a millisecond of copying. */
const PART = 200;
const PART_SIZE = 131_072;

/** As one file has the ending of the other: sources are TypeScript, the package is not. */
const entry = new URL(
  import.meta.url.endsWith(".ts") ? "writer-thread.ts" : "writer-thread.js",
  import.meta.url,
);

/** Makes the writer of a database file in WAL mode, without its thread. */
export function longWriter(path: string, options: WriterOptions): LongWriter {
  const { idleMs = 30_000, log, pragmas } = options;
  let thread: WriterThread | null = null;
  let isBroken = false;
  let idle: ReturnType<typeof setTimeout> | undefined;

  async function started(): Promise<WriterThread | null> {
    if (thread?.isOver() === false) return thread;
    if (isBroken) return null;
    try {
      thread = await startThread({ path, pragmas });
      return thread;
    } catch (error) {
      isBroken = true;
      log("warn", "Long batches are committed on the event loop: no thread could be started", {
        error: String(error).slice(0, 200),
      });
      return null;
    }
  }
  return {
    async write(batch) {
      clearTimeout(idle);
      const running = await started();
      if (running === null) return null;
      try {
        return await running.run(batch);
      } finally {
        idle = setTimeout(() => void running.end(), idleMs);
        idle.unref();
      }
    },
    async close() {
      clearTimeout(idle);
      await thread?.end();
    },
  };
}

interface WriterThread {
  run(batch: readonly Statement[]): Promise<StatementResult[]>;
  /** Closes the connection, then the thread. */
  end(): Promise<void>;
  isOver(): boolean;
}

/** Starts a thread that writes. Rejects where the host forbids threads, and where it cannot open the database. */
async function startThread(workerData: {
  readonly path: string;
  readonly pragmas: string;
}): Promise<WriterThread> {
  const worker = startWorker(entry, workerData);
  let isOver = false;
  const ended = new Promise<void>((resolve) =>
    worker.once("exit", () => {
      isOver = true;
      resolve();
    }),
  );
  const tell = (message: WriterMessage): void => worker.postMessage(message);
  const late = setTimeout(() => void worker.terminate(), START_MS);
  const started = await answerOf(worker).finally(() => clearTimeout(late));
  if (!("state" in started) || started.state !== "ready") {
    await worker.terminate();
    throw new Error("error" in started ? started.error : "The thread did not begin");
  }
  worker.unref();
  return {
    async run(batch) {
      worker.ref();
      let isWhole = false;
      const tellPart = (part: WriterPart): void => {
        isWhole = part.isLast;
        tell(part);
      };
      try {
        const answer = answerOf(worker);
        // It may end while parts are still handed over.
        answer.catch(() => undefined);
        await handOver(batch, tellPart, () => isOver);
        return resultsOf(await answer);
      } catch (error) {
        throw error instanceof SqlError ? error : lostBatch(error, isWhole);
      } finally {
        worker.unref();
      }
    },
    async end() {
      if (isOver) return;
      isOver = true;
      worker.ref();
      const closed = answerOf(worker).catch(() => undefined);
      tell({ end: true });
      await closed;
      await worker.terminate();
      await ended;
    },
    isOver: () => isOver,
  };
}

/** Hands a batch over in parts, between which others go on. */
async function handOver(
  batch: readonly Statement[],
  tell: (part: WriterPart) => void,
  isOver: () => boolean,
): Promise<void> {
  const numbers = new Map<string, number>();
  for (let at = 0; at < batch.length && !isOver();) {
    const texts: string[] = [];
    const statements: [number, readonly SqlValue[]][] = [];
    for (let size = 0; at < batch.length && statements.length < PART && size < PART_SIZE; at++) {
      const { sql = "", params = [] } = batch[at] ?? {};
      const number = numbers.get(sql) ?? numbers.size;
      if (number === numbers.size) {
        numbers.set(sql, number);
        texts.push(sql);
      }
      statements.push([number, params]);
      for (const value of params) size += valueSize(value);
    }
    tell({ texts, statements, isLast: at >= batch.length });
    if (at < batch.length) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The failure of a batch whose thread ended: it may have been committed once all of it was handed over. */
function lostBatch(cause: unknown, isWhole: boolean): SqlError {
  return isWhole
    ? new SqlError("unknown", "The thread ended that ran the batch: it may have committed it", {
        cause,
      })
    : new SqlError("busy", "The thread ended before it had the whole batch", { cause });
}

function resultsOf(answer: WriterAnswer | WriterState): StatementResult[] {
  if ("reason" in answer) throw new SqlError(answer.reason, answer.message);
  if ("state" in answer) throw new Error(`The thread is ${answer.state}`);
  const rows = new Map(answer.rows);
  return Array.from(answer.changes, (changes, n) => ({ rows: rows.get(n) ?? [], changes }));
}

/** Returns the next message of a thread; rejects when it fails or ends. */
function answerOf(worker: Worker): Promise<WriterAnswer | WriterState> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      worker.off("message", answered);
      worker.off("error", failed);
      worker.off("exit", ended);
      finish();
    };
    const answered = (answer: WriterAnswer | WriterState): void => settle(() => resolve(answer));
    const failed = (error: Error): void => settle(() => reject(error));
    const ended = (): void => failed(new Error("The thread ended"));
    worker.on("message", answered);
    worker.on("error", failed);
    worker.on("exit", ended);
  });
}
