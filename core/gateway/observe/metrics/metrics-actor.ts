import type { ActorContext, ActorKind, Statement } from "../../../ports.ts";
import { added, type Delta, type SeriesTable } from "./series-table.ts";
import { seriesOf } from "./series.ts";
import type { Totals } from "./totals.ts";

/** Milliseconds after which a silent source is forgotten; no source sends a batch again so late. */
const SOURCE_KEPT = 3_600_000;

/** The methods of an account's series. */
export interface MetricsMethods {
  /** Adds a batch, once, however often it comes. */
  add(source: string, sequence: number, deltas: readonly Delta[]): Promise<void>;
  read(): Delta[];
  /** Drops the series of a deleted gateway. */
  forget(gateway: string): Promise<void>;
}

/**
 * The series of one account, named by the account: the sum of what every process and isolate counted. Each of them reads
 * the same figure, and it outlives them all.
 */
export const metricsActor: ActorKind = {
  name: "gateway-metrics",
  schema: [
    `CREATE TABLE gateway_metrics (
      actor TEXT NOT NULL, series TEXT NOT NULL, totals TEXT NOT NULL, PRIMARY KEY (actor, series))`,
    `CREATE TABLE gateway_metric_sources (
      actor TEXT NOT NULL, source TEXT NOT NULL, sequence INTEGER NOT NULL, seen INTEGER NOT NULL,
      PRIMARY KEY (actor, source))`,
  ],
  async start(context) {
    const { name: actor, sql } = context;
    let table = await storedTable(context);
    const sources = await storedSources(context);
    const methods: MetricsMethods = {
      async add(source, sequence, deltas) {
        const before = sources.get(source);
        if (before !== undefined && sequence <= before.sequence) return;
        const next = added(table, deltas);
        const statements = [...next.changed].map((series) => ({
          sql: upsertSeries,
          params: [actor, series, JSON.stringify(next.table.get(series))],
        }));
        const now = context.system.now();
        const seen = { sql: upsertSource, params: [actor, source, sequence, now] };
        const old = before === undefined ? [oldSources(actor, now)] : [];
        await sql.batch([...statements, seen, ...old], { lazy: true });
        table = next.table;
        sources.set(source, { sequence, seen: now });
        if (before === undefined) forgetOld(sources, now);
      },
      read: () => [...table],
      async forget(gateway) {
        const gone = [...table.keys()].filter((key) => seriesOf(key)?.gateway === gateway);
        if (gone.length === 0) return;
        await sql.batch(
          gone.map((series) => ({
            sql: "DELETE FROM gateway_metrics WHERE actor = ? AND series = ?",
            params: [actor, series],
          })),
        );
        const left = new Map(table);
        for (const key of gone) left.delete(key);
        table = left;
      },
    };
    return { methods: { ...methods } };
  },
};

const upsertSeries = `INSERT INTO gateway_metrics (actor, series, totals) VALUES (?, ?, ?)
  ON CONFLICT (actor, series) DO UPDATE SET totals = excluded.totals`;

const upsertSource = `INSERT INTO gateway_metric_sources (actor, source, sequence, seen) VALUES (?, ?, ?, ?)
  ON CONFLICT (actor, source) DO UPDATE SET sequence = excluded.sequence, seen = excluded.seen`;

function oldSources(actor: string, now: number): Statement {
  return {
    sql: "DELETE FROM gateway_metric_sources WHERE actor = ? AND seen < ?",
    params: [actor, now - SOURCE_KEPT],
  };
}

async function storedTable({ name, sql }: ActorContext): Promise<SeriesTable> {
  const rows = await sql.all("SELECT series, totals FROM gateway_metrics WHERE actor = ?", [name]);
  return new Map(
    rows.map((row) => [String(row["series"]), JSON.parse(String(row["totals"])) as Totals]),
  );
}

/** The last batch of a source that was added, and when, in Unix ms. */
interface LastBatch {
  readonly sequence: number;
  readonly seen: number;
}

async function storedSources({ name, sql }: ActorContext): Promise<Map<string, LastBatch>> {
  const rows = await sql.all(
    "SELECT source, sequence, seen FROM gateway_metric_sources WHERE actor = ?",
    [name],
  );
  return new Map(
    rows.map((row) => [
      String(row["source"]),
      { sequence: Number(row["sequence"]), seen: Number(row["seen"]) },
    ]),
  );
}

/** Every start of a process, and every isolate, is a source of its own: they must not pile up in memory either. */
function forgetOld(sources: Map<string, LastBatch>, now: number): void {
  for (const [source, { seen }] of sources) if (seen < now - SOURCE_KEPT) sources.delete(source);
}
