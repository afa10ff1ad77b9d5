import type { EventCount, EventTally } from "../../entity/event-counts.ts";
import { EVENT_COLUMNS, EVENT_JOB, eventTime } from "../../entity/event.ts";
import type { ActorContext, Plain, SqlRow } from "../../ports.ts";
import type { RunHandler } from "./agent-api.ts";
import { backoff } from "../queue/backoff.ts";
import { SEND_JOB } from "../define/built-in.ts";
import type { Agent, AgentEvent } from "../define/agent.ts";
import { NonRetryableError, type RetryOptions, type Run } from "../define/tasks.ts";
import { holdSends, handToOutbound } from "../queue/outbox.ts";
import type { QueueDeps } from "../queue/queue.ts";
import { workSpan, type WorkSpan } from "../../trace/traced-work.ts";
import type { AgentServices } from "../define/services.ts";

/** Jobs of one alarm; then other calls of the mailbox get their turn. */
const BATCH = 32;
/** Longest stored error text. */
const ERROR_LIMIT = 1000;

/** Runs the queue of an instance in its mailbox, so that one job runs at a time. */
export interface Jobs {
  /** Runs due jobs, the earliest first and events in order. */
  runDue(): Promise<void>;
  /** Runs an event's job now, after those of earlier events; whether its handler has succeeded. */
  runEvent(id: string): Promise<boolean>;
}

export interface JobDeps extends QueueDeps {
  readonly run: RunHandler;
  readonly services: AgentServices;
  readonly tally: EventTally;
}

/** The runner of an instance's queue. */
export function startJobs(deps: JobDeps): Jobs {
  const { context, agent } = deps;
  const { sql } = context;
  const columns =
    "SELECT id, task, payload, event_seq, attempt, due, retry, replay, trace FROM agents_jobs";
  const select = `${columns} WHERE agent = ? AND event_seq IS`;
  const isStrict = deps.definition.ordering !== "none";

  /** Events as long as they are due, in order, and tasks; those that are due first come first. */
  async function due(): Promise<SqlRow[]> {
    const now = context.steady();
    const events = await sql.all(`${select} NOT NULL ORDER BY position LIMIT ?`, [agent, BATCH]);
    const tasks = await sql.all(`${select} NULL AND due <= ? ORDER BY due, position LIMIT ?`, [
      agent,
      now,
      BATCH,
    ]);
    const waits = events.findIndex((row) => Number(row["due"]) > now);
    const ready = waits === -1 ? events : events.slice(0, waits);
    let latest = 0;
    const timed = [...ready, ...tasks].map((row) => {
      // An event is never before an earlier one, whose due time may be later.
      latest = row["event_seq"] == null ? latest : Math.max(latest, Number(row["due"]));
      return { row, at: row["event_seq"] == null ? Number(row["due"]) : latest };
    });
    return timed
      .toSorted((a, b) => a.at - b.at)
      .slice(0, BATCH)
      .map(({ row }) => row);
  }

  async function runAll(rows: readonly SqlRow[]): Promise<void> {
    let isHeld = false;
    let areSendsHeld = false;
    for (const row of rows) {
      const job = toJob(row);
      const isSend = job.task === SEND_JOB;
      if ((isHeld && job.eventSeq !== null) || (areSendsHeld && isSend)) continue;
      const isSettled = await runJob(deps, job);
      if (isStrict && job.eventSeq !== null) isHeld = !isSettled;
      if (isSend) areSendsHeld = !isSettled;
    }
  }

  return {
    runDue: async () => runAll(await due()),
    async runEvent(id) {
      const [mine] = await sql.all("SELECT position FROM agents_jobs WHERE agent = ? AND id = ?", [
        agent,
        id,
      ]);
      if (mine !== undefined) {
        const earlier = await sql.all(
          `${select} NOT NULL AND position <= ? ORDER BY position LIMIT ?`,
          [agent, mine["position"] ?? 0, BATCH],
        );
        const waits = earlier.findIndex((row) => isWaiting(row, context.steady()));
        await runAll(waits === -1 ? earlier : earlier.slice(0, waits));
      }
      const left =
        "SELECT id FROM agents_jobs WHERE agent = ? AND id = ? UNION SELECT id FROM agents_dead WHERE agent = ? AND id = ?";
      return (await sql.all(left, [agent, id, agent, id])).length === 0;
    },
  };
}

