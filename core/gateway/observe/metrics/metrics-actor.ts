import { storedSeries, storedSources, storeSeries } from "../../../metrics/stored-series.ts";
import type { ActorKind } from "../../../ports.ts";
import { added, type Delta, type SeriesTable } from "./series-table.ts";
import { seriesOf } from "./series.ts";
import type { Totals } from "./totals.ts";

const TABLES = { series: "gateway_metrics", sources: "gateway_metric_sources" } as const;

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
    let table: SeriesTable = await storedSeries<Totals>(context, TABLES);
    const sources = await storedSources(context, TABLES);
    const methods: MetricsMethods = {
      async add(source, sequence, deltas) {
        if (sources.has(source, sequence)) return;
        const next = added(table, deltas);
        const now = context.system.now();
        await sql.batch(
          [
            ...storeSeries(next.changed, next.table, context, TABLES),
            ...sources.statements(source, sequence, now),
          ],
          { lazy: true },
        );
        table = next.table;
        sources.add(source, sequence, now);
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
