import { eventTime } from "../../entity/event.ts";
import { keyConflict } from "../../entity/outbound.ts";
import { ApiError, notFound } from "../../http/api-error.ts";
import type { ActorContext, Plain, SqlRow, SqlValue, Statement } from "../../ports.ts";
import type { Clock } from "../../entity/clock.ts";
import { count } from "./counters.ts";
import {
  NEXT_SEQ,
  payloadText,
  prepareMessage,
  shortId,
  startPruning,
  type DeliveryRetention,
  type SendInput,
} from "./messages.ts";

const LIST_LIMIT = 1000;

export type SendResult = {
  readonly id: string;
  /** An equal idempotency key had been used before: nothing new is sent. */
  readonly duplicate: boolean;
  readonly deliveries: number;
};

/** A filter for the list of deliveries. */
export type DeliveryQuery = {
  readonly status?: string | undefined;
  readonly endpoint_id?: string | undefined;
  readonly message_id?: string | undefined;
  readonly entity?: string | undefined;
  readonly limit?: number | undefined;
};

/** The deliveries to send again: the named ones, or all that match. */
export type DeliveryFilter = {
  readonly ids?: readonly string[] | undefined;
  /** @default "dead", with `ids` any */
  readonly status?: string | undefined;
  readonly endpoint_id?: string | undefined;
  readonly entity?: string | undefined;
  readonly type?: string | undefined;
  /** Time of creation, ISO 8601, inclusive. */
  readonly since?: string | undefined;
  /** Time of creation, ISO 8601, exclusive. */
  readonly until?: string | undefined;
};

/** Messages and deliveries of an account. */
export interface Deliveries {
  /** Stores a message and one delivery per matching endpoint, in one transaction with the alarm. */
  send(input: SendInput): Promise<SendResult>;
  /** Throws 409 if the idempotency key of a message was used for another one. */
  checkRepeated(input: SendInput): Promise<void>;
  list(query: DeliveryQuery): Promise<SqlRow[]>;
  /** One delivery with the type and payload of its message, and its attempts; throws 404. */
  get(id: string): Promise<{ readonly [key: string]: Plain }>;
  /** A new delivery of the same message to the same endpoint; throws 404. */
  replay(id: string): Promise<{ readonly id: string }>;
  /**
   * New deliveries of those that fit, in their order, at most 1000 and as many as `admit` says of a number; `more` when some are
   * left.
   */
  replayAll(
    filter: DeliveryFilter,
    admit: (wanted: number) => number,
  ): Promise<{ readonly replayed: number; readonly more: boolean }>;
}

const VIEW =
  "id, message_id, endpoint_id, entity, status, attempt AS attempts, due, last_status, last_error, created_at, finished_at";

/** The messages and deliveries of an account. Calls `notify` with the endpoints that get new ones. */
export function deliveries(
  context: ActorContext,
  clock: Clock,
  keep: DeliveryRetention,
  notify: (endpoints: readonly string[]) => void,
): Deliveries {
  const { sql, system, name: actor } = context;
  const old = startPruning(actor, keep);

  async function requeue(rows: readonly SqlRow[]): Promise<string[]> {
    const [now, due] = [system.now(), context.steady()];
    const ids = rows.map(() => shortId(context, "dl"));
    const statements = rows.flatMap((row, index) =>
      repeat(actor, row, ids[index] ?? "", { now, due }),
    );
    if (statements.length > 0) {
      const added = count(actor, { replayed: rows.length, deliveries: rows.length });
      await clock.write([...statements, ...added], due);
    }
    notify(rows.map((row) => String(row["endpoint_id"])));
    return ids;
  }

  return {
    async send(input) {
      const message = await prepareMessage(context, input);
      const statements = [...message.statements, ...old(system.now())];
      const [inserted] = await clock.write(statements, context.steady());
      if (inserted?.changes !== 1) {
        const before = await sentBefore(context, input);
        if (before !== null) return before;
        throw new ApiError("unavailable", {
          message: "The message was removed meanwhile: send it again",
        });
      }
      notify(message.endpoints);
      return { id: message.id, duplicate: false, deliveries: message.endpoints.length };
    },
    async checkRepeated(input) {
      await sentBefore(context, input);
    },
    list: (query) => list(context, query),
    get: (id) => get(context, id),
    async replay(id) {
      const [fresh] = await requeue(await sql.all(`${REPLAYABLE} AND d.id = ?`, [actor, id]));
      if (fresh !== undefined) return { id: fresh };
      const message = `There is no webhook delivery "${id.slice(0, 64)}", or its endpoint is gone`;
      throw new ApiError("not_found", { message });
    },
    async replayAll(filter, admit) {
      const { params, where } = conditions(filter);
      const rows = await sql.all(`${REPLAYABLE} ${where} ORDER BY d.seq LIMIT ?`, [
        actor,
        ...params,
        LIST_LIMIT + 1,
      ]);
      const taken =
        rows.length === 0 ? [] : rows.slice(0, admit(Math.min(rows.length, LIST_LIMIT)));
      return { replayed: (await requeue(taken)).length, more: rows.length > taken.length };
    },
  };
}

