import { useState } from "preact/hooks";
import { askResult } from "./api.ts";
import { count } from "./format.ts";
import { type KeyView, Keys, type TeamView, Teams } from "./keys.tsx";
import { amount, limitText, usd } from "./limit-text.ts";
import {
  accountPath,
  changesOf,
  FactList,
  instant,
  type Loaded,
  type PageProps,
  Table,
  useLoaded,
  Waiting,
} from "./parts.tsx";

const columns = {
  team: "Team",
  key: "Virtual key",
  model: "Model",
  gateway: "Gateway",
  tag: "Tag",
  day: "Day",
} as const;
type Column = keyof typeof columns;

const ranges = { 1: "today", 7: "7 days", 30: "30 days", 90: "90 days" } as const;

interface Figures {
  readonly requests: number;
  readonly errors: number;
  readonly cached: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly cost: number;
}

interface Report {
  readonly rows: readonly (Figures & { readonly [Name in Column]?: string })[];
  readonly totals: Figures;
  readonly complete: boolean;
}

/** Who spent what, how much of each budget is used, and the teams and keys that spend. */
export function SpendPage({ facts, live }: PageProps) {
  const root = `${accountPath(facts.account)}/ai-gateway`;
  const changed = changesOf(live, "gateway");
  const teams = useLoaded(
    () => askResult<readonly TeamView[]>(`${root}/teams?per_page=100`),
    [changed],
  );
  const keys = useLoaded(
    () => askResult<readonly KeyView[]>(`${root}/virtual-keys?per_page=100`),
    [changed],
  );
  const reload = (): void => {
    teams.reload();
    keys.reload();
  };
  const view = { root, facts, teams, keys, onChange: reload };
  return (
    <>
      <Spent root={root} keys={keys.value ?? []} changed={changed} />
      <Budgets teams={teams} keys={keys} />
      <Teams {...view} />
      <Keys {...view} />
    </>
  );
}

interface SpentProps {
  readonly root: string;
  readonly keys: readonly KeyView[];
  readonly changed: string;
}

function Spent({ root, keys, changed }: SpentProps) {
  const [by, setBy] = useState<Column>("team");
  const [days, setDays] = useState("30");
  const since = new Date(Date.now() - (Number(days) - 1) * 86_400_000).toISOString().slice(0, 10);
  const report = useLoaded(
    () => askResult<Report>(`${root}/spend?by=${by}&since=${since}`),
    [by, since, changed],
  );
  const { value } = report;
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
        <Choice label="Time" value={days} options={ranges} onChoose={setDays} />
      </form>
      <Waiting of={report} />
      {value !== null && <Figured report={value} by={by} keys={keys} />}
    </section>
  );
}

interface FiguredProps {
  readonly report: Report;
  readonly by: Column;
  readonly keys: readonly KeyView[];
}

/** The sums of a report, and its groups. */
function Figured({ report: { totals, rows, complete }, by, keys }: FiguredProps) {
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
        head={[columns[by], "Cost", "Share", "Requests", "Errors", "Tokens in", "Tokens out"]}
        none="Nothing was spent in this time. Requests that leave a log row count, and all of virtual keys."
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
              count(row.tokens_in),
              count(row.tokens_out),
            ],
          };
        })}
      />
      {!complete && <p class="muted small">Only the dearest are shown.</p>}
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

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: Readonly<Record<string, string>>;
  readonly onChoose: (value: string) => void;
}

function Choice({ label, value, options, onChoose }: ChoiceProps) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        {Object.entries(options).map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

interface BudgetsProps {
  readonly teams: Loaded<readonly TeamView[]>;
  readonly keys: Loaded<readonly KeyView[]>;
}

function Budgets({ teams, keys }: BudgetsProps) {
  const owned = [
    ...(teams.value ?? []).map(({ name, usage }) => ({ owner: `Team ${name}`, usage })),
    ...(keys.value ?? []).map(({ name, usage }) => ({ owner: `Key ${name}`, usage })),
  ];
  const rows = owned.flatMap(({ owner, usage }) =>
    usage.map((limit, at) => ({
      key: `${owner}/${at}`,
      cells: [
        owner,
        limitText(limit),
        <meter
          aria-label={`${owner}: used of ${limitText(limit)}`}
          max={limit.limit || 1}
          value={limit.used}
          high={limit.limit * 0.8}
        />,
        amount(limit, limit.used),
        amount(limit, limit.remaining),
        instant(limit.resets_at),
      ],
    })),
  );
  return (
    <section class="stack" aria-labelledby="budgets-title">
      <h2 id="budgets-title">Budgets</h2>
      <Table
        label="Budgets"
        head={["Of", "Budget", "Use", "Used", "Left", "Begins again"]}
        none="No budget yet. A team or a key below can have one."
        rows={rows}
      />
    </section>
  );
}
