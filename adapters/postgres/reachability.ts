import { clearTimeout, setTimeout } from "node:timers";
import type { Log } from "../../core/ports.ts";
import { isUnreachable, publicReason, sqlErrorOf } from "./postgres-error.ts";

/** Whether the database answers and takes writes. */
export interface Reachability {
  /** Notes how an attempt went: an error, or null for an answer. */
  readonly note: (error: unknown) => void;
  /** Whether work may wait for the database: not when it has been away for a while already. */
  mayWait(): boolean;
  /** Why the database cannot be used at present; null while it can. Names neither addresses nor logins. */
  failure(): string | null;
  stop(): void;
}

export interface ReachabilityOptions {
  readonly log: Log;
  /** How long work waits for a database that went away, in ms. */
  readonly waitMs: number;
  /** Tries a write while the database fails. */
  readonly probe: () => Promise<unknown>;
}

/** The pause between two probes, in ms. */
const PROBE_MS = 1000;

/** Logs one line when the database goes away and one when it is back; meanwhile it probes each second. */
export function reachability({ log, waitMs, probe }: ReachabilityOptions): Reachability {
  let reason: string | null = null;
  let since = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;

  function away(error: unknown, words: string): void {
    if (reason !== null || isStopped) return;
    reason = words;
    since = performance.now();
    log("error", "The database cannot be used: what needs it is answered 503", {
      reason: sqlErrorOf(error, "probe").message,
    });
    schedule();
  }
  function schedule(): void {
    timer = setTimeout(() => {
      // Its outcome is noted like that of any other write.
      void probe()
        .catch(() => undefined)
        .then(() => {
          if (reason !== null && !isStopped) schedule();
        });
    }, PROBE_MS);
    timer.unref();
  }
  function back(): void {
    clearTimeout(timer);
    reason = null;
    const seconds = Math.round((performance.now() - since) / 1000);
    log("info", "The database can be used again", { after_seconds: seconds });
  }

  return {
    note(error) {
      if (error === null) {
        if (reason !== null) back();
      } else if (isUnreachable(error)) {
        away(error, publicReason(error));
      } else if (sqlErrorOf(error, "probe").reason === "full") {
        away(error, "it takes no writes");
      }
    },
    mayWait: () => reason === null || performance.now() - since < waitMs,
    failure: () => reason,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
