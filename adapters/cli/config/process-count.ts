import { availableParallelism } from "node:os";
import process from "node:process";
import type { Config } from "../../../core/config/config.ts";
import { type ApiError, invalidRequest } from "../../../core/http/api-error.ts";
import { checkReusePort } from "../../shared/http/drain.ts";

/** As many as the configuration may ask for. */
const MOST = 64;

/**
 * Returns how many processes are to listen; `"auto"` is one per core, and one where processes cannot share a port. Throws
 * one line when the configuration has what several processes cannot do together.
 */
export function processCount(config: Config, system: string = process.platform): number {
  const { database, dataDir, gateway, processes = 1 } = config;
  const auto = system === "linux" ? Math.min(availableParallelism(), MOST) : 1;
  const count = processes === "auto" ? auto : processes;
  checkReusePort({ reusePort: count > 1 }, system);
  if (count > 1 && dataDir === ":memory:") {
    throw refusal(
      'processes share their state in a data directory, which ":memory:" is not: choose one with --data-dir',
    );
  }
  if (count > 1 && database !== undefined)
    throw refusal("one process at a time uses a PostgreSQL database: leave out one of the two");
  if (count > 1 && gateway?.resume !== undefined) {
    throw refusal(
      "streams are resumed (gateway.resume) at the process that began them, and a port that processes share does not lead there: leave out one of the two",
    );
  }
  return count;
}

/** Returns how many pages each of `count` processes renders at once, of those of the configuration. */
export function pagesOfEach({ rendering = {} }: Config, count: number): number {
  const { maxConcurrency = availableParallelism() } = rendering;
  return Math.max(1, Math.floor(maxConcurrency / count));
}

function refusal(message: string): ApiError {
  return invalidRequest(`--processes: ${message}`);
}
