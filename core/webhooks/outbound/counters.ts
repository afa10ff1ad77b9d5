import type { ActorContext, Plain, Statement } from "../../ports.ts";
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

/** The counters of an account, and the present length of its queue. */
export async function readStats({
  name,
  sql,
  system,
}: ActorContext): Promise<{ readonly [key: string]: Plain }> {
  const rows = await sql.all("SELECT name, value FROM webhooks_counters WHERE actor = ?", [name]);
  const known = new Map(rows.map((row) => [String(row["name"]), Number(row["value"])]));
  const [queue] = await sql.all(
    `SELECT COUNT(*) AS pending, MIN(created_at) AS oldest FROM webhooks_deliveries
     WHERE actor = ? AND status = 'pending'`,
    [name],
  );
  const [dead] = await sql.all(
    "SELECT COUNT(*) AS n FROM webhooks_deliveries WHERE actor = ? AND status = 'dead'",
    [name],
  );
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
