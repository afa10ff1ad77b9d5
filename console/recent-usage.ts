import type { Answers } from "../scripts/openapi/answers.ts";
import type { GatewayRow } from "./log-query.ts";

/** A report of what was used. */
export type Report = Pick<Answers["Spend"], "totals" | "rows" | "complete">;
/** The sums of a group. */
export type Figures = Report["totals"];
/** The column that a report groups by. */
export type Column = "team" | "key" | "model" | "gateway" | "tag" | "day";

/** The team and the tags of a virtual key. */
export type KeyFacts = (id: string) => { readonly team: string; readonly tags: readonly string[] };

/** Sums of a stretch of time. */
export interface Slice {
  /** Unix s. */
  readonly at: number;
  readonly figures: Figures;
}

const nothing = (): Figures => ({
  requests: 0,
  errors: 0,
  cached: 0,
  tokens_in: 0,
  tokens_out: 0,
  cost: 0,
});

function add(sums: Figures, row: GatewayRow): void {
  sums.requests++;
  if (!row.success) sums.errors++;
  if (row.cached) sums.cached++;
  sums.tokens_in += row.tokens_in ?? 0;
  sums.tokens_out += row.tokens_out ?? 0;
  sums.cost += row.cost ?? 0;
}

/** Adds up log rows as a report of the API does, the dearest group first. */
export function reportOf(rows: readonly GatewayRow[], by: Column, factsOf: KeyFacts): Report {
  const totals = nothing();
  const groups = new Map<string, Figures>();
  for (const row of rows) {
    add(totals, row);
    for (const name of namesOf(row, by, factsOf)) {
      const sums = groups.get(name) ?? nothing();
      groups.set(name, sums);
      add(sums, row);
    }
  }
  const sorted = [...groups].toSorted(([, a], [, b]) => b.cost - a.cost || b.requests - a.requests);
  return { totals, rows: sorted.map(([name, sums]) => ({ ...sums, [by]: name })), complete: true };
}

function namesOf(row: GatewayRow, by: Column, factsOf: KeyFacts): readonly string[] {
  if (by === "model" || by === "gateway") return [row[by]];
  if (by === "day") return [row.created_at.slice(0, 10)];
  const key = row.caller?.startsWith("key:") === true ? row.caller.slice("key:".length) : "";
  if (by === "key") return [key];
  const { team, tags } = factsOf(key);
  return by === "team" ? [team] : tags.length === 0 ? [""] : tags;
}

/** Adds up log rows by slices of `ms`, empty ones included, up to `now`. */
export function slicesOf(
  rows: readonly GatewayRow[],
  { now, ms, slices }: { readonly now: number; readonly ms: number; readonly slices: number },
): readonly Slice[] {
  const end = now - (now % ms);
  const all = Array.from({ length: slices }, (_, at) => ({
    at: (end - (slices - 1 - at) * ms) / 1000,
    figures: nothing(),
  }));
  for (const row of rows) {
    const back = Math.floor((end - Date.parse(row.created_at)) / ms) + 1;
    const slice = all[slices - 1 - Math.max(0, back)];
    if (slice !== undefined) add(slice.figures, row);
  }
  return all;
}

/** The days of a report by day, those without requests included. */
export function daysOf(rows: Report["rows"], since: string, days: number): readonly Slice[] {
  const first = Date.parse(since);
  return Array.from({ length: days }, (_, at) => {
    const start = first + at * 86_400_000;
    const day = new Date(start).toISOString().slice(0, 10);
    return { at: start / 1000, figures: rows.find((row) => row.day === day) ?? nothing() };
  });
}
