/** Runs pieces of work one after another. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** Calls of an actor may be interleaved; what reads a row and writes it back takes turns. */
export function turns(): Turns {
  let tail: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = tail.then(work);
    tail = result.catch(() => undefined);
    return result;
  };
}