/** Whether an event has failed and waits for its next run. */
function isWaiting(row: SqlRow, now: number): boolean {
  return Number(row["attempt"]) > 0 && Number(row["due"]) > now;
}

/** When the next job is due, by the steady clock: a task, or the event that all others wait for. */
export async function nextJob({ sql }: ActorContext, agent: string): Promise<number | null> {
  const [row] = await sql.all(
    `SELECT (SELECT MIN(due) FROM agents_jobs WHERE agent = ? AND event_seq IS NULL) AS task,
      (SELECT due FROM agents_jobs WHERE agent = ? AND event_seq IS NOT NULL
        ORDER BY position LIMIT 1) AS event`,
    [agent, agent],
  );
  const times = [row?.["task"], row?.["event"]].filter((due) => due != null).map(Number);
  return times.length === 0 ? null : Math.min(...times);
}

interface Job {
  readonly id: string;
  readonly task: string;
  readonly payload: string | null;
  readonly eventSeq: number | null;
  readonly attempt: number;
  readonly retry: RetryOptions | null;
  readonly isReplay: boolean;
  readonly trace: string | null;
}

function toJob(row: SqlRow): Job {
  return {
    id: String(row["id"]),
    task: String(row["task"]),
    payload: row["payload"] == null ? null : String(row["payload"]),
    eventSeq: row["event_seq"] == null ? null : Number(row["event_seq"]),
    attempt: Number(row["attempt"]),
    isReplay: row["replay"] != null,
    trace: row["trace"] == null ? null : String(row["trace"]),
    retry: typeof row["retry"] === "string" ? (JSON.parse(row["retry"]) as RetryOptions) : null,
  };
}

/** Runs a job; resolves to whether it is over, done or dead. */
async function runJob(deps: JobDeps, job: Job): Promise<boolean> {
  const { agent, clock, definition, reports } = deps;
  const retry = { ...definition.retry, ...job.retry };
  const limit = retry.maxAttempts ?? 5;
  // Counted before the run: a job that takes the process down with it does not run for ever.
  if (job.attempt >= limit) {
    await bury(deps, job, "It never finished: the process ended during every run");
    return true;
  }
  const attempt = job.attempt + 1;
  const where = "WHERE agent = ? AND id = ?";
  await clock.write(
    [{ sql: `UPDATE agents_jobs SET attempt = ? ${where}`, params: [attempt, agent, job.id] }],
    null,
  );
  const span = spanOf(deps, job, attempt);
  let provider: string | null;
  try {
    const work = deps.run(
      "The handler",
      (api, { signal }) =>
        handle(deps, job, api, { attempt, job: job.id, isReplay: job.isReplay, signal }),
      { trace: span.traceparent, task: job.task },
    );
    provider = await span.of(work);
  } catch (error) {
    await note(deps, job, "failed");
    const text = (error instanceof Error ? error.message : String(error)).slice(0, ERROR_LIMIT);
    if (error instanceof NonRetryableError || attempt >= limit) {
      await bury(deps, { ...job, attempt }, text);
      await deps.run("onError", (api) => definition.onError?.(api, error, null));
      return true;
    }
    const due = deps.context.steady() + backoff(deps.context.system, retry, attempt);
    // Without ordering the event goes behind all that have not run yet, whose positions are small.
    const isMoved = job.eventSeq !== null && definition.ordering === "none";
    const sql = `UPDATE agents_jobs SET due = ?, error = ?, failed_at = ?, trace = COALESCE(trace, ?), position = ${isMoved ? "?" : "position"} ${where}`;
    const failedAt = eventTime(deps.context.system.now());
    const { traceparent } = span;
    const params = [due, text, failedAt, traceparent, ...(isMoved ? [due] : []), agent, job.id];
    const held = job.task === SEND_JOB ? [holdSends(agent, job.id, due)] : [];
    await reports.write(clock, [job.id], [{ sql, params }, ...held]);
    return false;
  }
  const done = { sql: `DELETE FROM agents_jobs ${where}`, params: [agent, job.id] };
  await (attempt === 1 ? clock.write([done], null) : reports.write(clock, [job.id], [done]));
  if (provider !== null) deps.tally.add(provider, "handled");
  return true;
}

