import { ApiError } from "../../http/api-error.ts";

/** Remembers whether a browser could be started when it was last needed. */
export interface StartFailure {
  readonly watch: <T>(start: () => Promise<T>, signal?: AbortSignal) => Promise<T>;
  /** The same for a part of a start, such as unpacking: that it went well says nothing about the rest. */
  readonly watchPart: <T>(part: () => Promise<T>) => Promise<T>;
  /** Why it could not; null where it could. */
  readonly failure: () => string | null;
}

/** Longest reason that is told. */
const REASON_LENGTH = 200;

/** Watches the starts of one browser. A start that a caller gave up on does not count. */
export function startFailure(): StartFailure {
  let reason: string | null = null;
  const noteFailed = (error: unknown): void => {
    if (error instanceof ApiError && error.kind === "no_browser")
      reason = error.message.split("\n", 1).join("").slice(0, REASON_LENGTH);
  };
  return {
    async watch(start, signal) {
      try {
        const started = await start();
        reason = null;
        return started;
      } catch (error) {
        if (signal?.aborted !== true) noteFailed(error);
        throw error;
      }
    },
    async watchPart(part) {
      try {
        return await part();
      } catch (error) {
        noteFailed(error);
        throw error;
      }
    },
    failure: () => reason,
  };
}
