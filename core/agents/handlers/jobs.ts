import { ownMember } from "../../http/json.ts";
import type { EventCount, EventTally } from "../../entity/event-counts.ts";
import {
  EVENT_COLUMNS,
  EVENT_JOB,
  eventTime,
  type EventAnswer,
  type ProcessResult,
} from "../../entity/event.ts";
import type { SqlRow } from "../../ports.ts";
import type { RunHandler } from "./agent-api.ts";
import { eventAnswers, type EventAnswers } from "./event-answers.ts";
import { dueJobs, eventsUpTo } from "./due-jobs.ts";
import { jobDelay } from "../queue/backoff.ts";
import { JOBS } from "../queue/job-rows.ts";
import { startJobWrites, type JobWrites } from "./job-writes.ts";
import { SEND_JOB } from "../define/built-in.ts";
import type { Agent, AgentEvent } from "../define/agent.ts";
import { NonRetryableError, type RetryOptions, type Run } from "../define/tasks.ts";
import { holdSends, handToOutbound, type QueuedMessage } from "../queue/outbox.ts";
import type { QueueDeps } from "../queue/queue.ts";
import { workSpan, type WorkSpan } from "../../trace/traced-work.ts";
import type { AgentServices } from "../define/services.ts";

/** Longest stored error text. */
const ERROR_LIMIT = 1000;
/** Time for which one alarm begins further jobs, in ms; then other calls of the mailbox get their turn. */
const TURN_MS = 50;

/** Runs the queue of an instance in its mailbox, so that one job runs at a time. */
export interface Jobs {
  /** Runs due jobs, the earliest first and events in order. */
  runDue(): Promise<void>;
  /** Runs an event's job now, after those of earlier events; the handler's answer, or whether it has succeeded. */
  runEvent(id: string): Promise<ProcessResult>;
  /** The sender of an event no longer waits for its job: an answer that comes later is dropped. */
  giveUp(id: string): void;
}

interface JobDeps extends QueueDeps {
  readonly run: RunHandler;
  readonly services: AgentServices;
  readonly tally: EventTally;
}

type RunDeps = JobDeps & { readonly answers: EventAnswers; readonly writes: JobWrites };

/** The runner of an instance's queue. */
export function startJobs(parts: JobDeps): Jobs {
  const answers = eventAnswers();
  const writes = startJobWrites(parts);
  const deps: RunDeps = { ...parts, answers, writes };
  const { context, agent } = deps;
  const isStrict = deps.definition.ordering !== "none";

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
    await writes.flush();
  }

  return {
    async runDue() {
      const end = context.system.monotonic() + TURN_MS;
      do {
        const rows = await dueJobs(context, agent);
        if (rows.length === 0) return;
        await runAll(rows);
      } while (context.system.monotonic() < end);
    },
    giveUp: (id) => answers.giveUp(id),
    async runEvent(id) {
      const run = async (): Promise<void> => runAll(await eventsUpTo(context, agent, id));
      const answer = await answers.during(id, run);
      if (answer !== null) return answer;
      const left =
        "SELECT id FROM agents_jobs WHERE agent = ? AND id = ? UNION SELECT id FROM agents_dead WHERE agent = ? AND id = ?";
      return (await context.sql.all(left, [agent, id, agent, id])).length === 0;
    },
  };
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
async function runJob(deps: RunDeps, job: Job): Promise<boolean> {
  const { agent, definition, writes } = deps;
  const retry = { ...definition.retry, ...job.retry };
  const limit = retry.maxAttempts ?? 5;
  if (job.attempt >= limit) {
    await bury(deps, job, "It never finished: the process ended during every run");
    return true;
  }
  const attempt = job.attempt + 1;
  const key = [agent, job.id];
  // Removed meanwhile.
  if (!(await writes.claim({ key, attempts: job.attempt }))) return true;
  const span = spanOf(deps, job, attempt);
  let handled: Handled;
  try {
    const work = deps.run(
      "The handler",
      (api, { signal }) =>
        handle(deps, job, api, { attempt, job: job.id, isReplay: job.isReplay, signal }),
      { trace: span.traceparent, task: job.task },
    );
    handled = await span.of(work);
  } catch (error) {
    await note(deps, job, "failed");
    const text = (error instanceof Error ? error.message : String(error)).slice(0, ERROR_LIMIT);
    if (error instanceof NonRetryableError || attempt >= limit) {
      await bury(deps, { ...job, attempt }, text);
      await deps.run("onError", (api) => definition.onError?.(api, error, null));
      return true;
    }
    const due = deps.context.steady() + jobDelay(deps.context.system, retry, attempt);
    const failed = JOBS.again(key, due, {
      error: text,
      failed_at: eventTime(deps.context.system.now()),
      // A later run belongs to the trace of the first.
      ...(job.trace === null ? { trace: span.traceparent } : {}),
      // Without ordering the event goes behind all that have not run yet, whose positions are small.
      ...(job.eventSeq !== null && definition.ordering === "none" ? { position: due } : {}),
    });
    const held = job.task === SEND_JOB ? [holdSends(agent, job.id, due)] : [];
    await writes.report(job.id, [failed, ...held]);
    return false;
  }
  const { answer, provider } = handled;
  if (answer !== null) {
    // With the event, which its duplicates find, and for as long.
    const sql = "UPDATE agents_events SET answer = ? WHERE agent = ? AND seq = ?";
    await writes.store({ sql, params: [JSON.stringify(answer), agent, job.eventSeq] });
  }
  if (attempt === 1) writes.end(JOBS.end(key));
  else await writes.report(job.id, [JOBS.end(key)]);
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

/** The end of a job that succeeded. */
interface Handled {
  /** The event's, when the job was an event. */
  readonly provider: string | null;
  /** The handler's answer to the sender of an event, if that waits for one. */
  readonly answer: EventAnswer | null;
}

const NO_EVENT: Handled = { provider: null, answer: null };

async function handle(deps: RunDeps, job: Job, api: Agent, run: Run): Promise<Handled> {
  const { definition } = deps;
  if (job.task === EVENT_JOB && job.eventSeq !== null) {
    const event = await loadEvent(deps, job.eventSeq);
    if (event === null) return NO_EVENT;
    const returned = await definition.onEvent?.(api, event, run);
    // Within the handler's time: a body may be a stream that does not end.
    return { answer: await deps.answers.read(job.id, returned), provider: event.provider };
  }
  if (job.task === SEND_JOB) {
    await handToOutbound(deps, JSON.parse(job.payload ?? "{}") as QueuedMessage);
    return NO_EVENT;
  }
  const tasks = definition.tasks ?? {};
  const task = ownMember(tasks, job.task);
  // A task that a newer version of the class no longer has.
  if (task === undefined) throw new NonRetryableError(`The agent has no task "${job.task}"`);
  const payload = job.payload === null ? undefined : (JSON.parse(job.payload) as unknown);
  await task(api, payload as never, run);
  return NO_EVENT;
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

async function bury(deps: RunDeps, job: Job, error: string): Promise<void> {
  const { context, agent, writes } = deps;
  await writes.report(job.id, [
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
    JOBS.end([agent, job.id]),
  ]);
  await note(deps, job, "dead");
}
