import type { Log, System } from "../../../core/ports.ts";
import { TransportError } from "../../../core/net/transport-error.ts";
import { withinMs } from "../../../core/time/within-ms.ts";
import type { Isolate } from "./isolate.ts";
import type { TaskMessage, TaskOutcome } from "./messages.ts";

export interface IsolatePoolOptions {
  readonly system: System;
  readonly log: Log;
  /** How long an idle isolate stays, in ms. @default 30000 */
  readonly idleMs?: number;
  /** Starts one and waits until it has loaded its code. */
  readonly start: (signal: AbortSignal) => Promise<Isolate>;
  /** The log's message when no isolate can be started. */
  readonly absent: string;
}

/** Isolates that start when they are needed and end when they are idle. */
export interface IsolatePool {
  /**
   * Runs one task in an idle isolate; null when no isolate can be started. An isolate whose task failed or was aborted is
   * ended.
   */
  run(message: TaskMessage, signal: AbortSignal): Promise<TaskOutcome | null>;
  close(): Promise<void>;
}

/** How long an isolate may take to load its code, in ms. */
const START_MS = 10_000;

/** Makes a pool without isolates. */
export function isolatePool(options: IsolatePoolOptions): IsolatePool {
  const { system, idleMs = 30_000 } = options;
  const tryToStart = starterOf(options);
  /** Those without work, and what ends the wait for their end. */
  const resting = new Map<Isolate, AbortController>();
  const all = new Set<Isolate>();

  const forget = (isolate: Isolate): void => {
    resting.get(isolate)?.abort();
    resting.delete(isolate);
    all.delete(isolate);
  };
  const end = (isolate: Isolate): Promise<void> => {
    forget(isolate);
    return isolate.end();
  };
  const rest = (isolate: Isolate): void => {
    if (!all.has(isolate)) return;
    const idle = new AbortController();
    isolate.hold(false);
    resting.set(isolate, idle);
    system.sleep(idleMs, idle.signal).then(
      // It may have been taken since its time was over.
      () => void (resting.get(isolate) === idle && end(isolate)),
      () => undefined,
    );
  };
  const startOne = async (signal: AbortSignal): Promise<Isolate | null> => {
    const isolate = await tryToStart(signal);
    if (isolate === null) return null;
    all.add(isolate);
    void isolate.ended.then(() => forget(isolate));
    return isolate;
  };
  const take = (): Isolate | undefined => {
    const [isolate] = resting.keys();
    if (isolate === undefined) return undefined;
    resting.get(isolate)?.abort();
    resting.delete(isolate);
    isolate.hold(true);
    return isolate;
  };

  return {
    async run(message, signal) {
      signal.throwIfAborted();
      const isolate = take() ?? (await startOne(signal));
      if (isolate === null) return null;
      try {
        // It may have been aborted while the isolate started.
        signal.throwIfAborted();
        const outcome = await isolate.run(message, signal);
        if (isolate.isSpent()) await end(isolate);
        else rest(isolate);
        return outcome;
      } catch (error) {
        await end(isolate);
        throw error;
      }
    },
    async close() {
      await Promise.all([...all].map(end));
    },
  };
}

/** Starts isolates; null, with a line in the log, on a failure. */
function starterOf({
  system,
  log,
  start,
  absent,
}: IsolatePoolOptions): (signal: AbortSignal) => Promise<Isolate | null> {
  let broken = false;
  return async (signal) => {
    if (broken) return null;
    try {
      return await withinMs({ ms: START_MS, signal, system }, start);
    } catch (error) {
      signal.throwIfAborted();
      // Some hosts forbid it; bundles may lack the file. A machine may be too busy for a while.
      broken = !(error instanceof TransportError);
      log("warn", absent, { error: String(error).slice(0, 200) });
      return null;
    }
  };
}
