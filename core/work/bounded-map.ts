/**
 * A map of at most `most` entries: a new key takes the place of the one that was set first. Like any map it keeps the
 * place of a key that is set again; who wants the recent ones to stay deletes a key before it is set.
 */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #most: number;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override set(key: K, value: V): this {
    if (this.size >= this.#most && !this.has(key)) dropFirst(this);
    return super.set(key, value);
  }
}

/** A set of at most `most` values: a new one takes the place of the one that was added first. */
export class BoundedSet<T> extends Set<T> {
  readonly #most: number;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override add(value: T): this {
    if (this.size >= this.#most && !this.has(value)) dropFirst(this);
    return super.add(value);
  }
}

function dropFirst<T>(entries: Map<T, unknown> | Set<T>): void {
  const first = entries.keys().next();
  if (first.done !== true) entries.delete(first.value);
}
