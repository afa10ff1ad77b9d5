import type { Context } from "hono";
import { invalidRequest } from "../../http/api-error.ts";
import { envelope } from "../../http/envelope.ts";
import { didYouMean } from "../../text/nearest.ts";
import { checkQuery } from "../../http/fields/query.ts";
import { type SpendColumn, spendColumns, type SpendQuery } from "../observe/spend/spend-row.ts";
import { gatewayNameOf, guards, MANAGEMENT_ROOT, type ManagementRoutes } from "./context.ts";

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
const MOST_DAYS = 366;
const MOST_COLUMNS = 3;
const filters = ["gateway", "provider", "model", "key", "team"] as const;

export const spendParameters: readonly string[] = ["since", "until", "by", ...filters];

/** Serves the usage of an account by day: `…/spend` (ours; the hosted service has no such resource). */
export const spendRoutes: ManagementRoutes = (app, { auth, spend, platform }) => {
  app.get(`${MANAGEMENT_ROOT}/spend`, guards(auth).read, async (c) => {
    const query = spendQuery(c, platform.system.now());
    const { rows, totals, complete } = await spend.report(gatewayNameOf(c).account, query);
    const { since, until, by } = query;
    const shown = rows.map(({ group, ...figures }) => ({ ...group, ...figures }));
    return envelope({ since, until, by, totals, rows: shown, complete });
  });
};

function spendQuery(c: Context, now: number): SpendQuery {
  checkQuery(c, spendParameters);
  const until = dayOf(c, "until") ?? new Date(now).toISOString().slice(0, 10);
  const first = Date.parse(until) - (DEFAULT_DAYS - 1) * DAY_MS;
  const since = dayOf(c, "since") ?? new Date(first).toISOString().slice(0, 10);
  const days = (Date.parse(until) - Date.parse(since)) / DAY_MS + 1;
  if (days < 1 || days > MOST_DAYS) {
    throw invalidRequest(
      `since: expected at most ${MOST_DAYS} days up to "until" (${until}), got "${since}"`,
    );
  }
  const where = filters.map((name) => [name, c.req.query(name)?.slice(0, 256)] as const);
  return { since, until, by: columnsOf(c), where: Object.fromEntries(where) };
}

function dayOf(c: Context, name: string): string | undefined {
  const text = c.req.query(name);
  if (text === undefined || text === "") return undefined;
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(at) && new Date(at).toISOString().startsWith(text)) return text;
  throw invalidRequest(`${name}: expected a day such as "2026-11-27", got "${text.slice(0, 32)}"`);
}

function columnsOf(c: Context): readonly SpendColumn[] {
  const names = (c.req.query("by") || "day").split(",").map((name) => name.trim());
  const columns = names.map((name) => {
    const column = spendColumns.find((one) => one === name);
    if (column !== undefined) return column;
    const guess = didYouMean(name, spendColumns);
    throw invalidRequest(
      `by: there is no column "${name.slice(0, 32)}"${guess || `: use some of ${spendColumns.join(", ")}`}`,
    );
  });
  if (new Set(columns).size === names.length && names.length <= MOST_COLUMNS) return columns;
  throw invalidRequest(`by: expected up to ${MOST_COLUMNS} columns, each once`);
}
