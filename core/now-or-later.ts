/** A value that is there, or a promise of it: for what only sometimes has to wait. */
export type NowOrLater<T> = T | Promise<T>;

/**
 * Goes on with a value once it is there: at once where it is. This keeps a function that only sometimes waits without a
 * promise of its own; where one is async anyway, it awaits.
 */
export function whenReady<T, R>(
  value: NowOrLater<T>,
  work: (value: T) => NowOrLater<R>,
): NowOrLater<R> {
  return value instanceof Promise ? value.then(work) : work(value);
}
