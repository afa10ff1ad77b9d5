import type { Clock } from "../entity/clock.ts";
import { eventTime } from "../entity/event.ts";
import type { ActorContext, Log, SqlRow, Statement, Transport } from "../ports.ts";
import type { InTurn } from "./in-turn.ts";
import { count } from "./outbound-counters.ts";
import { endpointAfter } from "./outbound-health.ts";
import {
  judge,
  judgeInOrder,
  TRIP_FAILURES,
  type AttemptResult,
  type Verdict,
} from "./outbound-policy.ts";
import { attempt, chatBody, signedHeaders, type OutboundMessage } from "./outbound-request.ts";
import type { EndpointSecrets } from "./outbound-secrets.ts";

/** Requests of one account under way at a time. */
const PARALLEL = 16;
/** Requests to one endpoint under way at a time: a slow one leaves room for the others. */
const PARALLEL_PER_ENDPOINT = 4;
/** A claimed delivery whose process died is taken up again after this, in ms; longer than any attempt. */
const LEASE_MS = 60_000;

/** What sending takes. */
export interface Sender {
  readonly context: ActorContext;
  /** Requests go to addresses that a caller chose: never anything but the guarded transport. */
  readonly egress: Transport;
  readonly clock: Clock;
  readonly secrets: EndpointSecrets;
  readonly log: Log;
  readonly inTurn: InTurn;
}

/** Deliveries that may be sent once they are due: of enabled endpoints, and first in their order. */
const SENDABLE = `FROM webhooks_deliveries d
  JOIN webhooks_endpoints e ON e.actor = d.actor AND e.id = d.endpoint_id
  WHERE d.actor = ? AND d.status = 'pending' AND e.enabled = 1
  AND (e.ordered = 0 OR d.entity IS NULL OR NOT EXISTS (
    SELECT 1 FROM webhooks_deliveries b WHERE b.actor = d.actor AND b.endpoint_id = d.endpoint_id
      AND b.entity = d.entity AND b.status = 'pending' AND b.seq < d.seq))`;
/** A delivery to an endpoint that is left alone waits for the endpoint. */
const DUE = "CASE WHEN e.tripped_until > d.due THEN e.tripped_until ELSE d.due END";

/** The earliest time at which something is to be sent; null when nothing waits. */
export async function nextDue({ sql, name }: ActorContext): Promise<number | null> {
  const [row] = await sql.all(`SELECT MIN(${DUE}) AS due ${SENDABLE}`, [name]);
  return row?.["due"] == null ? null : Number(row["due"]);
}

/** Sends all that is due, and what becomes due meanwhile; a slow endpoint holds up only its own. */
export async function sendDue(sender: Sender, news: () => Promise<void>): Promise<void> {
  const running = new Map<string, { readonly endpoint: string; readonly work: Promise<void> }>();
  for (;;) {
    const woken = news();
    for (const row of await claim(
      sender,
      [...running.values()].map(({ endpoint }) => endpoint),
    )) {
      const id = String(row["id"]);
      const work = sendOne(sender, row).finally(() => running.delete(id));
      running.set(id, { endpoint: String(row["endpoint_id"]), work });
    }
    if (running.size === 0) return;
    await Promise.race([woken, ...[...running.values()].map(({ work }) => work)]);
  }
}

/** Takes due deliveries: the attempt is counted and leased before anything is sent. */
async function claim({ context, clock }: Sender, busy: readonly string[]): Promise<SqlRow[]> {
  const { sql, system, name } = context;
  if (busy.length >= PARALLEL) return [];
  const now = system.now();
  const due = await sql.all(
    `SELECT d.id, d.message_id, d.endpoint_id, d.attempt, e.failures ${SENDABLE}
     AND ${DUE} <= ? ORDER BY d.due, d.seq LIMIT ?`,
    [name, now, PARALLEL * 4],
  );
  const perEndpoint = new Map<string, number>();
  for (const endpoint of busy) perEndpoint.set(endpoint, (perEndpoint.get(endpoint) ?? 0) + 1);
  const taken: SqlRow[] = [];
  for (const row of due) {
    const endpoint = String(row["endpoint_id"]);
    const underWay = perEndpoint.get(endpoint) ?? 0;
    // After a row of failures one delivery goes ahead as a probe.
    const most = Number(row["failures"]) >= TRIP_FAILURES ? 1 : PARALLEL_PER_ENDPOINT;
    if (underWay >= most || taken.length + busy.length >= PARALLEL) continue;
    perEndpoint.set(endpoint, underWay + 1);
    taken.push(row);
  }
  const statements = taken.map((row) => ({
    sql: "UPDATE webhooks_deliveries SET attempt = attempt + 1, due = ? WHERE actor = ? AND id = ?",
    params: [now + LEASE_MS, name, row["id"] ?? ""],
  }));
  if (statements.length > 0) await clock.write(statements, now + LEASE_MS);
  return taken;
}

