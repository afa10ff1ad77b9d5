import process from "node:process";
import type { URL } from "node:url";
import { Worker } from "node:worker_threads";

/** Set by `node --watch`: a thread that inherits it reports its modules among its own messages. */
const REPORTS = "WATCH_REPORT_DEPENDENCIES";

/** Starts a thread whose messages are those of its file alone. */
export function startWorker(entry: URL, workerData?: unknown): Worker {
  const { [REPORTS]: reports, ...env } = process.env;
  return new Worker(entry, { workerData, ...(reports === undefined ? {} : { env }) });
}
