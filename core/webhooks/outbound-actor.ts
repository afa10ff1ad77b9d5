import { startClock, type Clock } from "../entity/clock.ts";
import { eventTime } from "../entity/event.ts";
import type { Actor, ActorContext, ActorKind, SqlRow, Statement, Transport } from "../ports.ts";
import { deliveries, type DeliveryQuery, type SendInput } from "./outbound-deliveries.ts";
import { endpoints } from "./outbound-endpoints.ts";
import { isHopeless, judge, type AttemptResult, type Verdict } from "./outbound-policy.ts";
import { attempt, chatBody, signedHeaders, type OutboundMessage } from "./outbound-request.ts";
import { endpointSecrets, type EndpointSecrets } from "./outbound-secrets.ts";
import {
  OUTBOUND_KIND,
  outboundSchema,
  type EndpointInput,
  type EndpointPatch,
} from "./outbound-schema.ts";

/** Requests of one account under way at a time. */
const PARALLEL = 16;
/** Requests to one endpoint under way at a time: a slow one leaves room for the others. */
const PARALLEL_PER_ENDPOINT = 4;
/** A claimed delivery whose process died is taken up again after this, in ms; longer than any attempt. */
const LEASE_MS = 60_000;

/** What the outbound side needs beside its actor's context. */
export interface OutboundDeps {
  /** Requests go to addresses that a caller chose: never anything but the guarded transport. */
  readonly egress: Transport;
  readonly masterSecret: string | undefined;
}

/**
 * The kind of actor that sends the webhooks of an account. All methods are interleaved and touch only SQL, so
 * the alarm may hold the mailbox while it waits for the network: it is the one place where that is right,
 * because the platform runs an alarm again when a crash cut it off.
 */
export function outboundKind(deps: OutboundDeps): ActorKind {
  return {
    name: OUTBOUND_KIND,
    schema: outboundSchema,
    interleaved:
      "createEndpoint listEndpoints getEndpoint updateEndpoint deleteEndpoint rotateSecret send listDeliveries getDelivery replay replayDead".split(
        " ",
      ),
    start: (context) => startOutbound(context, deps),
  };
}

interface Sender {
  readonly context: ActorContext;
  readonly egress: Transport;
  readonly clock: Clock;
  readonly secrets: EndpointSecrets;
}

async function startOutbound(context: ActorContext, deps: OutboundDeps): Promise<Actor> {
  const clock = await startClock(context, () => nextDue(context));
  const secrets = endpointSecrets(context, deps.masterSecret);
  const own = endpoints(context, secrets, clock);
  let wake = (): void => undefined;
  const queue = deliveries(context, clock, () => {
    wake();
  });
  const sender: Sender = { context, clock, egress: deps.egress, secrets };
  return {
    methods: {
      createEndpoint: (input: EndpointInput) => own.create(input),
      listEndpoints: () => own.list(),
      getEndpoint: (id: string) => own.get(id),
      updateEndpoint: (id: string, patch: EndpointPatch) => own.update(id, patch),
      deleteEndpoint: (id: string) => own.remove(id),
      rotateSecret: (id: string) => own.rotate(id),
      send: (input: SendInput) => queue.send(input),
      listDeliveries: (query: DeliveryQuery) => queue.list(query),
      getDelivery: (id: string) => queue.get(id),
      replay: (id: string) => queue.replay(id),
      replayDead: (endpoint?: string) => queue.replayDead(endpoint),
    },
    onAlarm: () =>
      clock.onAlarm(() =>
        sendDue(
          sender,
          () =>
            new Promise<void>((resolve) => {
              wake = resolve;
            }),
        ),
      ),
  };
}

