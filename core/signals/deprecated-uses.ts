import { BoundedSet } from "../work/bounded-map.ts";
import type { Log, Statement } from "../ports.ts";
import type { RequestRow } from "./requests/request-row.ts";

/** Count of a caller's uses of one entry of the table of deprecations. Plain, because it crosses to an actor. */
export type DeprecatedUse = {
  /** The entry's id. */
  readonly id: string;
  /** The id of the caller's token. */
  readonly token: string;
  /** The program, as it names itself: `Cloudflare/JS`; empty if it does not. */
  readonly client: string;
  readonly version: string;
  /** The account that the path named, if it was another than the installation's. */
  readonly account?: string;
  /** The token's name, which its owner may change. */
  name: string;
  count: number;
  /** Number of uses that were refused. */
  refused: number;
  /** Unix ms of the first and the last. */
  first: number;
  last: number;
  /** Uses by UTC day (`YYYY-MM-DD`), of the last {@link DAYS} with any. */
  days: Readonly<Record<string, number>>;
};

/** Uses by entry, token, client and account. */
export type DeprecatedUses = Map<string, DeprecatedUse>;

/** Limit of entries, callers and clients that are counted apart. */
const USES = 1000;
/** Days of a use that are counted apart. */
const DAYS = 31;

/** The uses of one request, which may use several entries; none for a stranger's, because strangers choose their credentials. */
export function usesOf(row: RequestRow): DeprecatedUse[] {
  const { status, time, tokenName: name = "", token, account, deprecation } = row;
  if (deprecation === undefined || token === undefined) return [];
  const days = { [dayOf(time)]: 1 };
  const refused = status >= 400 ? 1 : 0;
  const { name: client, version } = row.client ?? { name: "", version: "" };
  const caller = { token, name, client, version, ...(account === undefined ? {} : { account }) };
  return deprecation
    .split(" ")
    .map((id) => ({ id, ...caller, count: 1, refused, first: time, last: time, days }));
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** A program that sends requests. */
export interface ClientProgram {
  readonly name: string;
  readonly version: string;
}

/**
 * The program of a request: the first product of its `User-Agent` (RFC 9110 section 10.1.5), and the version that the
 * official SDKs also send in a header of their own.
 */
export function clientOf({ headers }: Request): ClientProgram {
  const agent = /^([\w.+-]{1,40}(?:\/[A-Za-z]{1,20}(?= ))?)(?:[/ ]v?(\d[\w.+-]{0,39}))?/.exec(
    headers.get("user-agent") ?? "",
  );
  const sent = headers.get("x-stainless-package-version") ?? "";
  const version = /^\d[\w.+-]{0,39}$/.test(sent) ? sent : (agent?.[2] ?? "");
  return { name: agent?.[1] ?? "", version };
}

/** Writes a line of the log at the first deprecated use of each token and day. */
export function deprecatedUseLog(log: Log): (row: RequestRow) => void {
  let today = "";
  const seen = new BoundedSet<string>(USES);
  return ({ time, deprecation, token, tokenName, client }) => {
    if (deprecation === undefined || token === undefined) return;
    const day = dayOf(time);
    if (day !== today) seen.clear();
    today = day;
    if (seen.has(token)) return;
    seen.add(token);
    log("info", "A token uses what is deprecated; GET …/deprecations/uses has all uses", {
      deprecation,
      token,
      token_name: tokenName,
      client: client?.name,
      client_version: client?.version,
    });
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
  const { client, version, account = "" } = use;
  const name = `${use.id} ${use.token} ${client}/${version} ${account}`;
  const found = uses.get(name);
  if (found === undefined) {
    const dropped = uses.size >= USES ? leastNeeded(uses) : null;
    if (dropped !== null) uses.delete(dropped);
    uses.set(name, { ...use });
    return { name, dropped };
  }
  found.count += use.count;
  found.refused += use.refused;
  found.first = Math.min(found.first, use.first);
  found.last = Math.max(found.last, use.last);
  found.name = use.name;
  found.days = addedDays(found.days, use.days);
  return { name, dropped: null };
}

function addedDays(old: DeprecatedUse["days"], more: DeprecatedUse["days"]): DeprecatedUse["days"] {
  const sums = { ...old };
  for (const [day, count] of Object.entries(more)) sums[day] = (sums[day] ?? 0) + count;
  const kept = Object.entries(sums).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(kept.slice(-DAYS));
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

/** Uses by entry, which never go down. */
export type UseTotals = Map<string, number>;

/** Adds uses to the totals, and returns the statements that store them. */
export function addTotalUses(
  totals: UseTotals,
  uses: readonly DeprecatedUse[],
  actor: string,
): Statement[] {
  const changed = new Set<string>();
  for (const { id, count } of uses) {
    if (!totals.has(id) && totals.size >= USES) continue;
    totals.set(id, (totals.get(id) ?? 0) + count);
    changed.add(id);
  }
  return [...changed].map((id) => ({
    sql: `INSERT INTO signals_deprecated_totals (actor, entry, uses) VALUES (?, ?, ?)
      ON CONFLICT (actor, entry) DO UPDATE SET uses = excluded.uses`,
    params: [actor, id, totals.get(id) ?? 0],
  }));
}

/** A stored use; those of earlier versions name no client, day or token. */
export function storedUse(text: string): DeprecatedUse {
  // `as`: rows of our own, of this version or an earlier one.
  const use = JSON.parse(text) as Partial<DeprecatedUse> & Pick<DeprecatedUse, "id" | "last">;
  const earlier = { token: "", client: "", version: "", name: "", count: 0, refused: 0, days: {} };
  const {
    method: _method,
    caller: _caller,
    ...known
  } = use as typeof use & {
    readonly method?: string;
    readonly caller?: string;
  };
  return { ...earlier, first: use.last, ...known };
}
