import type { LedgerEntry, LedgerTable, LedgerPlace, Slice, LedgerSlices } from "./budget.ts";
import type { ActorContext, Statement } from "../../../ports.ts";
import type { NowOrLater } from "../../../work/now-or-later.ts";

/** Milliseconds after which a change is stored: what a killed process may forget. */
const STORE_AFTER = 200;
/** LedgerSlices that are kept in memory. */
const REMEMBERED = 100_000;
/** Milliseconds between removals of what counts no longer. */
const TIDY_AFTER = 60_000;

/** The counts of an actor's ledger in memory; a change is stored a moment later. */
export interface LedgerMemory {
  /** Does work once the counts of all these places are there. */
  with<T>(places: readonly LedgerPlace[], work: () => NowOrLater<T>): NowOrLater<T>;
  slices(place: LedgerPlace): LedgerSlices;
  add(entry: LedgerEntry, units: number): void;
  readonly forget: (scope?: string) => Statement;
}

export function ledgerMemory(
  context: ActorContext,
  table: LedgerTable,
  now: () => number,
): LedgerMemory {
  const { sql, system } = context;
  const rows = ledgerRows(context, table);
  const counts = heldCounts();
  const changed = new Set<Slice>();
  let [generation, tidiedAt, isPlanned] = [0, 0, false];
  const load = async (place: LedgerPlace): Promise<void> => {
    const before = generation;
    const slices = await rows.read(place, now());
    // A second reader leaves the counts of the first in place: they may have changed since.
    if (before === generation && counts.find(place) === undefined) counts.hold(place, slices);
  };
  const tidy = (): Statement[] => {
    const at = now();
    if (at - tidiedAt < TIDY_AFTER) return [];
    tidiedAt = at;
    counts.drop(at);
    return [rows.tidy(at)];
  };
  const store = async (): Promise<void> => {
    isPlanned = false;
    const slices = [...changed];
    changed.clear();
    if (slices.length === 0) return;
    try {
      await sql.batch([...slices.map(rows.put), ...tidy()], { lazy: true });
    } catch (error) {
      // Stored with the next change.
      for (const one of slices) if (counts.find(one)?.get(one.slice) === one) changed.add(one);
      throw error;
    }
    if (counts.size() > REMEMBERED && changed.size === 0) counts.clear();
  };
  const withCounts: LedgerMemory["with"] = (places, work) => {
    if (places.every((place) => counts.find(place) !== undefined)) return work();
    const missing = places.filter((place) => counts.find(place) === undefined);
    return Promise.all(missing.map(load)).then(() => withCounts(places, work));
  };
  return {
    with: withCounts,
    slices: (place) => counts.find(place) ?? new Map<number, Slice>(),
    add(entry, units) {
      // An entry that was deleted meanwhile leaves no credit to the next scope of its name.
      if (units === 0 || (units < 0 && counts.find(entry)?.has(entry.slice) !== true)) return;
      changed.add(counts.add(entry, units));
      if (isPlanned) return;
      isPlanned = true;
      system.waitUntil(system.sleep(STORE_AFTER).then(store));
    },
    forget(scope) {
      generation++;
      counts.clear(scope);
      for (const one of changed)
        if (scope === undefined || one.scope === scope) changed.delete(one);
      return rows.forget(scope);
    },
  };
}

/** Counts in memory, by scope and rule. */
interface HeldCounts {
  find(place: LedgerPlace): LedgerSlices | undefined;
  hold(place: LedgerPlace, slices: readonly Slice[]): void;
  add(entry: LedgerEntry, units: number): Slice;
  /** Drops slices that count no longer at `now`. */
  drop(now: number): void;
  clear(scope?: string): void;
  /** How many slices there may be. */
  size(): number;
}

function heldCounts(): HeldCounts {
  const scopes = new Map<string, Map<string, LedgerSlices>>();
  let held = 0;
  const find = ({ scope, rule }: LedgerPlace): LedgerSlices | undefined =>
    scopes.get(scope)?.get(rule);
  return {
    find,
    hold({ scope, rule }, slices) {
      const rules = scopes.get(scope) ?? new Map<string, LedgerSlices>();
      scopes.set(scope, rules.set(rule, new Map(slices.map((one) => [one.slice, one]))));
      held += slices.length + 1;
    },
    add({ scope, rule, slice, ends }, units) {
      const slices = find({ scope, rule });
      const one = slices?.get(slice) ?? { scope, rule, slice, ends, amount: 0 };
      if (slices?.has(slice) === false) held++;
      slices?.set(slice, one);
      one.amount += units;
      return one;
    },
    drop(now) {
      for (const slices of [...scopes.values()].flatMap((rules) => [...rules.values()]))
        for (const { ends, slice } of slices.values())
          if (ends <= now && slices.delete(slice)) held--;
    },
    clear(scope) {
      const rules = scope === undefined ? [...scopes.values()] : [scopes.get(scope) ?? new Map()];
      for (const slices of rules.flatMap((one) => [...one.values()])) held -= slices.size + 1;
      if (scope === undefined) scopes.clear();
      else scopes.delete(scope);
    },
    size: () => held,
  };
}

/** The rows of a ledger: reads them, and makes the statements that change them. */
interface LedgerRows {
  read(place: LedgerPlace, now: number): Promise<Slice[]>;
  /** The whole amount, because its actor alone counts: a write that failed can be repeated. */
  readonly put: (slice: Slice) => Statement;
  /** Removes what counts no longer at `now`. */
  tidy(now: number): Statement;
  forget(scope: string | undefined): Statement;
}

function ledgerRows(
  { name: actor, sql }: ActorContext,
  { table, scope: column }: LedgerTable,
): LedgerRows {
  return {
    async read({ scope, rule }, now) {
      const rows = await sql.all(
        `SELECT slice, ends, amount FROM ${table}
          WHERE actor = ? AND ${column} = ? AND rule = ? AND ends > ?`,
        [actor, scope, rule, now],
      );
      return rows.map(({ slice, ends, amount }) => ({
        scope,
        rule,
        slice: Number(slice),
        ends: Number(ends),
        amount: Number(amount),
      }));
    },
    put: ({ scope, rule, slice, ends, amount }) => ({
      sql: `INSERT INTO ${table} (actor, ${column}, rule, slice, ends, amount) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (actor, ${column}, rule, slice) DO UPDATE SET amount = excluded.amount`,
      params: [actor, scope, rule, slice, ends, amount],
    }),
    tidy: (now) => ({
      sql: `DELETE FROM ${table} WHERE actor = ? AND ends <= ?`,
      params: [actor, now],
    }),
    forget: (scope) =>
      scope === undefined
        ? { sql: `DELETE FROM ${table} WHERE actor = ?`, params: [actor] }
        : { sql: `DELETE FROM ${table} WHERE actor = ? AND ${column} = ?`, params: [actor, scope] },
  };
}
