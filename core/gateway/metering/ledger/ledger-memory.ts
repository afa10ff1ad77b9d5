import type { LedgerEntry, LedgerTable, LedgerPlace, Slice, LedgerSlices } from "./budget.ts";
import type { ActorContext, Statement } from "../../../ports.ts";
import { SqlError } from "../../../sql/sql-error.ts";
import type { NowOrLater } from "../../../work/now-or-later.ts";
import {
  type HeldSlice,
  heldSlice,
  type SliceWriter,
  sliceWriter,
  withRequest,
  withWanted,
} from "./slice-writer.ts";

/** LedgerSlices that are kept in memory. */
const REMEMBERED = 100_000;
/** Milliseconds between removals of what counts no longer. */
const TIDY_AFTER = 60_000;

/** An entry that is to be reserved, and its budget's limit and use in units. */
export interface EntryDraw {
  readonly entry: LedgerEntry;
  readonly limit: number;
  readonly used: number;
}

/** The counts of an actor's ledger in memory. */
export interface LedgerMemory {
  /** Does work once the counts of all these places are there. */
  with<T>(places: readonly LedgerPlace[], work: () => NowOrLater<T>): NowOrLater<T>;
  slices(place: LedgerPlace): LedgerSlices;
  /** Whether the row of an entry counts it already: then a kill does not forget it. */
  covers(entry: LedgerEntry): boolean;
  /**
   * Writes rows that cover these, and more while many requests come; then goes on, with false when the disk is full: it takes no
   * counts, and holds up no requests. Until then no write takes back what these need.
   */
  writeAhead<T>(
    draws: readonly EntryDraw[],
    next: (isWritten: boolean) => NowOrLater<T>,
  ): Promise<T>;
  /** Enters what a request claims. */
  reserve(entry: LedgerEntry): void;
  /** Adds units; they are stored a moment later. */
  add(entry: LedgerEntry, units: number): void;
  readonly forget: (scope?: string) => Statement;
}

export function ledgerMemory(
  context: ActorContext,
  table: LedgerTable,
  now: () => number,
): LedgerMemory {
  const rows = ledgerRows(context, table);
  const counts = heldCounts();
  const tidy = tidier(counts, rows, now);
  let generation = 0;
  const load = async (place: LedgerPlace): Promise<void> => {
    const before = generation;
    const slices = await rows.read(place, now());
    // A second reader leaves the counts of the first in place: they may have changed since.
    if (before === generation && counts.find(place) === undefined) counts.hold(place, slices);
  };
  const writer = sliceWriter({
    system: context.system,
    isHeld: (one) => counts.find(one)?.get(one.slice) === one,
    async store(slices) {
      await context.sql.batch([...slices.map(rows.put), ...tidy()], { lazy: true });
    },
    onStored() {
      if (counts.size() > REMEMBERED) counts.dropPlaces((one) => !writer.isWaiting(one));
    },
  });
  const withCounts: LedgerMemory["with"] = (places, work) => {
    if (places.every((place) => counts.find(place) !== undefined)) return work();
    const missing = places.filter((place) => counts.find(place) === undefined);
    return Promise.all(missing.map(load)).then(() => withCounts(places, work));
  };
  return {
    with: withCounts,
    slices: (place) => counts.find(place) ?? new Map<number, Slice>(),
    covers(entry) {
      const one = counts.find(entry)?.get(entry.slice);
      return entry.reserved <= (one === undefined ? 0 : one.stored - one.amount);
    },
    writeAhead(draws, next) {
      const waiting = draws.map(({ entry, limit, used }) => ({
        one: withWanted(counts.at(entry), entry.reserved, limit - used),
        units: entry.reserved,
      }));
      return writeFor(waiting, writer, next);
    },
    reserve(entry) {
      if (entry.reserved > 0) writer.note(withRequest(counts.at(entry), entry.reserved));
    },
    add(entry, units) {
      // An entry that was deleted meanwhile leaves no credit to the next scope of its name.
      if (units === 0 || (units < 0 && counts.find(entry)?.has(entry.slice) !== true)) return;
      const one = counts.at(entry);
      one.amount += units;
      writer.note(one);
    },
    forget(scope) {
      generation++;
      counts.clear(scope);
      writer.forget((one) => scope === undefined || one.scope === scope);
      return rows.forget(scope);
    },
  };
}

/** Makes the statements, once in a while, that remove what counts no longer. */
function tidier(counts: HeldCounts, rows: LedgerRows, now: () => number): () => Statement[] {
  let tidiedAt = 0;
  return () => {
    const at = now();
    if (at - tidiedAt < TIDY_AFTER) return [];
    tidiedAt = at;
    counts.drop(at);
    return [rows.tidy(at)];
  };
}

/** Writes slices for a request that waits for units of them, then goes on at once. */
async function writeFor<T>(
  waiting: readonly { readonly one: HeldSlice; readonly units: number }[],
  writer: SliceWriter,
  next: (isWritten: boolean) => NowOrLater<T>,
): Promise<T> {
  let isWritten = true;
  try {
    await writer.write(waiting.map(({ one }) => one));
  } catch (error) {
    isWritten = isNotFull(error);
  } finally {
    for (const { one, units } of waiting) one.wanted -= units;
  }
  return next(isWritten);
}

function isNotFull(error: unknown): false {
  if (error instanceof SqlError && error.reason === "full") return false;
  throw error;
}

/** Counts in memory, by scope and rule. */
interface HeldCounts {
  find(place: LedgerPlace): Map<number, HeldSlice> | undefined;
  hold(place: LedgerPlace, slices: readonly Slice[]): void;
  /** Returns the slice of an entry; makes it where there is none. */
  at(entry: LedgerEntry): HeldSlice;
  /** Drops slices that count no longer at `now`. */
  drop(now: number): void;
  /** Drops the places of which each slice may go: their rows are read again. */
  dropPlaces(mayGo: (one: HeldSlice) => boolean): void;
  clear(scope?: string): void;
  /** How many slices there may be. */
  size(): number;
}

function heldCounts(): HeldCounts {
  const scopes = new Map<string, Map<string, Map<number, HeldSlice>>>();
  let held = 0;
  const find: HeldCounts["find"] = ({ scope, rule }) => scopes.get(scope)?.get(rule);
  return {
    find,
    hold({ scope, rule }, slices) {
      const rules = scopes.get(scope) ?? new Map<string, Map<number, HeldSlice>>();
      const kept = slices.map((one) => [one.slice, heldSlice(one)] as const);
      scopes.set(scope, rules.set(rule, new Map(kept)));
      held += slices.length + 1;
    },
    at({ scope, rule, slice, ends }) {
      const slices = find({ scope, rule });
      const one = slices?.get(slice) ?? heldSlice({ scope, rule, slice, ends, amount: 0 });
      if (slices?.has(slice) === false) held++;
      slices?.set(slice, one);
      return one;
    },
    drop(now) {
      for (const slices of [...scopes.values()].flatMap((rules) => [...rules.values()]))
        for (const { ends, slice } of slices.values())
          if (ends <= now && slices.delete(slice)) held--;
    },
    dropPlaces(mayGo) {
      for (const rules of scopes.values())
        for (const [rule, slices] of rules)
          if ([...slices.values()].every(mayGo) && rules.delete(rule)) held -= slices.size + 1;
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
