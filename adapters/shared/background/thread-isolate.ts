import { URL } from "node:url";
import { startWorker } from "../work/start-worker.ts";
import type { Worker } from "node:worker_threads";
import type { Isolate } from "./isolate.ts";
import { buffersOf, type TaskOutcome } from "./messages.ts";

/** As one file has the ending of the other: sources are TypeScript, the package is not. */
const entry = new URL(import.meta.url.endsWith(".ts") ? "thread.ts" : "thread.js", import.meta.url);

export async function startThread(signal: AbortSignal): Promise<Isolate> {
  const worker = startWorker(entry);
  const ended = new Promise<void>((resolve) => {
    worker.once("exit", () => resolve());
  });
  try {
    await answerOf(worker, signal);
  } catch (error) {
    await worker.terminate();
    throw error;
  }
  return {
    run(message, inner) {
      worker.postMessage(message, buffersOf(message.input));
      return answerOf(worker, inner);
    },
    async end() {
      // A program may have nothing left to do but to wait for this.
      worker.ref();
      await worker.terminate();
    },
    isSpent: () => false,
    hold(isHeld) {
      if (isHeld) worker.ref();
      else worker.unref();
    },
    ended,
  };
}

/** Returns the next message of a thread; rejects when it fails or ends, or on abort. */
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
    if (signal.aborted) aborted();
  });
}
