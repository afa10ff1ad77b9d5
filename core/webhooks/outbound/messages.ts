import { eventTime } from "../../entity/event.ts";
import { OUTBOUND_LIMIT } from "../../entity/outbound.ts";
import { ApiError, notFound } from "../../http/api-error.ts";
import type { ActorContext, Plain, Statement } from "../../ports.ts";
import { payloadFilter } from "../../http/json/payload-filter.ts";

/** Messages after which old rows are removed, and how many of each kind at a time. */
export const PRUNE_EVERY = 8;
const PRUNE_LIMIT = 160;

export type SendInput = {
  readonly type: string;
  readonly payload?: Plain;
  /** The payload as JSON text, which is sent as it is; it comes before `payload`. */
  readonly json?: string | undefined;
  /** The entity that the event is about: `ordered` endpoints get the events of one entity one after another. */
  readonly entity?: string | undefined;
  readonly endpoint_id?: string | undefined;
  readonly idempotency_key?: string | undefined;
  /** The `traceparent` of the caller. */
  readonly trace?: string | undefined;
};

/** The JSON text that is sent as a message's payload; undefined if there is none. */
export function payloadText(input: SendInput): string | undefined {
  return input.json ?? JSON.stringify(input.payload);
}

/** A message that is ready to be stored. */
export interface NewMessage {
  readonly id: string;
  /** The endpoints that it goes to, a delivery each. */
  readonly endpoints: readonly string[];
  /** Stores the message and one delivery per matching endpoint; the first changes a row unless it is a repetition. */
  readonly statements: readonly Statement[];
}

/** A fresh id whose prefix names its kind. */
export function shortId({ system }: ActorContext, prefix: string): string {
  return `${prefix}_${system.id().replaceAll("-", "")}`;
}

/**
 * Finds the endpoints of a message. With `isNotice` only those that list its type by name, because notices of the
 * runtime are not events of the account. Throws 404 for an unknown endpoint, 413.
 */
export async function prepareMessage(
  context: ActorContext,
  input: SendInput,
  isNotice: boolean = false,
): Promise<NewMessage> {
  const payload = payloadText(input);
  if (payload === undefined || payload.length > OUTBOUND_LIMIT) {
    throw new ApiError("too_large", {
      message: `The payload must be JSON of at most ${OUTBOUND_LIMIT} characters`,
    });
  }
  const targets = await matching(context, { ...input, payload }, isNotice);
  const id = shortId(context, "msg");
  return {
    id,
    endpoints: targets,
    statements: insertMessage(context, input, { id, payload, targets, isNotice }),
  };
}

/** A message whose payload is a text. */
type TextMessage = Pick<SendInput, "type" | "endpoint_id"> & { readonly payload: string };

/** Endpoints that a message goes to. One that is named must exist; disabled ones get nothing. */
async function matching(
  { sql, name }: ActorContext,
  { endpoint_id: named, payload, type }: TextMessage,
  isNotice: boolean,
): Promise<string[]> {
  const rows = await sql.all(
    "SELECT id, types, filter, enabled FROM webhooks_endpoints WHERE actor = ?",
    [name],
  );
  if (named !== undefined && !rows.some((row) => row["id"] === named)) {
    throw notFound("webhook endpoint", named);
  }
  const passes = payloadFilter(payload);
  return rows
    .filter((row) => Number(row["enabled"]) === 1)
    .filter((row) =>
      named === undefined
        ? takes(JSON.parse(String(row["types"])) as string[], type, isNotice) &&
          passes(row["filter"])
        : row["id"] === named,
    )
    .map((row) => String(row["id"]));
}

/** Whether a list of types holds one, as it is or by a beginning such as `issue.*`; an empty list holds all. */
function takes(types: readonly string[], type: string, isNotice: boolean): boolean {
  if (types.length === 0) return !isNotice;
  return types.some(
    (one) => one === type || (one.endsWith(".*") && type.startsWith(one.slice(0, -1))),
  );
}

interface Prepared {
  readonly id: string;
  readonly payload: string;
  readonly targets: readonly string[];
  readonly isNotice: boolean;
}

