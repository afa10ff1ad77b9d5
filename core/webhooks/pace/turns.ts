/** Runs pieces of work one after another. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** Makes turns for work that reads a row and writes it back: the calls of an actor may be interleaved. */
export function turns(): Turns {
  let tail: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = tail.then(work);
    tail = result.catch(() => undefined);
    return result;
  };
}
