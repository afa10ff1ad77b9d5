import { storedSources } from "../../../metrics/stored-series.ts";
import type { ActorContext, ActorKind, SqlRow, SqlValue, Statement } from "../../../ports.ts";
import {
  OTHER_MODEL,
  type SpendColumn,
  type SpendFigures,
  type SpendQuery,
  type SpendReport,
  type SpendReportRow,
  type SpendRow,
  sumColumns,
} from "./spend-row.ts";

const KEPT_DAYS = 400;
/** Groups of a day that have their own model: callers choose models. */
const GROUPS_OF_DAY = 5000;
const MOST_GROUPS = 1000;
const DAY_MS = 86_400_000;

const TABLES = { series: "gateway_spend_days", sources: "gateway_spend_sources" } as const;

export interface SpendMethods {
  /** Adds a batch, once, however often it comes. */
  add(source: string, sequence: number, rows: readonly SpendRow[]): Promise<void>;
  report(query: SpendQuery): Promise<SpendReport>;
}

/** Keeps the daily usage of one account, which names it, in a small table, so that no report reads the log. */
export const spendActor: ActorKind = {
  name: "gateway-spend",
  schema: [
    `CREATE TABLE gateway_spend_days (
      actor TEXT NOT NULL, day TEXT NOT NULL, gateway TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
      key_id TEXT NOT NULL, team TEXT NOT NULL, tags TEXT NOT NULL,
      requests BIGINT NOT NULL, errors BIGINT NOT NULL, cached BIGINT NOT NULL,
      tokens_in BIGINT NOT NULL, tokens_out BIGINT NOT NULL, cost DOUBLE PRECISION NOT NULL,
      PRIMARY KEY (actor, day, gateway, provider, model, key_id, team, tags))`,
    `CREATE TABLE gateway_spend_sources (
      actor TEXT NOT NULL, source TEXT NOT NULL, sequence INTEGER NOT NULL, seen INTEGER NOT NULL,
      PRIMARY KEY (actor, source))`,
  ],
  async start(context) {
    const methods: SpendMethods = {
      add: await adding(context),
      report: (query) => report(context, query),
    };
    return { methods: { ...methods } };
  },
};

async function adding(context: ActorContext): Promise<SpendMethods["add"]> {
  const { name: actor, sql, system } = context;
  const sources = await storedSources(context, TABLES);
  const groups = await groupsOfDays(context);
  return async (source, sequence, rows) => {
    if (sources.has(source, sequence)) return;
    const now = system.now();
    const bounded = rows.map((row) => groups.bounded(row));
    const old = new Date(now - KEPT_DAYS * DAY_MS).toISOString().slice(0, 10);
    await sql.batch(
      [
        ...bounded.map((row) => upsert(actor, row)),
        { sql: "DELETE FROM gateway_spend_days WHERE actor = ? AND day < ?", params: [actor, old] },
        ...sources.statements(source, sequence, now),
      ],
      { lazy: true },
    );
    sources.add(source, sequence, now);
  };
}

/** Counts the groups of the latest day, so that invented models cannot fill the table. */
async function groupsOfDays({ name: actor, sql }: ActorContext): Promise<{
  bounded(row: SpendRow): SpendRow;
}> {
  const [last] = await sql.all(
    `SELECT day, COUNT(*) AS n FROM gateway_spend_days WHERE actor = ? GROUP BY day ORDER BY day DESC LIMIT 1`,
    [actor],
  );
  let [day, stored] = [String(last?.["day"] ?? ""), Number(last?.["n"] ?? 0)];
  let seen = new Set<string>();
  return {
    bounded(row) {
      if (row.day > day) [day, stored, seen] = [row.day, 0, new Set()];
      const name = JSON.stringify([row.gateway, row.provider, row.model, row.key, row.team]);
      if (seen.has(name)) return row;
      if (stored + seen.size >= GROUPS_OF_DAY) return { ...row, model: OTHER_MODEL };
      seen.add(name);
      return row;
    },
  };
}

