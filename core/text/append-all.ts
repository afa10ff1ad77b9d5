/** Appends each item. A list of 100,000 that is spread into the arguments of `push` overflows the stack of some engines. */
export function appendAll<T>(to: T[] | undefined, items: readonly T[]): void {
  if (to !== undefined) for (const item of items) to.push(item);
}
