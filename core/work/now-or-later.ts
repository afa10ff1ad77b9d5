/** A value, or a promise of it: for functions that only sometimes have to wait. */
export type NowOrLater<T> = T | Promise<T>;

/**
 * Goes on with a value once it is there: at once where it is. This keeps a function that only sometimes waits without a
 * promise of its own; where one is async anyway, it awaits. `failed` is asked when a promise of it rejects.
 */
export function whenReady<T, R>(
  value: NowOrLater<T>,
  work: (value: T) => NowOrLater<R>,
  failed?: (error: unknown) => NowOrLater<R>,
): NowOrLater<R> {
  return value instanceof Promise ? value.then(work, failed) : work(value);
}
