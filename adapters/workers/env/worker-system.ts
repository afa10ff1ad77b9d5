import { waitUntil } from "cloudflare:workers";
import type { Log, System } from "../../../core/ports.ts";
import { localSystem } from "../../shared/system.ts";
import { piecewiseDecoder } from "./piecewise-decoder.ts";

/** Structured lines on the console, where `wrangler tail` and the log pipeline pick them up. */
export const consoleLog: Log = (level, message, fields) => {
  console[level](JSON.stringify({ level, message, ...fields }));
};

/** Unfinished requests and background work of this isolate. Work that the runtime cut short stays in it. */
let unfinished = 0;

/** Makes {@link whenIdle} wait until the returned function is called. */
function begin(): () => void {
  unfinished += 1;
  return () => {
    unfinished -= 1;
  };
}

/** Makes {@link whenIdle} wait for some work. */
export function underWay(work: Promise<unknown>): void {
  const end = begin();
  work.then(end, end);
}

/** How often {@link whenIdle} looks, and how many times in a row it must find nothing, in ms. */
const LOOK_MS = 20;
const LOOKS = 3;

/**
 * Resolves when nothing is under way in this isolate, or after `withinMs`. It looks now and then: promises of other
 * requests are not to be awaited.
 */
export async function whenIdle(system: System, withinMs: number): Promise<void> {
  // More than once: what has ended may have left work behind that begins a moment later.
  for (let looks = 0, waited = 0; looks < LOOKS && waited < withinMs; waited += LOOK_MS) {
    await system.sleep(LOOK_MS);
    looks = unfinished === 0 ? looks + 1 : 0;
  }
}

/**
 * `System` of an isolate. The clock stands still while code runs without awaiting I/O: workerd's defence
 * against timing attacks.
 */
export function workerSystem(log: Log): System {
  return {
    ...localSystem(log),
    begin,
    decoder: piecewiseDecoder,
    waitUntil(work) {
      const settled = work.catch((error: unknown) => {
        log("error", "Background work failed", { error: String(error) });
      });
      underWay(settled);
      // The module's function belongs to whatever request or object event is running.
      waitUntil(settled);
    },
  };
}
