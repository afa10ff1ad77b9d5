import type { Clock } from "../../entity/clock.ts";
import { eventTime } from "../../entity/event.ts";
import type { ActorContext, Log, SqlRow, Statement } from "../../ports.ts";
import type { Turns } from "../pace/turns.ts";
import { count } from "./counters.ts";
import type { Topics } from "./topics.ts";
import { endpointAfter } from "./endpoint-health.ts";
import {
  dueOf,
  type RequestsInFlight,
  nextDue,
  startEndpointQueues,
  type EndpointQueue,
  type EndpointQueues,
} from "./endpoint-queues.ts";
import {
  judge,
  judgeInOrder,
  scheduleOf,
  type AttemptResult,
  type Verdict,
} from "./retry-policy.ts";
import { exhausted } from "./notices.ts";
import { type EndpointSender, requestEndpoint } from "./request-endpoint.ts";
import { resultOrLate } from "../../time/result-or-late.ts";
import { delayAfter } from "../../work/backoff.ts";
import { dueRows, isClaimed } from "../../work/due-rows.ts";

/** A claimed delivery whose process died is taken up again after this, in ms; longer than any attempt. */
const LEASE_MS = 60_000;
/** The queue of an account's deliveries, of which many are attempted at a time. */
const DELIVERIES = dueRows({
  table: "webhooks_deliveries",
  key: ["actor", "id"],
  attempts: "attempt",
  open: "status = 'pending'",
  leaseMs: LEASE_MS,
});

export interface Sender extends EndpointSender {
  readonly clock: Clock;
  readonly log: Log;
  readonly inTurn: Turns;
  readonly topics: Topics;
  /** The requests of all applications of this process. */
  readonly ofApplications: RequestsInFlight;
}

/** Longest time that one alarm goes on, in ms: some runtimes end an alarm that takes a quarter of an hour. */
const RUN_MS = 60_000;
/**
 * How long an alarm waits for answers when nothing else is to be sent, in ms. Alarms of all accounts and applications share a
 * few hundred places: silent endpoints of some would keep the deliveries of all others.
 */
const HOLD_MS = 1000;

/** Sends due deliveries, each endpoint's from a queue of its own. */
export interface Dispatcher {
  /** Announces more to send to these endpoints, or to any (null). */
  notify(endpoints: readonly string[] | null): void;
  /** Sends all due deliveries, and those that become due meanwhile. */
  run(): Promise<void>;
}

export function startDispatcher(sender: Sender): Dispatcher {
  const { system } = sender.context;
  const queues = startEndpointQueues(sender.context, sender.ofApplications);
  let running: Promise<void> = Promise.resolve();
  let isRunning = false;
  let wake = (): void => undefined;
  const notify = (endpoints: readonly string[] | null): void => {
    queues.markChanged(endpoints);
    wake();
  };

  function start(queue: EndpointQueue, row: SqlRow): void {
    queues.began(queue);
    // If the result cannot be stored, the lease runs out: the delivery is sent again a minute later.
    const work = sendOne(sender, queues, row)
      .catch((error: unknown) => {
        sender.log("error", "A webhook delivery failed", { error: String(error) });
        return false;
      })
      .then((isSuccess) => {
        queues.ended(queue, isSuccess);
        // A failure that disabled the endpoint sends a notice to other endpoints.
        notify(isSuccess ? [queue.endpoint] : null);
        // No run looks at the queue any more, so the deliveries that waited behind it set off the alarm.
        return isRunning ? undefined : goOn(sender);
      });
    system.waitUntil(work);
  }

  async function runOnce(): Promise<void> {
    const end = sender.context.steady() + RUN_MS;
    let heldUntil = sender.context.steady() + HOLD_MS;
    for (;;) {
      const news = new Promise<void>((resolve) => (wake = resolve));
      await queues.refresh();
      const now = sender.context.steady();
      const isOver = now > end || system.closing?.aborted === true;
      const plan = isOver ? new Map<EndpointQueue, number>() : queues.plan(now);
      if (plan.size > 0) {
        for (const [queue, row] of await claim(sender, plan, now)) start(queue, row);
        heldUntil = sender.context.steady() + HOLD_MS;
        queues.markChanged([...plan.keys()].map(({ endpoint }) => endpoint));
        // Requests get a turn in between; so do other accounts, one in each turn.
        await system.sleep(0);
        continue;
      }
      // Deliveries still in flight at the end go on beside the next alarm.
      if ((queues.inFlight() === 0 && !queues.isFull()) || now >= heldUntil) return;
      const until = Math.min(queues.wakeAt(now) ?? end, heldUntil);
      await resultOrLate(news, undefined, { ms: Math.max(1, until - now), system });
    }
  }

  return {
    notify,
    run() {
      notify(null);
      const next = running.then(() => {
        isRunning = true;
        return runOnce().finally(() => (isRunning = false));
      });
      running = next.catch(() => undefined);
      return next;
    },
  };
}

/** Has the alarm go off for what is due by now. */
async function goOn({ clock, context, log }: Sender): Promise<void> {
  try {
    const due = await nextDue(context);
    if (due !== null) await clock.write([], due);
  } catch (error) {
    log("error", "The alarm of webhook deliveries was not set", { error: String(error) });
  }
}

