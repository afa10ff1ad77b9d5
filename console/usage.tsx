import { useMemo, useState } from "preact/hooks";
import { askResult } from "./api.ts";
import { Chart } from "./chart.tsx";
import { Choice } from "./form.tsx";
import { count } from "./format.ts";
import type { KeyView } from "./keys.tsx";
import { usd } from "./limit-text.ts";
import { type GatewayRow, logQuery, noFilter } from "./log-query.ts";
import { FactList, type Loaded, Table, useLoaded, Waiting } from "./parts.tsx";
import { readAll } from "./read-all.ts";
import {
  type Column,
  daysOf,
  type Report,
  reportOf,
  type Slice,
  slicesOf,
} from "./recent-usage.ts";
import { readGateways, readPage } from "./stored-log.ts";

const columns = {
  team: "Team",
  key: "Virtual key",
  model: "Model",
  gateway: "Gateway",
  tag: "Tag",
  day: "Day",
} as const;

const ranges = {
  hour: "last hour",
  day: "last 24 hours",
  1: "today",
  7: "7 days",
  30: "30 days",
  90: "90 days",
} as const;
/** Slices of the ranges that are shorter than the days of a report. */
const recent = {
  hour: { ms: 300_000, slices: 12 },
  day: { ms: 3_600_000, slices: 24 },
} as const;

/** Log rows that a recent range adds up at most, and those of one request. */
const ROWS = 5000;
const PAGE = 100;

interface UsageProps {
  readonly account: string;
  readonly root: string;
  readonly keys: readonly KeyView[];
  readonly changed: string;
}

/** A report, and the same over time. */
interface Used {
  readonly report: Report;
  readonly slices: readonly Slice[];
}

/** Usage by team, key, model and the like, in the last hour or in up to 90 days. */
export function Usage(props: UsageProps) {
  const [by, setBy] = useState<Column>("team");
  const [range, setRange] = useState<string>("30");
  return (
    <section class="stack" aria-labelledby="spent-title">
      <h2 id="spent-title">Who spent what</h2>
      <form class="filters" aria-label="Report" onSubmit={(event) => event.preventDefault()}>
        <Choice
          label="By"
          value={by}
          options={columns}
          onChoose={(name) => setBy(name as Column)}
        />
        <Choice label="Time" value={range} options={ranges} onChoose={setRange} />
      </form>
      {range === "hour" || range === "day" ? (
        <Recent key={range} {...props} by={by} range={range} />
      ) : (
        <Daily {...props} by={by} days={Number(range)} />
      )}
    </section>
  );
}

interface DailyProps extends UsageProps {
  readonly by: Column;
  readonly days: number;
}

/** The report of the server, by whole days. */
function Daily({ root, keys, changed, by, days }: DailyProps) {
  const since = new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10);
  const used = useLoaded(async (): Promise<Used> => {
    const read = (column: Column): Promise<Report> =>
      askResult(`${root}/spend?by=${column}&since=${since}`);
    const [report, daily] = await Promise.all([read(by), read("day")]);
    return { report, slices: daysOf(daily.rows, since, days) };
  }, [by, since, changed]);
  return <Shown used={used} by={by} keys={keys} isDaily />;
}

interface RecentProps extends UsageProps {
  readonly by: Column;
  readonly range: keyof typeof recent;
}

/** Log rows added up: reports of the server know days only. */
function Recent({ account, keys, by, range }: RecentProps) {
  const now = useMemo(() => Date.now(), []);
  const rows = useLoaded(async (): Promise<readonly GatewayRow[]> => {
    const gateways = await readGateways(account);
    const query = logQuery({ ...noFilter, range }, now);
    const options = { account, gateways, query, length: PAGE };
    return readAll(
      (before) => readPage({ ...options, before }),
      () => undefined,
      ROWS,
    );
  }, [account]);
  const value = useMemo(() => {
    if (rows.value === null) return null;
    const found = new Map(keys.map((key) => [key.id, key]));
    const report = reportOf(rows.value, by, (id) => {
      const { team, tags = [] } = found.get(id) ?? {};
      return { team: team ?? "", tags };
    });
    const complete = rows.value.length < ROWS;
    return {
      report: { ...report, complete },
      slices: slicesOf(rows.value, { now, ...recent[range] }),
    };
  }, [rows.value, by, keys]);
  return <Shown used={{ ...rows, value }} by={by} keys={keys} isDaily={false} />;
}

