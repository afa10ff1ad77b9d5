import { waitUntil } from "cloudflare:workers";
import type { Log, System } from "../../core/ports.ts";
import { localSystem } from "../shared/system.ts";

/** Structured lines on the console, where `wrangler tail` and the log pipeline pick them up. */
export const consoleLog: Log = (level, message, fields) => {
  console[level](JSON.stringify({ level, message, ...fields }));
};

/**
 * `System` of an isolate. The clock stands still while code runs without awaiting I/O: workerd's defence
 * against timing attacks.
 */
export function workerSystem(log: Log): System {
  return {
    ...localSystem(log),
    waitUntil(work) {
      // The module's function belongs to whatever request or object event is running.
      waitUntil(
        work.catch((error: unknown) => {
          log("error", "Background work failed", { error: String(error) });
        }),
      );
    },
  };
}
