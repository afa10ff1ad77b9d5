import { eventTime } from "../../entity/event.ts";
import type { ActorContext, Log, SqlRow, Statement } from "../../ports.ts";
import { count } from "./counters.ts";
import { notice } from "./notices.ts";
import { isHopeless, TRIP_FAILURES, trippedUntil, type Verdict } from "./retry-policy.ts";

/**
 * Counts an endpoint's failures: several in a row pause it, and it is disabled when it is gone or has failed for days.
 * Its row is read again, because other attempts may have ended meanwhile.
 */
export async function endpointAfter(
  context: ActorContext,
  log: Log,
  endpoint: SqlRow,
  verdict: Verdict,
): Promise<Statement[]> {
  const { name: actor, sql } = context;
  const now = context.steady();
  const id = String(endpoint["id"]);
  if (verdict.kind === "delivered") {
    const reset = `UPDATE webhooks_endpoints SET failing_since = NULL, failures = 0, tripped_until = NULL
      WHERE actor = ? AND id = ? AND failing_since IS NOT NULL`;
    return [{ sql: reset, params: [actor, id] }];
  }
  const read =
    "SELECT failing_since, failures, enabled FROM webhooks_endpoints WHERE actor = ? AND id = ?";
  const [row] = await sql.all(read, [actor, id]);
  const since = row?.["failing_since"] == null ? now : Number(row["failing_since"]);
  const failures = Number(row?.["failures"] ?? 0) + 1;
  const tripped = trippedUntil(failures, now);
  const update: Statement = {
    sql: `UPDATE webhooks_endpoints SET failing_since = COALESCE(failing_since, ?), failures = failures + 1,
      tripped_until = ? WHERE actor = ? AND id = ?`,
    params: [now, tripped, actor, id],
  };
  // Requests that were on their way when it was switched off change nothing more.
  if (Number(row?.["enabled"] ?? 0) === 0) return [update];
  const reason = hopeless(verdict, since, failures, now);
  if (reason === null) {
    const isPaused = failures === TRIP_FAILURES;
    return [update, ...(isPaused ? await announceFailing(context, endpoint, tripped) : [])];
  }
  log("warn", "A webhook endpoint was switched off", { account: actor, endpoint: id, reason });
  return [update, ...(await switchOff(context, endpoint, reason))];
}

function hopeless(verdict: Verdict, since: number, failures: number, now: number): string | null {
  if (verdict.kind === "gone") return "The endpoint answered 410 Gone";
  return isHopeless(since, failures, now) ? "Every attempt failed for five days" : null;
}

/** Counts the pause of an endpoint, and sends the notice about it. */
async function announceFailing(
  context: ActorContext,
  endpoint: SqlRow,
  until: number | null,
): Promise<Statement[]> {
  const { steady, system } = context;
  const data = {
    ...named(endpoint),
    failures: TRIP_FAILURES,
    paused_until: until === null ? null : eventTime(until + system.now() - steady()),
  };
  return [
    ...count(context.name, { circuits_opened: 1 }),
    ...(await notice(context, "webhook.endpoint.failing", data)),
  ];
}

/** Disables the endpoint, and sends the notice about it to the endpoints that list its type. */
async function switchOff(
  context: ActorContext,
  endpoint: SqlRow,
  reason: string,
): Promise<Statement[]> {
  const sql =
    "UPDATE webhooks_endpoints SET enabled = 0, disabled_reason = ? WHERE actor = ? AND id = ?";
  return [
    { sql, params: [reason, context.name, String(endpoint["id"])] },
    ...count(context.name, { endpoints_disabled: 1 }),
    ...(await notice(context, "webhook.endpoint.disabled", { ...named(endpoint), reason })),
  ];
}

function named(endpoint: SqlRow): { readonly endpoint_id: string; readonly url: string } {
  return { endpoint_id: String(endpoint["id"]), url: String(endpoint["url"]) };
}
