import { ApiError } from "../../../core/http/api-error.ts";

/** Runs tasks one at a time, in the order in which they came. */
export interface Mailbox {
  /** Tasks that wait or run. */
  readonly size: number;
  /** Rejects with `ApiError` 503 when too many wait already. */
  run<T>(task: () => T | Promise<T>): Promise<T>;
}

/** Makes a mailbox that holds at most `limit` tasks. */
export function mailbox(limit: number): Mailbox {
  let tail: Promise<unknown> = Promise.resolve();
  let size = 0;
  return {
    get size() {
      return size;
    },
    run(task) {
      if (size >= limit) {
        const message = `${limit} calls wait for this object already: try again later`;
        return Promise.reject(
          new ApiError("unavailable", { message, headers: { "retry-after": "1" } }),
        );
      }
      size += 1;
      const result = tail.then(task).finally(() => {
        size -= 1;
      });
      // The next task runs whatever became of this one.
      tail = result.catch(() => undefined);
      return result;
    },
  };
}
