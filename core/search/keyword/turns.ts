import { ApiError } from "../../http/api-error.ts";

/** Runs pieces of work one after another. Rejects with 503 when too many wait. */
export type InTurn = <T>(work: () => T | Promise<T>) => Promise<T>;

/** Pieces of work that wait for one instance. */
const MOST = 10_000;

/** Makes a line in which work waits for its turn. */
export function createTurns(): InTurn {
  let tail: Promise<unknown> = Promise.resolve();
  let size = 0;
  return (work) => {
    if (size >= MOST) {
      const message = `${MOST} changes wait for this instance already: try again later`;
      return Promise.reject(
        new ApiError("unavailable", { message, headers: { "retry-after": "1" } }),
      );
    }
    size += 1;
    const result = tail.then(work).finally(() => {
      size -= 1;
    });
    tail = result.catch(() => undefined);
    return result;
  };
}