/** The message, and its deliveries and counts unless the idempotency key had been used. */
function insertMessage(
  context: ActorContext,
  input: SendInput,
  { id, payload, targets, isNotice }: Prepared,
): Statement[] {
  const { name: actor, system } = context;
  const created = eventTime(system.now());
  const { entity = null, idempotency_key: key = null, trace = null, type } = input;
  const counted = (name: string, value: number): Statement => ({
    sql: `INSERT INTO webhooks_counters (actor, name, value)
      SELECT m.actor, ?, ? FROM webhooks_messages m WHERE m.actor = ? AND m.id = ?
      ON CONFLICT (actor, name) DO UPDATE SET value = webhooks_counters.value + excluded.value`,
    params: [name, value, actor, id],
  });
  return [
    {
      sql: `INSERT INTO webhooks_messages (actor, id, type, payload, entity, idempotency_key, trace, is_notice, created_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (actor, idempotency_key) DO NOTHING`,
      params: [actor, id, type, payload, entity, key, trace, isNotice ? 1 : 0, created],
    },
    ...targets.map((endpoint) => ({
      sql: `INSERT INTO webhooks_deliveries
          (actor, id, message_id, endpoint_id, entity, seq, status, attempt, due, created_at)
        SELECT m.actor, ?, m.id, ?, m.entity, ${NEXT_SEQ}, 'pending', 0, ?, ?
        FROM webhooks_messages m WHERE m.actor = ? AND m.id = ?`,
      params: [shortId(context, "dl"), endpoint, actor, context.steady(), created, actor, id],
    })),
    counted("messages", 1),
    counted("deliveries", targets.length),
  ];
}

/** The order in which deliveries were asked for; takes the account as its one parameter. */
export const NEXT_SEQ: string =
  "(SELECT COALESCE(MAX(n.seq), 0) + 1 FROM webhooks_deliveries n WHERE n.actor = ?)";

/** Times that deliveries are kept, in ms; null = for ever. */
export interface DeliveryRetention {
  /** Since they were made, if they are settled. */
  readonly settledMs: number | null;
  /** Since their last attempt, if they are dead. */
  readonly deadMs: number | null;
}

/** Deletes old deliveries, a few at every {@link PRUNE_EVERY}th message. Pending ones stay. */
export function startPruning(actor: string, keep: DeliveryRetention): (now: number) => Statement[] {
  let messages = 0;
  return (now) => (messages++ % PRUNE_EVERY === 0 ? pruneOld(actor, now, keep) : []);
}

function pruneOld(actor: string, now: number, keep: DeliveryRetention): Statement[] {
  const { deadMs, settledMs } = keep;
  const statements: Statement[] = [];
  const forget = (condition: string, order: string, before: string | number): void => {
    const old = `SELECT d.id FROM webhooks_deliveries d WHERE d.actor = ? AND ${condition}
      ORDER BY ${order} LIMIT ?`;
    const params = [actor, actor, before, PRUNE_LIMIT];
    for (const [table, column] of [
      ["webhooks_attempts", "delivery_id"],
      ["webhooks_deliveries", "id"],
    ] as const)
      statements.push({
        sql: `DELETE FROM ${table} WHERE actor = ? AND ${column} IN (${old})`,
        params,
      });
  };
  // A dead delivery's `due` is the time of its end.
  if (deadMs !== null) forget("d.status = 'dead' AND d.due < ?", "d.due", now - deadMs);
  if (settledMs === null) return statements;
  const before = eventTime(now - settledMs);
  forget("d.created_at < ? AND d.status NOT IN ('pending', 'dead')", "d.created_at, d.id", before);
  statements.push({
    sql: `DELETE FROM webhooks_messages WHERE actor = ? AND id IN (
      SELECT m.id FROM webhooks_messages m WHERE m.actor = ? AND m.created_at < ? AND NOT EXISTS (
        SELECT 1 FROM webhooks_deliveries d WHERE d.actor = m.actor AND d.message_id = m.id)
      ORDER BY m.created_at LIMIT ?)`,
    params: [actor, actor, before, PRUNE_LIMIT],
  });
  return statements;
}
