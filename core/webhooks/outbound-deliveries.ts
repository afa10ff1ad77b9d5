import { eventTime } from "../entity/event.ts";
import { ApiError } from "../http/api-error.ts";
import type { ActorContext, Plain, SqlRow, SqlValue, Statement } from "../ports.ts";
import type { Clock } from "../entity/clock.ts";

/** Longest body that is sent, in characters. */
const PAYLOAD_LIMIT = 256 * 1024;
/** How long finished deliveries are kept. */
const KEEP_MS = 30 * 86_400_000;
/** Old rows of each kind that one `send` removes. */
const PRUNE_LIMIT = 20;
const LIST_LIMIT = 1000;

/** What `send` takes. */
export type SendInput = {
  readonly type: string;
  readonly payload: Plain;
  readonly endpoint_id?: string | undefined;
  readonly idempotency_key?: string | undefined;
};

/** What `send` stored. */
export type SendResult = {
  readonly id: string;
  /** An equal idempotency key had been used before: nothing new is sent. */
  readonly duplicate: boolean;
  readonly deliveries: number;
};

/** Which deliveries to list. */
export type DeliveryQuery = {
  readonly status?: string | undefined;
  readonly endpoint_id?: string | undefined;
  readonly limit?: number | undefined;
};

/** Messages and deliveries of an account. */
export interface Deliveries {
  /** Stores a message and one delivery per matching endpoint, in one transaction with the alarm. */
  send(input: SendInput): Promise<SendResult>;
  list(query: DeliveryQuery): Promise<SqlRow[]>;
  /** One delivery with its attempts; throws 404. */
  get(id: string): Promise<{ readonly [key: string]: Plain }>;
  /** A new delivery of the same message to the same endpoint; throws 404. */
  replay(id: string): Promise<{ readonly id: string }>;
  /** New deliveries of all dead ones, oldest first, at most 1000; of one endpoint when given. */
  replayDead(endpointId: string | undefined): Promise<{ readonly replayed: number }>;
}

const VIEW =
  "id, message_id, endpoint_id, status, attempt AS attempts, due, last_status, last_error, created_at, finished_at";

/** The messages and deliveries of an account. `wake` tells the running alarm of new ones. */
export function deliveries(context: ActorContext, clock: Clock, wake: () => void): Deliveries {
  const { sql, system, name: actor } = context;
  const shortId = (prefix: string): string => `${prefix}_${system.id().replaceAll("-", "")}`;

  async function again(rows: readonly SqlRow[]): Promise<string[]> {
    const now = system.now();
    const ids = rows.map(() => shortId("dl"));
    const statements = rows.flatMap((row, index) => repeat(actor, row, ids[index] ?? "", now));
    if (statements.length > 0) await clock.write(statements, now);
    wake();
    return ids;
  }

  return {
    async send(input) {
      const payload = JSON.stringify(input.payload);
      if (payload === undefined || payload.length > PAYLOAD_LIMIT) {
        throw new ApiError("too_large", {
          message: `The payload must be JSON of at most ${PAYLOAD_LIMIT} characters`,
        });
      }
      const id = shortId("msg");
      const targets = await matching(context, input);
      const now = system.now();
      const message = { ...input, id, payload, now, deliveryIds: targets.map(() => shortId("dl")) };
      const statements = [...insertMessage(actor, message, targets), ...pruneOld(actor, now)];
      const [inserted] = await clock.write(statements, now);
      if (inserted?.changes !== 1) return sentBefore(context, input.idempotency_key ?? "");
      wake();
      return { id, duplicate: false, deliveries: targets.length };
    },
    list: (query) => list(context, query),
    get: (id) => get(context, id),
    async replay(id) {
      const [fresh] = await again(await sql.all(`${REPLAYABLE} AND d.id = ?`, [actor, id]));
      if (fresh !== undefined) return { id: fresh };
      throw new ApiError("not_found", {
        message: "No such webhook delivery, or its endpoint is gone",
      });
    },
    async replayDead(endpointId) {
      const only = endpointId === undefined ? "" : "AND d.endpoint_id = ?";
      const rows = await sql.all(
        `${REPLAYABLE} AND d.status = 'dead' ${only} ORDER BY d.created_at, d.id LIMIT ?`,
        [actor, ...(endpointId === undefined ? [] : [endpointId]), LIST_LIMIT],
      );
      return { replayed: (await again(rows)).length };
    },
  };
}

const REPLAYABLE = `SELECT d.id, d.message_id, d.endpoint_id FROM webhooks_deliveries d
  JOIN webhooks_endpoints e ON e.actor = d.actor AND e.id = d.endpoint_id
  JOIN webhooks_messages m ON m.actor = d.actor AND m.id = d.message_id WHERE d.actor = ?`;

