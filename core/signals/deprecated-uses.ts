import type { Statement } from "../ports.ts";
import { type RequestRow, verbOf } from "./requests/request-row.ts";

/** Count of a caller's uses of one entry of the table of deprecations. Plain, because it crosses to an actor. */
export type DeprecatedUse = {
  /** The entry's id. */
  readonly id: string;
  /** The id of the caller's token. */
  readonly token: string;
  readonly method: string;
  /** The account that the path named, if it was another than the installation's. */
  readonly account?: string;
  /** The caller as the access log names it; the name changes when the token is rolled. */
  caller: string;
  count: number;
  /** Number of uses that were refused. */
  refused: number;
  /** Unix ms of the last. */
  last: number;
};

/** Uses by entry, method, token and account. */
export type DeprecatedUses = Map<string, DeprecatedUse>;

/** Limit of entries and callers that are counted apart. */
const USES = 1000;

/** One request; null for a stranger's, because strangers choose their credentials. */
export function useOf(row: RequestRow): DeprecatedUse | null {
  const { method, status, time, caller = "", token, account, deprecation: id } = row;
  if (id === undefined || token === undefined) return null;
  return {
    id,
    token,
    method: verbOf(method),
    ...(account === undefined ? {} : { account }),
    caller,
    count: 1,
    refused: status >= 400 ? 1 : 0,
    last: time,
  };
}

/** The names of a use that was added, and of the one that made room for it. */
export interface AddedUse {
  readonly name: string;
  readonly dropped: string | null;
}

/**
 * Adds uses to those there are. When there are too many, the caller with the most of them gives up its oldest, so
 * that a token can neither keep others out nor push them out, and those of deleted tokens make room in the end.
 */
export function addUse(uses: DeprecatedUses, use: DeprecatedUse): AddedUse {
  const name = `${use.id} ${use.method} ${use.token} ${use.account ?? ""}`;
  const found = uses.get(name);
  if (found === undefined) {
    const dropped = uses.size >= USES ? leastNeeded(uses) : null;
    if (dropped !== null) uses.delete(dropped);
    uses.set(name, { ...use });
    return { name, dropped };
  }
  found.count += use.count;
  found.refused += use.refused;
  found.last = Math.max(found.last, use.last);
  found.caller = use.caller;
  return { name, dropped: null };
}

/** The oldest use of the token with the most uses; among several such tokens the oldest of all. */
function leastNeeded(uses: DeprecatedUses): string | null {
  const counts = new Map<string, number>();
  for (const { token } of uses.values()) counts.set(token, (counts.get(token) ?? 0) + 1);
  const most = Math.max(...counts.values());
  let oldest: string | null = null;
  let since = Number.POSITIVE_INFINITY;
  for (const [name, { token, last }] of uses) {
    if (counts.get(token) !== most || last >= since) continue;
    oldest = name;
    since = last;
  }
  return oldest;
}

/** Writes the uses that were added, and removes those that made room. */
export function storedUses(
  added: readonly AddedUse[],
  uses: DeprecatedUses,
  actor: string,
): Statement[] {
  const gone = added.flatMap(({ dropped }) =>
    dropped === null || uses.has(dropped) ? [] : [dropped],
  );
  const statements = gone.map((name) => ({
    sql: "DELETE FROM signals_deprecated WHERE actor = ? AND name = ?",
    params: [actor, name],
  }));
  for (const { name } of added) {
    const use = uses.get(name);
    // A later one of the same batch took its place.
    if (use === undefined) continue;
    statements.push({
      sql: `INSERT INTO signals_deprecated (actor, name, uses) VALUES (?, ?, ?)
        ON CONFLICT (actor, name) DO UPDATE SET uses = excluded.uses`,
      params: [actor, name, JSON.stringify(use)],
    });
  }
  return statements;
}