/** The span of a run; messages to the outbound webhooks have their spans there. */
function spanOf(
  { agent, services }: JobDeps,
  { task, trace, eventSeq }: Job,
  attempt: number,
): WorkSpan {
  const tracer = task === SEND_JOB ? undefined : services.tracer;
  return workSpan(tracer, trace, () => ({
    name: eventSeq === null ? `task ${task}` : "event",
    attributes: {
      "causey.part": "agents",
      "causey.agent": agent,
      "causey.attempt": attempt,
    },
  }));
}

/** Counts the outcome of an event's job; other tasks are not counted. */
async function note({ agent, context, tally }: JobDeps, job: Job, name: EventCount): Promise<void> {
  if (job.eventSeq === null) return;
  const [row] = await context.sql.all(
    "SELECT provider FROM agents_events WHERE agent = ? AND seq = ?",
    [agent, job.eventSeq],
  );
  if (row !== undefined) tally.add(String(row["provider"]), name);
}

/** Resolves to the event's provider, when the job was an event. */
async function handle(deps: JobDeps, job: Job, api: Agent, run: Run): Promise<string | null> {
  const { definition } = deps;
  if (job.task === EVENT_JOB && job.eventSeq !== null) {
    const event = await loadEvent(deps, job.eventSeq);
    if (event !== null) await definition.onEvent?.(api, event, run);
    return event?.provider ?? null;
  }
  if (job.task === SEND_JOB) {
    await handToOutbound(deps, JSON.parse(job.payload ?? "null") as Plain);
    return null;
  }
  const tasks = definition.tasks ?? {};
  const task = Object.hasOwn(tasks, job.task) ? tasks[job.task] : undefined;
  // A task that a newer version of the class no longer has.
  if (task === undefined) throw new NonRetryableError(`The agent has no task "${job.task}"`);
  const payload = job.payload === null ? undefined : (JSON.parse(job.payload) as unknown);
  await task(api, payload as never, run);
  return null;
}

async function loadEvent({ context, agent }: JobDeps, seq: number): Promise<AgentEvent | null> {
  const [row] = await context.sql.all(
    `SELECT provider, ${EVENT_COLUMNS.join(", ")} FROM agents_events WHERE agent = ? AND seq = ?`,
    [agent, seq],
  );
  if (row === undefined) return null;
  const text = typeof row["payload"] === "string" ? row["payload"] : null;
  const payload = text === null ? null : (JSON.parse(text) as unknown);
  return { ...(row as Omit<AgentEvent, "payload" | "text" | "seq">), payload, text, seq };
}

async function bury(deps: JobDeps, job: Job, error: string): Promise<void> {
  const { context, agent, clock, reports } = deps;
  await reports.write(
    clock,
    [job.id],
    [
      {
        sql: `INSERT INTO agents_dead (agent, id, task, payload, event_seq, attempts, error, failed_at)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?)
          ON CONFLICT (agent, id) DO UPDATE SET payload = excluded.payload, attempts = excluded.attempts,
            error = excluded.error, failed_at = excluded.failed_at`,
        params: [
          agent,
          job.id,
          job.task,
          job.payload,
          job.eventSeq,
          job.attempt,
          error,
          eventTime(context.system.now()),
        ],
      },
      { sql: "DELETE FROM agents_jobs WHERE agent = ? AND id = ?", params: [agent, job.id] },
    ],
  );
  await note(deps, job, "dead");
}