function repeat(actor: string, row: SqlRow, id: string, now: number): Statement[] {
  return [
    {
      sql: `INSERT INTO webhooks_deliveries (actor, id, message_id, endpoint_id, status, attempt, due, created_at)
        VALUES (?, ?, ?, ?, 'pending', 0, ?, ?)`,
      params: [actor, id, row["message_id"] ?? "", row["endpoint_id"] ?? "", now, eventTime(now)],
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
  for (const column of ["status", "endpoint_id"] as const) {
    const value = query[column];
    if (value === undefined) continue;
    where += ` AND ${column} = ?`;
    params.push(value);
  }
  params.push(Math.min(LIST_LIMIT, Math.max(1, query.limit ?? 20)));
  const order = "ORDER BY created_at DESC, id LIMIT ?";
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
  if (row === undefined) throw new ApiError("not_found", { message: "No such webhook delivery" });
  const log = await sql.all(
    `SELECT attempt, at, duration_ms, status, error, body FROM webhooks_attempts
     WHERE actor = ? AND delivery_id = ? ORDER BY attempt`,
    [name, id],
  );
  return { ...row, log } as { readonly [key: string]: Plain };
}

/** Endpoints that a message goes to. One that is named must exist; disabled ones get nothing. */
async function matching({ sql, name }: ActorContext, input: SendInput): Promise<string[]> {
  const rows = await sql.all("SELECT id, types, enabled FROM webhooks_endpoints WHERE actor = ?", [
    name,
  ]);
  if (input.endpoint_id !== undefined && !rows.some((row) => row["id"] === input.endpoint_id)) {
    throw new ApiError("not_found", { message: "No such webhook endpoint" });
  }
  return rows
    .filter((row) => Number(row["enabled"]) === 1)
    .filter((row) =>
      input.endpoint_id === undefined
        ? takes(String(row["types"]), input.type)
        : row["id"] === input.endpoint_id,
    )
    .map((row) => String(row["id"]));
}

function takes(types: string, type: string): boolean {
  const wanted = JSON.parse(types) as string[];
  return wanted.length === 0 || wanted.includes(type);
}

interface NewMessage extends SendInput {
  readonly id: string;
  readonly payload: string;
  readonly now: number;
  readonly deliveryIds: readonly string[];
}

/** The message, and its deliveries unless the idempotency key had been used. */
function insertMessage(
  actor: string,
  message: NewMessage,
  targets: readonly string[],
): Statement[] {
  const created = eventTime(message.now);
  return [
    {
      sql: `INSERT INTO webhooks_messages (actor, id, type, payload, idempotency_key, created_at)
        VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (actor, idempotency_key) DO NOTHING`,
      params: [
        actor,
        message.id,
        message.type,
        message.payload,
        message.idempotency_key ?? null,
        created,
      ],
    },
    ...targets.map((endpoint, index) => ({
      sql: `INSERT INTO webhooks_deliveries (actor, id, message_id, endpoint_id, status, attempt, due, created_at)
        SELECT m.actor, ?, m.id, ?, 'pending', 0, ?, ? FROM webhooks_messages m WHERE m.actor = ? AND m.id = ?`,
      params: [message.deliveryIds[index] ?? "", endpoint, message.now, created, actor, message.id],
    })),
  ];
}

async function sentBefore({ sql, name }: ActorContext, key: string): Promise<SendResult> {
  const [row] = await sql.all(
    `SELECT m.id, (SELECT COUNT(*) FROM webhooks_deliveries d WHERE d.actor = m.actor AND d.message_id = m.id) AS n
     FROM webhooks_messages m WHERE m.actor = ? AND m.idempotency_key = ?`,
    [name, key],
  );
  return { id: String(row?.["id"]), duplicate: true, deliveries: Number(row?.["n"]) };
}

/** Forgets what is old and settled, a little at each `send`; dead deliveries stay until they are replayed. */
function pruneOld(actor: string, now: number): Statement[] {
  const before = eventTime(now - KEEP_MS);
  const old = `SELECT d.id FROM webhooks_deliveries d WHERE d.actor = ? AND d.created_at < ?
    AND d.status NOT IN ('pending', 'dead') ORDER BY d.created_at, d.id LIMIT ?`;
  const params = [actor, actor, before, PRUNE_LIMIT];
  return [
    { sql: `DELETE FROM webhooks_attempts WHERE actor = ? AND delivery_id IN (${old})`, params },
    { sql: `DELETE FROM webhooks_deliveries WHERE actor = ? AND id IN (${old})`, params },
    {
      sql: `DELETE FROM webhooks_messages WHERE actor = ? AND id IN (
        SELECT m.id FROM webhooks_messages m WHERE m.actor = ? AND m.created_at < ? AND NOT EXISTS (
          SELECT 1 FROM webhooks_deliveries d WHERE d.actor = m.actor AND d.message_id = m.id)
        ORDER BY m.created_at LIMIT ?)`,
      params,
    },
  ];
}
