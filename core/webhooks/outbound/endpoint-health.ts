import { eventTime } from "../../entity/event.ts";
import type { ActorContext, Log, SqlRow, Statement } from "../../ports.ts";
import { count } from "./counters.ts";
import { prepareMessage } from "./messages.ts";
import { isHopeless, TRIP_FAILURES, trippedUntil, type Verdict } from "./retry-policy.ts";

/** Type of the message that announces a disabled endpoint. */
const DISABLED = "webhook.endpoint.disabled";

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
  const read = "SELECT failing_since, failures FROM webhooks_endpoints WHERE actor = ? AND id = ?";
  const [row] = await sql.all(read, [actor, id]);
  const since = row?.["failing_since"] == null ? now : Number(row["failing_since"]);
  const failures = Number(row?.["failures"] ?? 0) + 1;
  const tripped = trippedUntil(failures, now);
  const update: Statement = {
    sql: `UPDATE webhooks_endpoints SET failing_since = COALESCE(failing_since, ?), failures = failures + 1,
      tripped_until = ? WHERE actor = ? AND id = ?`,
    params: [now, tripped, actor, id],
  };
  const opened = count(actor, { circuits_opened: failures === TRIP_FAILURES ? 1 : 0 });
  const reason = hopeless(verdict, since, failures, now);
  if (reason === null) return [update, ...opened];
  log("warn", "A webhook endpoint was switched off", { account: actor, endpoint: id, reason });
  return [update, ...opened, ...(await switchOff(context, endpoint, reason))];
}

function hopeless(verdict: Verdict, since: number, failures: number, now: number): string | null {
  if (verdict.kind === "gone") return "The endpoint answered 410 Gone";
  return isHopeless(since, failures, now) ? "Every attempt failed for five days" : null;
}

/** Disables the endpoint, and sends the notice about it to the endpoints that list its type. */
async function switchOff(
  context: ActorContext,
  endpoint: SqlRow,
  reason: string,
): Promise<Statement[]> {
  const { name: actor, system } = context;
  const id = String(endpoint["id"]);
  const data = { endpoint_id: id, url: String(endpoint["url"]), reason };
  const payload = { type: DISABLED, timestamp: eventTime(system.now()), data };
  const notice = await prepareMessage(context, { type: DISABLED, payload }, true);
  const sql =
    "UPDATE webhooks_endpoints SET enabled = 0, disabled_reason = ? WHERE actor = ? AND id = ?";
  return [
    { sql, params: [reason, actor, id] },
    ...count(actor, { endpoints_disabled: 1 }),
    ...(notice.endpoints.length > 0 ? notice.statements : []),
  ];
}
