import type { ActorContext, Statement } from "../ports.ts";

/** The tables of an actor that adds up what processes count: `series` holds totals as JSON, `sources` the last batch of each process. */
export interface SeriesTables {
  readonly series: string;
  readonly sources: string;
}

/** Milliseconds after which a silent source is forgotten; no source sends a batch again so late. */
const SOURCE_KEPT = 3_600_000;

/** The last batch of each source that was counted. */
export interface BatchSources {
  /** Whether a batch was counted already. */
  has(source: string, sequence: number): boolean;
  /**
   * Statements that remember a batch. They belong into the transaction of its counts: a batch that is sent again after an
   * eviction must not count twice.
   */
  statements(source: string, sequence: number, now: number): Statement[];
  /** Remembers a batch in memory, and forgets silent sources: every start of a process, and every isolate, is a new one. */
  add(source: string, sequence: number, now: number): void;
}

export async function storedSources(
  { name: actor, sql }: ActorContext,
  { sources: table }: SeriesTables,
): Promise<BatchSources> {
  const rows = await sql.all(`SELECT source, sequence, seen FROM ${table} WHERE actor = ?`, [
    actor,
  ]);
  const known = new Map(
    rows.map(({ source, sequence, seen }) => [
      String(source),
      { sequence: Number(sequence), seen: Number(seen) },
    ]),
  );
  return {
    has: (source, sequence) => sequence <= (known.get(source)?.sequence ?? -Infinity),
    statements(source, sequence, now) {
      const seen = {
        sql: `INSERT INTO ${table} (actor, source, sequence, seen) VALUES (?, ?, ?, ?)
          ON CONFLICT (actor, source) DO UPDATE SET sequence = excluded.sequence, seen = excluded.seen`,
        params: [actor, source, sequence, now],
      };
      const old = {
        sql: `DELETE FROM ${table} WHERE actor = ? AND seen < ?`,
        params: [actor, now - SOURCE_KEPT],
      };
      return known.has(source) ? [seen] : [seen, old];
    },
    add(source, sequence, now) {
      const isNew = !known.has(source);
      known.set(source, { sequence, seen: now });
      if (!isNew) return;
      for (const [other, { seen }] of known) if (seen < now - SOURCE_KEPT) known.delete(other);
    },
  };
}

export async function storedSeries<T>(
  { name: actor, sql }: ActorContext,
  { series: table }: SeriesTables,
): Promise<Map<string, T>> {
  const rows = await sql.all(`SELECT series, totals FROM ${table} WHERE actor = ?`, [actor]);
  // `as`: only `storeSeries` writes this column.
  return new Map(
    rows.map(({ series, totals }) => [String(series), JSON.parse(String(totals)) as T]),
  );
}

/** Writes the totals of series. */
export function storeSeries<T>(
  keys: Iterable<string>,
  totals: ReadonlyMap<string, T>,
  { name: actor }: ActorContext,
  { series: table }: SeriesTables,
): Statement[] {
  return Array.from(keys, (key) => ({
    sql: `INSERT INTO ${table} (actor, series, totals) VALUES (?, ?, ?)
      ON CONFLICT (actor, series) DO UPDATE SET totals = excluded.totals`,
    params: [actor, key, JSON.stringify(totals.get(key))],
  }));
}