/** Takes due deliveries: the attempt is counted and leased before anything is sent. */
async function claim(
  { context, clock }: Sender,
  plan: ReadonlyMap<EndpointQueue, number>,
  now: number,
): Promise<[EndpointQueue, SqlRow][]> {
  const { name } = context;
  const found = await Promise.all(
    [...plan].map(async ([queue, wanted]) => {
      const rows = await dueOf(context, queue.endpoint, now, wanted);
      return rows.map((row): [EndpointQueue, SqlRow] => [queue, row]);
    }),
  );
  const taken = found.flat();
  if (taken.length === 0) return [];
  const statements = taken.map(([, row]) =>
    DELIVERIES.claim({ key: [name, row["id"] ?? ""], attempts: Number(row["attempt"]) }, now),
  );
  const results = await clock.write(statements, now + LEASE_MS, { lazy: true });
  // Without those that were canceled meanwhile.
  const claimed = taken.filter((_, index) => isClaimed(results[index]));
  for (const [queue] of claimed) if (queue.rate !== null) queue.tokens -= 1;
  return claimed;
}

/** Makes one attempt; resolves to whether it succeeded. */
async function sendOne(sender: Sender, queues: EndpointQueues, row: SqlRow): Promise<boolean> {
  const { context } = sender;
  const { system } = context;
  const number = Number(row["attempt"]) + 1;
  const [found] = await context.sql.all(
    `SELECT e.*, m.type, m.payload, m.trace, m.entity, m.is_notice FROM webhooks_endpoints e JOIN webhooks_messages m ON m.actor = e.actor
     WHERE e.actor = ? AND e.id = ? AND m.id = ?`,
    [context.name, row["endpoint_id"] ?? "", row["message_id"] ?? ""],
  );
  // The endpoint was deleted in between; its deliveries are canceled.
  if (found === undefined) return true;
  const message = {
    id: String(row["message_id"]),
    type: String(found["type"]),
    payload: String(found["payload"]),
  };
  const started = system.now();
  queues.hold(message.payload.length);
  const result = await requestEndpoint(sender, found, {
    delivery: String(row["id"]),
    message,
    number,
  }).finally(() => {
    queues.hold(-message.payload.length);
  });
  const made = { number, started, result };
  const verdict = await verdictOn(context, made, row, found);
  // A failure reads the endpoint's failures and writes them back; successes need not wait for each other's commit.
  if (verdict.kind === "delivered")
    await settle(sender, verdict, { delivery: row, endpoint: found, made });
  else await sender.inTurn(() => settle(sender, verdict, { delivery: row, endpoint: found, made }));
  return verdict.kind === "delivered";
}

interface Attempt {
  readonly number: number;
  /** Unix ms. */
  readonly started: number;
  readonly result: AttemptResult;
}

interface MadeDelivery {
  readonly delivery: SqlRow;
  readonly endpoint: SqlRow;
  readonly made: Attempt;
}

/** Stores the result of an attempt: for the delivery, its endpoint and the counters. */
async function settle(
  sender: Sender,
  verdict: Verdict,
  { delivery, endpoint, made }: MadeDelivery,
): Promise<void> {
  const { clock, context } = sender;
  const now = context.system.now();
  const { result } = made;
  const id = String(delivery["id"]);
  const isDelivered = verdict.kind === "delivered";
  const isDead = verdict.kind === "dead" || verdict.kind === "gone";
  const statements = [
    recordAttempt(context.name, id, made),
    finish(verdict, { actor: context.name, id, result, now }),
    ...(await endpointAfter(context, sender.log, endpoint, verdict)),
    ...(isDead
      ? await exhausted(context, endpoint, delivery, { attempts: made.number, result })
      : []),
    await sender.topics.count({
      type: String(endpoint["type"]),
      endpoint: String(endpoint["id"]),
      isDelivered,
      isDead,
      durationMs: result.durationMs,
    }),
    ...count(context.name, {
      attempts: 1,
      delivered: isDelivered ? 1 : 0,
      failed: isDelivered ? 0 : 1,
      dead: isDead ? 1 : 0,
      latency_ms: Math.max(0, Math.round(result.durationMs)),
    }),
  ];
  await clock.write(statements, verdict.kind === "retry" ? verdict.due : null);
}

/** Converts a date from `Retry-After`, which is one of the wall clock, to the steady clock of due times. */
function bySteadyClock(verdict: Verdict, { steady, system }: ActorContext): Verdict {
  if (verdict.kind !== "retry") return verdict;
  return { ...verdict, due: verdict.due + steady() - system.now() };
}

async function verdictOn(
  context: ActorContext,
  made: Attempt,
  delivery: SqlRow,
  endpoint: SqlRow,
): Promise<Verdict> {
  const { name, sql, system } = context;
  const now = system.now();
  const delay = delayAfter(scheduleOf(endpoint["retry_delays"]), made.number, system);
  const verdict = bySteadyClock(judge(made.result, delay, now), context);
  if (Number(endpoint["ordered"]) === 0) return verdict;
  // Counted from the delivery's own first attempt: one that waited behind another has its full time.
  const [first] = await sql.all(
    "SELECT at FROM webhooks_attempts WHERE actor = ? AND delivery_id = ? ORDER BY attempt LIMIT 1",
    [name, delivery["id"] ?? ""],
  );
  const since = typeof first?.["at"] === "string" ? Date.parse(first["at"]) : made.started;
  return judgeInOrder(verdict, since, now);
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

interface FinishedDelivery {
  readonly actor: string;
  readonly id: string;
  readonly result: AttemptResult;
  readonly now: number;
}

function finish(verdict: Verdict, { actor, id, result, now }: FinishedDelivery): Statement {
  const last = { last_status: result.status, last_error: result.error };
  if (verdict.kind === "retry") return DELIVERIES.again([actor, id], verdict.due, last);
  const status = verdict.kind === "delivered" ? "delivered" : "dead";
  return DELIVERIES.end([actor, id], { status, due: now, finished_at: eventTime(now), ...last });
}
