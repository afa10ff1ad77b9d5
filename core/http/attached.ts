/** Something that is remembered beside objects of others: requests, responses and streams. */
export interface Attached<T> {
  readonly set: (object: object, value: T) => void;
  readonly get: (object: object) => T | undefined;
}

/** Makes a place for values of one kind. A property, because a `WeakMap` of all pending answers costs the collector much more. */
export function attached<T>(name: string): Attached<T> {
  const key = Symbol(`causey.${name}`);
  return {
    set(object, value) {
      Reflect.set(object, key, value);
    },
    // `as`: only `set` writes this property.
    get: (object) => Reflect.get(object, key) as T | undefined,
  };
}
