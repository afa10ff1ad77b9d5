import type { ActorContext, Plain, Sql, Statement } from "../../ports.ts";
import { TRIP_FAILURES } from "./retry-policy.ts";

/** Names of the counters, which count from the first day of an account; a restart does not reset them. */
export const counterNames = [
  "messages",
  "deliveries",
  "attempts",
  "delivered",
  "failed",
  "dead",
  "replayed",
  "endpoints_disabled",
  "circuits_opened",
  "latency_ms",
] as const;

/** Additions to the counters; `latency_ms` is the sum over all attempts. */
export type OutboundCounts = { readonly [name in (typeof counterNames)[number]]?: number };

/** Adds to the counters, in the transaction of the counted change. */
export function count(actor: string, counts: OutboundCounts): Statement[] {
  const entries = Object.entries(counts).filter(([, value]) => value > 0);
  if (entries.length === 0) return [];
  return [
    {
      sql: `INSERT INTO webhooks_counters (actor, name, value) VALUES ${entries.map(() => "(?, ?, ?)").join(", ")}
        ON CONFLICT (actor, name) DO UPDATE SET value = webhooks_counters.value + excluded.value`,
      params: entries.flatMap(([name, value]) => [actor, name, value]),
    },
  ];
}

/** Most rows that one number of the figures counts: scrapers ask for them all day. */
const COUNT_LIMIT = 10_000;
/** The deliveries of a status that are due first. */
const FIRST_DUE = `(SELECT created_at FROM webhooks_deliveries WHERE actor = ? AND status = ? ORDER BY due LIMIT ?) AS d`;

/** The counters of an account, and the present length of its queue, which is at most {@link COUNT_LIMIT}. */
export async function readStats({
  name,
  sql,
  system,
}: Pick<ActorContext, "name" | "system"> & { readonly sql: Pick<Sql, "all"> }): Promise<{
  readonly [key: string]: Plain;
}> {
  const rows = await sql.all("SELECT name, value FROM webhooks_counters WHERE actor = ?", [name]);
  const known = new Map(rows.map((row) => [String(row["name"]), Number(row["value"])]));
  const [queue] = await sql.all(
    `SELECT COUNT(*) AS pending, MIN(d.created_at) AS oldest FROM ${FIRST_DUE}`,
    [name, "pending", COUNT_LIMIT],
  );
  const [dead] = await sql.all(`SELECT COUNT(*) AS n FROM ${FIRST_DUE}`, [
    name,
    "dead",
    COUNT_LIMIT,
  ]);
  const [endpoints] = await sql.all(
    `SELECT COUNT(*) AS total, COALESCE(SUM(enabled), 0) AS enabled,
      COALESCE(SUM(CASE WHEN enabled = 1 AND failures >= ? THEN 1 ELSE 0 END), 0) AS tripped
     FROM webhooks_endpoints WHERE actor = ?`,
    [TRIP_FAILURES, name],
  );
  const oldest = queue?.["oldest"];
  const age = typeof oldest === "string" ? (system.now() - Date.parse(oldest)) / 1000 : null;
  return {
    counters: Object.fromEntries(counterNames.map((one) => [one, known.get(one) ?? 0])),
    pending: Number(queue?.["pending"]),
    oldest_pending_seconds: age === null ? null : Math.max(0, Math.round(age)),
    dead: Number(dead?.["n"]),
    endpoints: {
      total: Number(endpoints?.["total"]),
      enabled: Number(endpoints?.["enabled"]),
      tripped: Number(endpoints?.["tripped"]),
    },
  };
}