const REPLAYABLE = `SELECT d.id, d.message_id, d.endpoint_id, d.entity FROM webhooks_deliveries d
  JOIN webhooks_endpoints e ON e.actor = d.actor AND e.id = d.endpoint_id
  JOIN webhooks_messages m ON m.actor = d.actor AND m.id = d.message_id WHERE d.actor = ?`;

function conditions(filter: DeliveryFilter): { where: string; params: SqlValue[] } {
  const status = filter.status ?? (filter.ids === undefined ? "dead" : undefined);
  const tests: readonly (readonly [string, string | undefined])[] = [
    ["d.status = ?", status],
    ["d.endpoint_id = ?", filter.endpoint_id],
    ["d.entity = ?", filter.entity],
    ["m.type = ?", filter.type],
    ["d.created_at >= ?", filter.since],
    ["d.created_at < ?", filter.until],
  ];
  const wanted = tests.flatMap(([test, value]) => (value === undefined ? [] : [{ test, value }]));
  const params = wanted.map(({ value }) => value);
  const where = wanted.map(({ test }) => `AND ${test}`).join(" ");
  if (filter.ids === undefined) return { where, params };
  const marks = filter.ids.map(() => "?").join(", ");
  return { where: `${where} AND d.id IN (${marks})`, params: [...params, ...filter.ids] };
}

function repeat(
  actor: string,
  row: SqlRow,
  id: string,
  { now, due }: { readonly now: number; readonly due: number },
): Statement[] {
  return [
    {
      sql: `INSERT INTO webhooks_deliveries
          (actor, id, message_id, endpoint_id, entity, seq, status, attempt, due, created_at)
        SELECT ?, ?, ?, ?, ?, ${NEXT_SEQ}, 'pending', 0, ?, ?`,
      params: [
        actor,
        id,
        row["message_id"] ?? "",
        row["endpoint_id"] ?? "",
        row["entity"] ?? null,
        actor,
        due,
        eventTime(now),
      ],
    },
    {
      sql: "UPDATE webhooks_deliveries SET status = 'replayed' WHERE actor = ? AND id = ? AND status = 'dead'",
      params: [actor, row["id"] ?? ""],
    },
  ];
}

function list({ sql, name }: ActorContext, query: DeliveryQuery): Promise<SqlRow[]> {
  const params: SqlValue[] = [name];
  let where = "actor = ?";
  for (const column of ["status", "endpoint_id", "message_id", "entity"] as const) {
    const value = query[column];
    if (value === undefined) continue;
    where += ` AND ${column} = ?`;
    params.push(value);
  }
  params.push(Math.min(LIST_LIMIT, Math.max(1, query.limit ?? 20)));
  const order = "ORDER BY created_at DESC, seq DESC LIMIT ?";
  return sql.all(`SELECT ${VIEW} FROM webhooks_deliveries WHERE ${where} ${order}`, params);
}

async function get(
  { sql, name }: ActorContext,
  id: string,
): Promise<{ readonly [key: string]: Plain }> {
  const [row] = await sql.all(
    `SELECT ${VIEW} FROM webhooks_deliveries WHERE actor = ? AND id = ?`,
    [name, id],
  );
  if (row === undefined) throw notFound("webhook delivery", id);
  const rows = await sql.all(
    `SELECT attempt, at, duration_ms, status, error, headers, body FROM webhooks_attempts
     WHERE actor = ? AND delivery_id = ? ORDER BY attempt`,
    [name, id],
  );
  const log = rows.map((one) => ({
    ...one,
    headers: typeof one["headers"] === "string" ? (JSON.parse(one["headers"]) as Plain) : null,
  }));
  const [message] = await sql.all(
    "SELECT type, payload FROM webhooks_messages WHERE actor = ? AND id = ?",
    [name, String(row["message_id"])],
  );
  return { ...row, ...message, log };
}

async function sentBefore(
  { sql, name }: ActorContext,
  input: SendInput,
): Promise<SendResult | null> {
  const [row] = await sql.all(
    `SELECT m.id, m.type, m.payload, m.entity,
       (SELECT COUNT(*) FROM webhooks_deliveries d WHERE d.actor = m.actor AND d.message_id = m.id) AS n
     FROM webhooks_messages m WHERE m.actor = ? AND m.idempotency_key = ?`,
    [name, input.idempotency_key ?? ""],
  );
  if (row === undefined) return null;
  const isSame =
    row["type"] === input.type &&
    row["payload"] === payloadText(input) &&
    (row["entity"] ?? null) === (input.entity ?? null);
  if (!isSame) throw keyConflict();
  return { id: String(row["id"]), duplicate: true, deliveries: Number(row["n"]) };
}
