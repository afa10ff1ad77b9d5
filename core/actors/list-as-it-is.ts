/** A thing that one actor keeps, and its entry in a list that another actor keeps. */
export interface ListedThing<T> {
  /** Reads the thing; null when it does not exist. */
  readonly read: () => Promise<T | null>;
  /** Writes it into the list. */
  readonly put: (thing: T) => Promise<void>;
  /** Takes it out of the list; `last` is what was listed before, if that is known. */
  readonly remove: (last: T | null) => Promise<void>;
}

/** Rounds of {@link listAsItIs}: each is another change that came between. */
const ROUNDS = 10;

/**
 * Lists a thing as its own actor has it, or takes it out of the list. Changes may reach the list in another order than the
 * thing, so it is read again after each entry, until both say the same. `first` is entered without reading.
 */
export async function listAsItIs<T>(
  { read, put, remove }: ListedThing<T>,
  first: T | null = null,
): Promise<void> {
  let last: T | null = null;
  let listed = first ?? (await read());
  for (let round = 0; round < ROUNDS; round++) {
    await (listed === null ? remove(last) : put(listed));
    const there = await read();
    if (JSON.stringify(there) === JSON.stringify(listed)) return;
    last = listed;
    listed = there;
  }
}
