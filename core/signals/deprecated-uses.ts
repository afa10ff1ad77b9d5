import type { RequestRow } from "./request-row.ts";

/** How often a caller has used an entry of the table of deprecations. Plain, because it crosses to an actor. */
export type DeprecatedUse = {
  /** The entry's id. */
  readonly id: string;
  /** As the access log names callers; "" = nobody known. */
  readonly caller: string;
  readonly method: string;
  count: number;
  /** How many of them were refused. */
  refused: number;
  /** Unix ms of the last. */
  last: number;
};

/** Uses by entry, caller and method. */
export type DeprecatedUses = Map<string, DeprecatedUse>;

/** Callers and entries that are told apart: callers choose their credentials. */
const USES = 1000;

/** One request. */
export function useOf(
  { method, status, time, caller = "" }: RequestRow,
  id: string,
): DeprecatedUse {
  return { id, caller, method, count: 1, refused: status >= 400 ? 1 : 0, last: time };
}

/** Adds uses to those there are; returns under which name, null when there are too many. */
export function addUse(uses: DeprecatedUses, use: DeprecatedUse): string | null {
  const name = `${use.id} ${use.method} ${use.caller}`;
  const found = uses.get(name);
  if (found === undefined) {
    if (uses.size >= USES) return null;
    uses.set(name, { ...use });
    return name;
  }
  found.count += use.count;
  found.refused += use.refused;
  found.last = Math.max(found.last, use.last);
  return name;
}
