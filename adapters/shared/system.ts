import type { Log, System } from "../../core/ports.ts";
import { inFlight } from "./http/in-flight.ts";

/** `System` of a process, with the work that a shutdown has to wait for. */
export interface LocalSystem extends System {
  /** Resolves when everything given to `waitUntil` has settled, or after that many ms. */
  settled(withinMs: number): Promise<void>;
  /** Aborts {@link System.closing}. */
  end(): void;
}

/** Returns the clock, ids and randomness of this process or isolate: web standards only, as Workers uses it too. */
export function localSystem(log: Log): LocalSystem {
  const background = inFlight<Promise<unknown>>();
  const closing = new AbortController();
  return {
    closing: closing.signal,
    end: () => {
      closing.abort();
    },
    now: () => Date.now(),
    monotonic: () => performance.now(),
    id: () => crypto.randomUUID(),
    random: randomBytes,
    sleep,
    waitUntil(work) {
      const settled = work.catch((error: unknown) => {
        log("error", "Background work failed", { error: String(error) });
      });
      void settled.then(background.add(settled));
    },
    async settled(withinMs) {
      const over = new AbortController();
      const late = sleep(withinMs, over.signal).then(
        () => true,
        () => true,
      );
      const round = async (): Promise<boolean> => Promise.all(background).then(() => false);
      // Work may add work.
      while (background.size > 0) if (await Promise.race([round(), late])) break;
      over.abort();
    },
  };
}

/** `getRandomValues` refuses more than 65,536 bytes at once (W3C Web Cryptography, section 10.1.1). */
function randomBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536)
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes;
}

/** A longer delay overflows the runtimes' 32-bit timers and would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  let left = ms;
  while (left > LONGEST_TIMER_MS) {
    await sleepOnce(LONGEST_TIMER_MS, signal);
    left -= LONGEST_TIMER_MS;
  }
  await sleepOnce(left, signal);
}

function sleepOnce(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
