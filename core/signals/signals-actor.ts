import { newsOrTime } from "../time/news-or-time.ts";
import {
  type BatchSources,
  storedSeries,
  storedSources,
  storeSeries,
} from "../metrics/stored-series.ts";
import type { ActorContext, ActorKind, Statement } from "../ports.ts";
import {
  addTotalUses,
  addUse,
  type DeprecatedUse,
  type DeprecatedUses,
  storedUse,
  storedUses,
  type UseTotals,
} from "./deprecated-uses.ts";
import type { RequestBatch } from "./request-counting.ts";
import type { RequestRow } from "./requests/request-row.ts";
import {
  addTotals,
  labelsOf,
  noRequests,
  type RequestTotals,
  splitAccount,
} from "./requests/request-totals.ts";

/** Milliseconds of a slot of the history, and how long the history is kept. */
const SLOT_MS = 60_000;
const HISTORY_MS = 24 * 3_600_000;
const TABLES = { series: "signals_series", sources: "signals_sources" } as const;
/** Series of one platform: as many as routes, methods and statuses can be, and some. */
const SERIES = 2000;
/** Minutes of parts and accounts; those above are the installation's. */
const SLOTS = 20_000;
/** Requests that are listed one by one, and batches of them that outlive the instance. */
const RECENT = 500;
const BATCHES = 10;
/** Clients that wait for news at the same time. */
const FOLLOWERS = 100;

/** A minute of one part of an account. */
export type Slot = {
  /** Unix ms. */
  readonly at: number;
  readonly part: string;
  /** @default the installation's */
  readonly account?: string;
  /** Answers with a status from 500 on. */
  failed: number;
  /** Answers with a status from 400 to 499. */
  refused: number;
  readonly totals: RequestTotals;
};

/** Requests after a position, and the position after them. */
export type RecentPage = { readonly rows: readonly RequestRow[]; readonly position: number };

interface State {
  readonly context: ActorContext;
  readonly series: Map<string, RequestTotals>;
  readonly slots: Map<string, Slot>;
  readonly sources: BatchSources;
  readonly deprecated: DeprecatedUses;
  readonly useTotals: UseTotals;
  recent: RequestRow[];
  /** The number of requests so far. */
  position: number;
  readonly waiters: Set<() => void>;
}

export interface SignalsMethods {
  /** Adds a batch, once, however often it comes. */
  add(batch: RequestBatch): Promise<void>;
  totals(): readonly (readonly [string, RequestTotals])[];
  history(since: number): readonly Slot[];
  /** The last use first. */
  deprecated(): readonly DeprecatedUse[];
  /** All uses by entry. */
  useTotals(): readonly (readonly [entry: string, uses: number])[];
  follow(position: number, waitMs: number): Promise<RecentPage>;
}

/** The actor that collects the request counts of all processes and isolates of a platform. */
export const signalsKind: ActorKind = {
  name: "signals",
  schema: [
    `CREATE TABLE signals_series (
      actor TEXT NOT NULL, series TEXT NOT NULL, totals TEXT NOT NULL, PRIMARY KEY (actor, series))`,
    `CREATE TABLE signals_slots (
      actor TEXT NOT NULL, at INTEGER NOT NULL, part TEXT NOT NULL, slot TEXT NOT NULL, PRIMARY KEY (actor, at, part))`,
    `CREATE TABLE signals_recent (
      actor TEXT NOT NULL, position INTEGER NOT NULL, requests TEXT NOT NULL, PRIMARY KEY (actor, position))`,
    `CREATE TABLE signals_deprecated (
      actor TEXT NOT NULL, name TEXT NOT NULL, uses TEXT NOT NULL, PRIMARY KEY (actor, name))`,
    `CREATE TABLE signals_sources (
      actor TEXT NOT NULL, source TEXT NOT NULL, sequence INTEGER NOT NULL, seen INTEGER NOT NULL,
      PRIMARY KEY (actor, source))`,
    `CREATE TABLE signals_deprecated_totals (
      actor TEXT NOT NULL, entry TEXT NOT NULL, uses INTEGER NOT NULL, PRIMARY KEY (actor, entry))`,
  ],
  // They await nothing but a timer.
  interleaved: ["follow"],
  async start(context) {
    const state = await stored(context);
    const methods: SignalsMethods = {
      add: (batch) => add(batch, state),
      totals: () => [...state.series],
      history: (since) => [...state.slots.values()].filter(({ at }) => at >= since),
      deprecated: () => [...state.deprecated.values()].toSorted((a, b) => b.last - a.last),
      useTotals: () => [...state.useTotals],
      follow: (position, waitMs) => follow(position, waitMs, state),
    };
    return { methods: { ...methods } };
  },
};

