import { eventTime } from "../../entity/event.ts";
import type { ActorContext, Plain, SqlRow, Statement } from "../../ports.ts";
import { prepareMessage } from "./messages.ts";
import type { AttemptResult } from "./retry-policy.ts";

/** Types of the messages that the sender itself sends about its work. */
type NoticeType =
  | "webhook.delivery.exhausted"
  | "webhook.endpoint.disabled"
  | "webhook.endpoint.failing";

/**
 * The statements of a notice about an endpoint to the endpoints that list its type; none if no endpoint does. The endpoint
 * is the entity: a listener with `ordered` hears of it in order.
 */
export async function notice(
  context: ActorContext,
  type: NoticeType,
  data: { readonly endpoint_id: string; readonly [member: string]: Plain },
): Promise<readonly Statement[]> {
  const payload = { type, timestamp: eventTime(context.system.now()), data };
  const message = await prepareMessage(context, { type, payload, entity: data.endpoint_id }, true);
  return message.endpoints.length > 0 ? message.statements : [];
}

/** The notice about a delivery that was given up. A notice that was given up makes no other: they would never end. */
export async function exhausted(
  context: ActorContext,
  endpoint: SqlRow,
  delivery: SqlRow,
  { attempts, result }: { readonly attempts: number; readonly result: AttemptResult },
): Promise<readonly Statement[]> {
  if (Number(endpoint["is_notice"]) === 1) return [];
  return notice(context, "webhook.delivery.exhausted", {
    delivery_id: String(delivery["id"]),
    message_id: String(delivery["message_id"]),
    message_type: String(endpoint["type"]),
    endpoint_id: String(endpoint["id"]),
    url: String(endpoint["url"]),
    attempts,
    last_status: result.status,
    last_error: result.error,
  });
}