async function sendOne(sender: Sender, row: SqlRow): Promise<void> {
  const { context } = sender;
  const { system } = context;
  const number = Number(row["attempt"]) + 1;
  const [found] = await context.sql.all(
    `SELECT e.*, m.type, m.payload FROM webhooks_endpoints e JOIN webhooks_messages m ON m.actor = e.actor
     WHERE e.actor = ? AND e.id = ? AND m.id = ?`,
    [context.name, row["endpoint_id"] ?? "", row["message_id"] ?? ""],
  );
  // The endpoint was deleted in between; its deliveries are canceled.
  if (found === undefined) return;
  const message = {
    id: String(row["message_id"]),
    type: String(found["type"]),
    payload: String(found["payload"]),
  };
  const started = system.now();
  const result = await request(sender, found, message);
  const [byte = 128] = system.random(1);
  await sender.inTurn(() =>
    settle(sender, row, found, { number, started, result, jitter: byte / 256 }),
  );
}

interface Attempt {
  readonly number: number;
  /** Unix ms. */
  readonly started: number;
  readonly result: AttemptResult;
  /** In [0, 1). */
  readonly jitter: number;
}

/** Writes down what an attempt came to, for the delivery, its endpoint and the counters. */
async function settle(
  sender: Sender,
  delivery: SqlRow,
  endpoint: SqlRow,
  made: Attempt,
): Promise<void> {
  const { clock, context } = sender;
  const now = context.system.now();
  const { result } = made;
  const verdict = await verdictOn(context, made, delivery, endpoint);
  const id = String(delivery["id"]);
  const isDead = verdict.kind === "dead" || verdict.kind === "gone";
  const statements = [
    recordAttempt(context.name, id, made),
    finish(context.name, id, verdict, result, now),
    ...(await endpointAfter(context, sender.log, endpoint, verdict, now)),
    ...count(context.name, {
      attempts: 1,
      delivered: verdict.kind === "delivered" ? 1 : 0,
      failed: verdict.kind === "delivered" ? 0 : 1,
      dead: isDead ? 1 : 0,
      latency_ms: Math.max(0, Math.round(result.durationMs)),
    }),
  ];
  await clock.write(statements, verdict.kind === "retry" ? verdict.due : null);
}

async function verdictOn(
  context: ActorContext,
  made: Attempt,
  delivery: SqlRow,
  endpoint: SqlRow,
): Promise<Verdict> {
  const { name, sql, system } = context;
  const now = system.now();
  const verdict = judge(made.result, made.number, now, made.jitter);
  if (Number(endpoint["ordered"]) === 0) return verdict;
  // Counted from its own first attempt: what waited behind another has its time still before it.
  const [first] = await sql.all(
    "SELECT at FROM webhooks_attempts WHERE actor = ? AND delivery_id = ? ORDER BY attempt LIMIT 1",
    [name, delivery["id"] ?? ""],
  );
  const since = typeof first?.["at"] === "string" ? Date.parse(first["at"]) : made.started;
  return judgeInOrder(verdict, since, now);
}

async function request(
  sender: Sender,
  endpoint: SqlRow,
  message: OutboundMessage,
): Promise<AttemptResult> {
  const { context, egress } = sender;
  const url = String(endpoint["url"]);
  if (endpoint["format"] === "chat")
    return attempt(egress, context.system, url, [], chatBody(message));
  const secrets = await sender.secrets.open(endpoint);
  if (secrets.length === 0) {
    const error = "The endpoint's secret cannot be opened: rotate it";
    return {
      status: null,
      error,
      retryAfter: null,
      refused: true,
      body: "",
      headers: null,
      durationMs: 0,
    };
  }
  const headers = await signedHeaders(message, secrets, context.system.now());
  return attempt(egress, context.system, url, headers, message.payload);
}

function recordAttempt(
  actor: string,
  delivery: string,
  { number, result, started }: Attempt,
): Statement {
  return {
    sql: `INSERT INTO webhooks_attempts (actor, delivery_id, attempt, at, duration_ms, status, error, headers, body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (actor, delivery_id, attempt) DO NOTHING`,
    params: [
      actor,
      delivery,
      number,
      eventTime(started),
      Math.max(0, Math.round(result.durationMs)),
      result.status,
      result.error,
      result.headers,
      result.body,
    ],
  };
}

function finish(
  actor: string,
  id: string,
  verdict: Verdict,
  result: AttemptResult,
  now: number,
): Statement {
  const retry = verdict.kind === "retry";
  const status = retry ? "pending" : verdict.kind === "delivered" ? "delivered" : "dead";
  return {
    sql: `UPDATE webhooks_deliveries SET status = ?, due = ?, last_status = ?, last_error = ?, finished_at = ?
      WHERE actor = ? AND id = ? AND status = 'pending'`,
    params: [
      status,
      retry ? verdict.due : now,
      result.status,
      result.error,
      retry ? null : eventTime(now),
      actor,
      id,
    ],
  };
}