/** Adds a batch, once, however often it comes. */
async function add(batch: RequestBatch, state: State): Promise<void> {
  const { context, sources, series } = state;
  if (sources.has(batch.source, batch.sequence)) return;
  const now = context.system.now();
  const seen = sources.statements(batch.source, batch.sequence, now);
  sources.add(batch.source, batch.sequence, now);
  const changed = new Set<string>();
  const touched = new Set<string>();
  for (const [delta, totals] of batch.deltas) {
    const { series: given, account } = splitAccount(delta);
    const key = series.has(given) || series.size < SERIES ? given : "other\tother\tother\tother";
    const kept = series.get(key) ?? noRequests();
    addTotals(kept, totals);
    series.set(key, kept);
    changed.add(key);
    touched.add(addToSlot(state, { series: given, account, totals, now }));
  }
  const used = batch.deprecated.map((use) => addUse(state.deprecated, use));
  state.recent = [...state.recent, ...batch.rows].slice(-RECENT);
  state.position += batch.rows.length;
  for (const wake of state.waiters) wake();
  forgetOld(state, now);
  await context.sql.batch(
    [
      ...storeSeries(changed, series, context, TABLES),
      ...statements(batch, touched, now, state),
      ...storedUses(used, state.deprecated, context.name),
      ...addTotalUses(state.useTotals, batch.deprecated, context.name),
      ...seen,
    ],
    { lazy: true },
  );
}

interface SlotGrowth {
  readonly series: string;
  readonly account: string;
  readonly totals: RequestTotals;
  readonly now: number;
}

function addToSlot({ slots }: State, { series, account, totals, now }: SlotGrowth): string {
  const { part, status } = labelsOf(series);
  const at = now - (now % SLOT_MS);
  const named = `${at}\t${part}\t${account}`;
  const isOther = account !== "" && (slots.has(named) || slots.size < SLOTS);
  const slotKey = isOther ? named : `${at}\t${part}`;
  const slot = slots.get(slotKey) ?? {
    at,
    part,
    ...(isOther ? { account } : {}),
    failed: 0,
    refused: 0,
    totals: noRequests(),
  };
  addTotals(slot.totals, totals);
  if (Number(status) >= 500) slot.failed += totals.count;
  else if (Number(status) >= 400) slot.refused += totals.count;
  slots.set(slotKey, slot);
  return slotKey;
}

function statements(
  { rows }: RequestBatch,
  touched: ReadonlySet<string>,
  now: number,
  { context: { name: actor }, slots, position }: State,
): Statement[] {
  return [
    ...[...touched].map((key) => {
      const slot = slots.get(key);
      return {
        sql: `INSERT INTO signals_slots (actor, at, part, slot) VALUES (?, ?, ?, ?)
          ON CONFLICT (actor, at, part) DO UPDATE SET slot = excluded.slot`,
        // The column names the account as well, where it is not the installation's.
        params: [actor, slot?.at ?? now, key.slice(key.indexOf("\t") + 1), JSON.stringify(slot)],
      };
    }),
    {
      sql: "DELETE FROM signals_slots WHERE actor = ? AND at < ?",
      params: [actor, now - HISTORY_MS],
    },
    {
      sql: `INSERT INTO signals_recent (actor, position, requests) VALUES (?, ?, ?)
        ON CONFLICT (actor, position) DO UPDATE SET requests = excluded.requests`,
      params: [actor, position, JSON.stringify(rows)],
    },
    {
      sql: `DELETE FROM signals_recent WHERE actor = ? AND position NOT IN
        (SELECT position FROM signals_recent WHERE actor = ? ORDER BY position DESC LIMIT ${BATCHES})`,
      params: [actor, actor],
    },
  ];
}

function forgetOld({ slots }: State, now: number): void {
  for (const [key, { at }] of slots) if (at < now - HISTORY_MS) slots.delete(key);
}

/** Reads requests after `position` (-1 = the newest there are); without any, waits up to `waitMs` for some. */
async function follow(position: number, waitMs: number, state: State): Promise<RecentPage> {
  const { waiters, context } = state;
  if (position === state.position && waiters.size < FOLLOWERS) {
    const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
    waiters.add(wake);
    await newsOrTime(context.system, woken, waitMs);
    waiters.delete(wake);
  }
  const missing = position < 0 || position > state.position ? RECENT : state.position - position;
  return {
    rows: missing === 0 ? [] : state.recent.slice(-Math.min(missing, RECENT)),
    position: state.position,
  };
}

async function stored(context: ActorContext): Promise<State> {
  const { name, sql } = context;
  const slots = await sql.all("SELECT at, part, slot FROM signals_slots WHERE actor = ?", [name]);
  const recent = await sql.all(
    "SELECT position, requests FROM signals_recent WHERE actor = ? ORDER BY position",
    [name],
  );
  const deprecated = await sql.all("SELECT name, uses FROM signals_deprecated WHERE actor = ?", [
    name,
  ]);
  const totals = await sql.all(
    "SELECT entry, uses FROM signals_deprecated_totals WHERE actor = ?",
    [name],
  );
  const parsed = (value: unknown): never => JSON.parse(String(value)) as never;
  return {
    context,
    series: await storedSeries<RequestTotals>(context, TABLES),
    slots: new Map(
      slots.map((row) => [`${String(row["at"])}\t${String(row["part"])}`, parsed(row["slot"])]),
    ),
    sources: await storedSources(context, TABLES),
    deprecated: new Map(
      deprecated.map((row) => [String(row["name"]), storedUse(String(row["uses"]))]),
    ),
    useTotals: new Map(totals.map((row) => [String(row["entry"]), Number(row["uses"])])),
    recent: recent.flatMap((row): RequestRow[] => parsed(row["requests"])).slice(-RECENT),
    position: Number(recent.at(-1)?.["position"] ?? 0),
    waiters: new Set(),
  };
}
