import { BoundedMap } from "./bounded-map.ts";
import type { System } from "../ports.ts";

/** A map of recently used entries. */
export interface RecentMap<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
}

/** Makes a map of at most `size` entries, which forgets what was not set for `ms`, and what was set longest ago. */
export function recentMap<T>(
  size: number,
  ms: number,
  system: Pick<System, "monotonic">,
): RecentMap<T> {
  const entries = new BoundedMap<string, { readonly value: T; readonly until: number }>(size);
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined || entry.until > system.monotonic()) return entry?.value;
      entries.delete(key);
      return undefined;
    },
    set(key, value) {
      entries.delete(key);
      entries.set(key, { value, until: system.monotonic() + ms });
    },
  };
}
