import { URL } from "node:url";
import { Worker } from "node:worker_threads";
import type { Log, Plain, System } from "../../../core/ports.ts";
import { TransportError } from "../../../core/transport-error.ts";
import { withinMs } from "../../../core/within-ms.ts";
import { buffersOf, type TaskOutcome } from "./messages.ts";

/** What {@link threadPool} needs. */
export interface ThreadPoolOptions {
  readonly system: System;
  readonly log: Log;
  /** How long an idle thread stays, in ms. @default 30000 */
  readonly idleMs?: number;
}

interface Thread {
  readonly worker: Worker;
  idle: AbortController | null;
}

/** How long a thread may take to load its code, in ms. */
const START_MS = 10_000;
/** As one file has the ending of the other: sources are TypeScript, the package is not. */
const entry = new URL(import.meta.url.endsWith(".ts") ? "thread.ts" : "thread.js", import.meta.url);

/** Threads that start when they are needed and end when they are idle. */
export interface ThreadPool {
  /** A thread without work; null when none can be started. Rejects on abort. */
  take(signal: AbortSignal): Promise<Thread | null>;
  /** Runs one task; the thread is used again unless it failed or the task was aborted. */
  run(thread: Thread, message: Message, signal: AbortSignal): Promise<TaskOutcome>;
  close(): Promise<void>;
}

/** Makes a pool without threads. */
export function threadPool({ system, log, idleMs = 30_000 }: ThreadPoolOptions): ThreadPool {
  const resting = new Set<Thread>();
  const all = new Set<Thread>();
  let broken = false;
  const end = (thread: Thread): Promise<unknown> => {
    thread.idle?.abort();
    all.delete(thread);
    resting.delete(thread);
    return thread.worker.terminate();
  };
  const rest = (thread: Thread): void => {
    const idle = new AbortController();
    thread.idle = idle;
    // An idle thread keeps no process alive.
    thread.worker.unref();
    resting.add(thread);
    system.sleep(idleMs, idle.signal).then(
      // It may have been taken since its time was over.
      () => void (resting.has(thread) && end(thread)),
      () => undefined,
    );
  };
  return {
    async take(signal) {
      const [thread] = resting;
      if (thread !== undefined) {
        resting.delete(thread);
        thread.idle?.abort();
        return thread;
      }
      if (broken) return null;
      const worker = await withinMs(START_MS, signal, startWorker, system).catch(
        (error: unknown) => {
          signal.throwIfAborted();
          // Some hosts forbid threads; bundles may lack the thread's file. A machine may be too busy for a while.
          broken = !(error instanceof TransportError);
          log("warn", "Long tasks run on the event loop: no thread could be started", {
            error: String(error).slice(0, 200),
          });
          return null;
        },
      );
      if (worker === null) return null;
      const started: Thread = { worker, idle: null };
      all.add(started);
      // A thread that ends by itself is no longer there for the next task.
      worker.on("exit", () => void end(started));
      return started;
    },
    async run(thread, message, signal) {
      try {
        const outcome = await ask(thread.worker, message, signal);
        rest(thread);
        return outcome;
      } catch (error) {
        await end(thread);
        throw error;
      }
    },
    async close() {
      await Promise.all([...all].map(end));
    },
  };
}

interface Message {
  readonly name: string;
  readonly input: Plain;
}

/** A thread that has loaded its code. */
async function startWorker(signal: AbortSignal): Promise<Worker> {
  const worker = new Worker(entry);
  try {
    await answerOf(worker, signal);
    return worker;
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}

/** Hands a task to a thread that has none. */
function ask(worker: Worker, message: Message, signal: AbortSignal): Promise<TaskOutcome> {
  // It may have been aborted while a thread started.
  if (signal.aborted) return Promise.reject(signal.reason);
  worker.ref();
  worker.postMessage(message, buffersOf(message.input));
  return answerOf(worker, signal);
}

/** The next message of a thread; rejects when it fails or ends, or on abort. */
function answerOf(worker: Worker, signal: AbortSignal): Promise<TaskOutcome> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      worker.off("message", answered);
      worker.off("error", failed);
      worker.off("exit", ended);
      signal.removeEventListener("abort", aborted);
      finish();
    };
    const answered = (outcome: TaskOutcome): void => settle(() => resolve(outcome));
    const failed = (error: unknown): void => settle(() => reject(error));
    const ended = (): void => failed(new Error("The thread ended"));
    const aborted = (): void => failed(signal.reason);
    worker.on("message", answered);
    worker.on("error", failed);
    worker.on("exit", ended);
    signal.addEventListener("abort", aborted, { once: true });
  });
}