/** Sends all that is due, and what becomes due meanwhile; a slow endpoint holds up only its own. */
async function sendDue(sender: Sender, news: () => Promise<void>): Promise<void> {
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
    `SELECT d.id, d.message_id, d.endpoint_id, d.attempt FROM webhooks_deliveries d
     JOIN webhooks_endpoints e ON e.actor = d.actor AND e.id = d.endpoint_id
     WHERE d.actor = ? AND d.status = 'pending' AND d.due <= ? AND e.enabled = 1
     ORDER BY d.due, d.created_at, d.id LIMIT ?`,
    [name, now, PARALLEL * 4],
  );
  const perEndpoint = new Map<string, number>();
  for (const endpoint of busy) perEndpoint.set(endpoint, (perEndpoint.get(endpoint) ?? 0) + 1);
  const taken: SqlRow[] = [];
  for (const row of due) {
    const endpoint = String(row["endpoint_id"]);
    const count = perEndpoint.get(endpoint) ?? 0;
    if (count >= PARALLEL_PER_ENDPOINT || taken.length + busy.length >= PARALLEL) continue;
    perEndpoint.set(endpoint, count + 1);
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
  const { context, clock } = sender;
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
  const verdict = judge(result, number, system.now(), byte / 256);
  const statements = [
    recordAttempt(context.name, String(row["id"]), number, started, result),
    finish(context.name, String(row["id"]), verdict, result, system.now()),
    ...markEndpoint(context.name, found, verdict, system.now()),
  ];
  await clock.write(statements, verdict.kind === "retry" ? verdict.due : null);
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
    return { status: null, error, retryAfter: null, refused: true, body: "", durationMs: 0 };
  }
  const headers = await signedHeaders(message, secrets, context.system.now());
  return attempt(egress, context.system, url, headers, message.payload);
}

function recordAttempt(
  actor: string,
  delivery: string,
  number: number,
  started: number,
  result: AttemptResult,
): Statement {
  return {
    sql: `INSERT INTO webhooks_attempts (actor, delivery_id, attempt, at, duration_ms, status, error, body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (actor, delivery_id, attempt) DO NOTHING`,
    params: [
      actor,
      delivery,
      number,
      eventTime(started),
      Math.max(0, Math.round(result.durationMs)),
      result.status,
      result.error,
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

/** Counts an endpoint's failures and switches it off when it is gone or has failed for days. */
function markEndpoint(actor: string, endpoint: SqlRow, verdict: Verdict, now: number): Statement[] {
  const id = String(endpoint["id"]);
  if (verdict.kind === "delivered") {
    if (endpoint["failing_since"] == null) return [];
    const sql =
      "UPDATE webhooks_endpoints SET failing_since = NULL, failures = 0 WHERE actor = ? AND id = ?";
    return [{ sql, params: [actor, id] }];
  }
  const since = endpoint["failing_since"] == null ? now : Number(endpoint["failing_since"]);
  const failures = Number(endpoint["failures"]) + 1;
  const count: Statement = {
    sql: `UPDATE webhooks_endpoints SET failing_since = COALESCE(failing_since, ?), failures = failures + 1
      WHERE actor = ? AND id = ?`,
    params: [now, actor, id],
  };
  const reason =
    verdict.kind === "gone"
      ? "The endpoint answered 410 Gone"
      : isHopeless(since, failures, now)
        ? "Every attempt failed for five days"
        : null;
  if (reason === null) return [count];
  const sql =
    "UPDATE webhooks_endpoints SET enabled = 0, disabled_reason = ? WHERE actor = ? AND id = ?";
  return [count, { sql, params: [reason, actor, id] }];
}

async function nextDue({ sql, name }: ActorContext): Promise<number | null> {
  const [row] = await sql.all(
    `SELECT MIN(d.due) AS due FROM webhooks_deliveries d
     JOIN webhooks_endpoints e ON e.actor = d.actor AND e.id = d.endpoint_id
     WHERE d.actor = ? AND d.status = 'pending' AND e.enabled = 1`,
    [name],
  );
  return row?.["due"] == null ? null : Number(row["due"]);
}
