import { ApiError } from "../../http/api-error.ts";

/** Remembers whether a browser could be started when it was last needed. */
export interface StartFailure {
  readonly watch: <T>(start: () => Promise<T>, signal?: AbortSignal) => Promise<T>;
  /** Why it could not; null where it could. */
  readonly failure: () => string | null;
}

/** Longest reason that is told. */
const REASON_LENGTH = 200;

/** Watches the starts of one browser. What a caller gave up on says nothing about it. */
export function startFailure(): StartFailure {
  let reason: string | null = null;
  return {
    async watch(start, signal) {
      try {
        const started = await start();
        reason = null;
        return started;
      } catch (error) {
        if (signal?.aborted !== true && error instanceof ApiError && error.kind === "no_browser")
          reason = error.message.split("\n", 1).join("").slice(0, REASON_LENGTH);
        throw error;
      }
    },
    failure: () => reason,
  };
}