interface ShownProps {
  readonly used: Loaded<Used>;
  readonly by: Column;
  readonly keys: readonly KeyView[];
  readonly isDaily: boolean;
}

function Shown({ used, by, keys, isDaily }: ShownProps) {
  const { value } = used;
  return (
    <>
      <Waiting of={used} />
      {value !== null && (
        <>
          <OverTime slices={value.slices} isDaily={isDaily} />
          <Sums report={value.report} by={by} keys={keys} />
        </>
      )}
    </>
  );
}

function OverTime({
  slices,
  isDaily,
}: {
  readonly slices: readonly Slice[];
  readonly isDaily: boolean;
}) {
  const series = useMemo(() => {
    const line = (label: string, colour: string, valueOf: (slice: Slice) => number) => ({
      label,
      colour,
      values: slices.map(valueOf),
    });
    return {
      times: slices.map(({ at }) => at),
      cost: [line("US dollars", "accent", ({ figures }) => figures.cost)],
      requests: [
        line("all", "accent", ({ figures }) => figures.requests),
        line("errors", "bad", ({ figures }) => figures.errors),
        line("from the cache", "second", ({ figures }) => figures.cached),
      ],
    };
  }, [slices]);
  if (slices.length < 2) return null;
  const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);
  return (
    <div class="charts">
      <Chart
        title="Cost"
        summary={`${usd(sum(series.cost[0]?.values ?? []))} in all`}
        unit="$"
        times={series.times}
        lines={series.cost}
        isDaily={isDaily}
      />
      <Chart
        title="Requests"
        summary={`${sum(series.requests[0]?.values ?? [])} in all`}
        unit=""
        times={series.times}
        lines={series.requests}
        isDaily={isDaily}
      />
    </div>
  );
}

interface SumsProps {
  readonly report: Report;
  readonly by: Column;
  readonly keys: readonly KeyView[];
}

/** The sums of a report, and its groups. */
function Sums({ report: { totals, rows, complete }, by, keys }: SumsProps) {
  const most = Math.max(0, ...rows.map(({ cost }) => cost));
  return (
    <>
      <FactList
        facts={[
          ["Cost", usd(totals.cost)],
          ["Requests", count(totals.requests)],
          ["Errors", count(totals.errors)],
          ["From the cache", count(totals.cached)],
          ["Tokens in, out", `${count(totals.tokens_in)}, ${count(totals.tokens_out)}`],
        ]}
      />
      <Table
        label="Who spent what"
        head={[
          columns[by],
          "Cost",
          "Share",
          "Requests",
          "Errors",
          "From the cache",
          "Tokens in",
          "Tokens out",
        ]}
        none="Nothing was spent in this time. All requests of virtual keys count, and others that leave a log row."
        rows={rows.map((row) => {
          const name = row[by] ?? "";
          return {
            key: name,
            cells: [
              nameOf(by, name, keys),
              usd(row.cost),
              <meter
                aria-label={`Cost of ${name === "" ? "others" : name}`}
                max={most || 1}
                value={row.cost}
              />,
              count(row.requests),
              count(row.errors),
              count(row.cached),
              count(row.tokens_in),
              count(row.tokens_out),
            ],
          };
        })}
      />
      {!complete && (
        <p class="muted small">
          The list is not complete: it has the most expensive rows of a report, and the newest of
          the last hours.
        </p>
      )}
    </>
  );
}

const nobody: Partial<Record<Column, string>> = {
  team: "no team",
  key: "no virtual key",
  tag: "no tag",
};

function nameOf(by: Column, name: string, keys: readonly KeyView[]) {
  if (name === "") return <span class="muted">{nobody[by] ?? "–"}</span>;
  return by === "key" ? (keys.find(({ id }) => id === name)?.name ?? name) : name;
}