function upsert(actor: string, row: SpendRow): Statement {
  const { day, gateway, provider, model, key, team, tags } = row;
  const group = [actor, day, gateway, provider, model, key, team, tags];
  return {
    sql: `INSERT INTO gateway_spend_days (actor, day, gateway, provider, model, key_id, team, tags, ${sumColumns.join(", ")})
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (actor, day, gateway, provider, model, key_id, team, tags) DO UPDATE SET
      ${sumColumns.map((sum) => `${sum} = gateway_spend_days.${sum} + excluded.${sum}`).join(", ")}`,
    params: [...group, ...sumColumns.map((sum) => row[sum])],
  };
}

/** The columns of the table by those of a report. */
const columns: Readonly<Record<SpendColumn, readonly string[]>> = {
  day: ["day"],
  gateway: ["gateway"],
  provider: ["provider"],
  // A model is one of a provider.
  model: ["provider", "model"],
  key: ["key_id"],
  team: ["team"],
  tag: ["tags"],
};

async function report(
  { name: actor, sql }: ActorContext,
  { since, until, by, where }: SpendQuery,
): Promise<SpendReport> {
  const conditions = ["actor = ?", "day >= ?", "day <= ?"];
  const params: SqlValue[] = [actor, since, until];
  const { model, key, ...plain } = where;
  for (const [column, value] of Object.entries({ ...plain, key_id: key })) {
    if (value === undefined) continue;
    conditions.push(`${column} = ?`);
    params.push(value);
  }
  if (model !== undefined) {
    conditions.push("provider || '/' || model = ?");
    params.push(model);
  }
  const from = `FROM gateway_spend_days WHERE ${conditions.join(" AND ")}`;
  const groups = [...new Set(by.flatMap((column) => columns[column]))];
  const names = groups.join(", ");
  const found = await sql.all(
    `SELECT ${names}, ${SUMS} ${from} GROUP BY ${names} ORDER BY cost DESC, requests DESC, ${names} LIMIT ?`,
    [...params, MOST_GROUPS + 1],
  );
  const [totals] = await sql.all(`SELECT ${SUMS} ${from}`, params);
  const rows = found.slice(0, MOST_GROUPS).map((row) => reportRow(row, by));
  return {
    rows: by.includes("tag") ? byTag(rows) : rows,
    totals: figures(totals ?? {}),
    complete: found.length <= MOST_GROUPS,
  };
}

const SUMS = sumColumns.map((sum) => `SUM(${sum}) AS ${sum}`).join(", ");

function figures(row: SqlRow): SpendFigures {
  const sums = noFigures();
  for (const name of sumColumns) sums[name] = Number(row[name] ?? 0);
  return sums;
}

function reportRow(row: SqlRow, by: readonly SpendColumn[]): SpendReportRow {
  const group = by.map((column) => {
    const value = columns[column].map((name) => String(row[name] ?? "")).join("/");
    return [column, value] as const;
  });
  return { group: Object.fromEntries(group), ...figures(row) };
}

/** A request with two tags counts for each of them. */
function byTag(rows: readonly SpendReportRow[]): SpendReportRow[] {
  const sums = new Map<string, SpendReportRow>();
  for (const { group, ...used } of rows) {
    const tags = JSON.parse(group.tag ?? "[]") as string[];
    for (const tag of tags.length === 0 ? [""] : tags) {
      const own = { ...group, tag };
      const name = JSON.stringify(own);
      const sum = sums.get(name) ?? { group: own, ...noFigures() };
      addFigures(sum, used);
      sums.set(name, sum);
    }
  }
  return [...sums.values()].toSorted((a, b) => b.cost - a.cost || b.requests - a.requests);
}

export function noFigures(): SpendFigures {
  return { requests: 0, errors: 0, cached: 0, tokens_in: 0, tokens_out: 0, cost: 0 };
}

export function addFigures(sum: SpendFigures, more: SpendFigures): void {
  for (const name of sumColumns) sum[name] += more[name];
}
