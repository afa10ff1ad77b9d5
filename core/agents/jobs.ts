import { EVENT_COLUMNS, EVENT_JOB, eventTime } from "../entity/event.ts";
import { ApiError } from "../http/api-error.ts";
import type { ActorContext, Plain, SqlRow, Statement } from "../ports.ts";
import type { Clock } from "../entity/clock.ts";
import {
  NonRetryableError,
  type Agent,
  type AgentEvent,
  type AnyAgent,
  type Run,
} from "./definition.ts";

/** Jobs of one alarm; then other calls of the mailbox get their turn. */
const BATCH = 32;
/** Longest stored error text. */
const ERROR_LIMIT = 1000;
/** Longest payload of a job as JSON, in characters. */
const PAYLOAD_LIMIT = 1024 * 1024;

/** The durable queue of an instance. All but `add` runs in the mailbox, so one job runs at a time. */
export interface Jobs {
  /** Queues a task; resolves to its id after the commit. */
  add(task: string, payload: Plain, due: number): Promise<string>;
  /** Runs what is due, first due first. */
  runDue(): Promise<void>;
  /** Runs an event's job now, after those of earlier events; whether its handler has succeeded. */
  runEvent(id: string): Promise<boolean>;
  dead(limit: number): Promise<SqlRow[]>;
  /** Puts a dead letter back into the queue as a new job; null when there is none of that id. */
  replay(id: string): Promise<string | null>;
}

/** What the queue of an instance works with. */
export interface JobDeps {
  readonly context: ActorContext;
  readonly definition: AnyAgent;
  readonly agent: string;
  readonly clock: Clock;
  readonly api: () => Agent;
}

/** The queue of an instance. */
export function startJobs(deps: JobDeps): Jobs {
  const { context, agent, clock } = deps;
  const { sql, system } = context;
  const select = "SELECT id, task, payload, event_seq, attempt FROM agents_jobs WHERE agent = ?";

  async function runAll(rows: readonly SqlRow[]): Promise<void> {
    for (const row of rows) await runJob(deps, toJob(row));
  }

  return {
    async add(task, payload, due) {
      checkTask(deps.definition, task);
      const id = system.id();
      await clock.write([insertJob(agent, id, task, encodePayload(payload), due)], due);
      return id;
    },
    async runDue() {
      const order = "AND due <= ? ORDER BY due, position LIMIT ?";
      await runAll(await sql.all(`${select} ${order}`, [agent, system.now(), BATCH]));
    },
    async runEvent(id) {
      const [mine] = await sql.all("SELECT position FROM agents_jobs WHERE agent = ? AND id = ?", [
        agent,
        id,
      ]);
      if (mine !== undefined) {
        const earlier =
          "AND event_seq IS NOT NULL AND attempt = 0 AND position <= ? ORDER BY position";
        await runAll(await sql.all(`${select} ${earlier}`, [agent, mine["position"] ?? 0]));
      }
      const left =
        "SELECT id FROM agents_jobs WHERE agent = ? AND id = ? UNION SELECT id FROM agents_dead WHERE agent = ? AND id = ?";
      return (await sql.all(left, [agent, id, agent, id])).length === 0;
    },
    dead: (limit) =>
      sql.all(
        `SELECT id, task, payload, event_seq, attempts, error, failed_at FROM agents_dead
         WHERE agent = ? ORDER BY failed_at DESC LIMIT ?`,
        [agent, limit],
      ),
    async replay(id) {
      const fresh = system.id();
      const now = system.now();
      const [inserted] = await clock.write(
        [
          {
            sql: `INSERT INTO agents_jobs (agent, id, position, task, payload, event_seq, attempt, due)
              SELECT agent, ?, COALESCE(event_seq, 0), task, payload, event_seq, 0, ? FROM agents_dead
              WHERE agent = ? AND id = ?`,
            params: [fresh, now, agent, id],
          },
          { sql: "DELETE FROM agents_dead WHERE agent = ? AND id = ?", params: [agent, id] },
        ],
        now,
      );
      return inserted?.changes === 1 ? fresh : null;
    },
  };
}

/** The statement that queues a task. Its position is its time, so tasks of one moment keep their order of due. */
export function insertJob(
  agent: string,
  id: string,
  task: string,
  payload: string | null,
  due: number,
): Statement {
  return {
    sql: `INSERT INTO agents_jobs (agent, id, position, task, payload, attempt, due)
      SELECT ?, ?, COALESCE(MAX(position), 0) + 1, ?, ?, 0, ? FROM agents_jobs WHERE agent = ?`,
    params: [agent, id, task, payload, due, agent],
  };
}

/** JSON of a task's payload, or null. Throws 400 and 413. */
export function encodePayload(payload: Plain): string | null {
  const text = JSON.stringify(payload);
  if (text === undefined) return null;
  if (text.length > PAYLOAD_LIMIT) {
    throw new ApiError("too_large", {
      message: `The payload is over ${PAYLOAD_LIMIT} characters of JSON`,
    });
  }
  return text;
}

/** Throws 400 unless the definition has a task of that name. */
export function checkTask(definition: AnyAgent, task: string): void {
  if (Object.hasOwn(definition.tasks ?? {}, task)) return;
  throw new ApiError("invalid_request", {
    message: `The agent has no task "${task.slice(0, 64)}"`,
  });
}

interface Job {
  readonly id: string;
  readonly task: string;
  readonly payload: string | null;
  readonly eventSeq: number | null;
  readonly attempt: number;
}

function toJob(row: SqlRow): Job {
  return {
    id: String(row["id"]),
    task: String(row["task"]),
    payload: row["payload"] == null ? null : String(row["payload"]),
    eventSeq: row["event_seq"] == null ? null : Number(row["event_seq"]),
    attempt: Number(row["attempt"]),
  };
}

async function runJob(deps: JobDeps, job: Job): Promise<void> {
  const { agent, clock, definition } = deps;
  const limit = definition.retry?.maxAttempts ?? 5;
  // Counted before the run: a job that takes the process down with it does not run for ever.
  if (job.attempt >= limit)
    return bury(deps, job, "It never finished: the process ended during every run");
  const attempt = job.attempt + 1;
  const where = "WHERE agent = ? AND id = ?";
  await clock.write(
    [{ sql: `UPDATE agents_jobs SET attempt = ? ${where}`, params: [attempt, agent, job.id] }],
    null,
  );
  try {
    await withTimeout(deps, (signal) => handle(deps, job, { attempt, job: job.id, signal }));
  } catch (error) {
    const text = (error instanceof Error ? error.message : String(error)).slice(0, ERROR_LIMIT);
    if (error instanceof NonRetryableError || attempt >= limit) {
      return bury(deps, { ...job, attempt }, text);
    }
    const due = deps.context.system.now() + backoff(deps, attempt);
    const sql = `UPDATE agents_jobs SET due = ?, error = ? ${where}`;
    await clock.write([{ sql, params: [due, text, agent, job.id] }], due);
    return;
  }
  await clock.write([{ sql: `DELETE FROM agents_jobs ${where}`, params: [agent, job.id] }], null);
}

async function handle(deps: JobDeps, job: Job, run: Run): Promise<void> {
  const { definition } = deps;
  if (job.task === EVENT_JOB && job.eventSeq !== null) {
    const event = await loadEvent(deps, job.eventSeq);
    if (event !== null) await definition.onEvent?.(deps.api(), event, run);
    return;
  }
  const tasks = definition.tasks ?? {};
  const task = Object.hasOwn(tasks, job.task) ? tasks[job.task] : undefined;
  // A task that a newer version of the class no longer has.
  if (task === undefined) throw new NonRetryableError(`The agent has no task "${job.task}"`);
  const payload = job.payload === null ? undefined : (JSON.parse(job.payload) as unknown);
  await task(deps.api(), payload as never, run);
}

async function loadEvent({ context, agent }: JobDeps, seq: number): Promise<AgentEvent | null> {
  const [row] = await context.sql.all(
    `SELECT provider, ${EVENT_COLUMNS.join(", ")} FROM agents_events WHERE agent = ? AND seq = ?`,
    [agent, seq],
  );
  if (row === undefined) return null;
  const payload =
    typeof row["payload"] === "string" ? (JSON.parse(row["payload"]) as unknown) : null;
  return { ...(row as Omit<AgentEvent, "payload" | "seq">), payload, seq };
}

async function withTimeout(
  { context, definition }: JobDeps,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const ms = definition.timeoutMs ?? 30_000;
  const over = new AbortController();
  const done = new AbortController();
  const expiry = context.system.sleep(ms, done.signal).then(() => {
    const error = new ApiError("request_timeout", {
      message: `The handler took more than ${ms} ms`,
    });
    over.abort(error);
    throw error;
  });
  try {
    await Promise.race([work(over.signal), expiry]);
  } finally {
    done.abort();
    // The race is over: whichever lost may still reject.
    expiry.catch(() => undefined);
  }
}

/** Exponential with full jitter, so that the retries of a burst do not come back as one. */
function backoff({ context, definition }: JobDeps, attempt: number): number {
  const { baseMs = 1000, maxMs = 300_000 } = definition.retry ?? {};
  const longest = Math.min(maxMs, baseMs * 2 ** (attempt - 1));
  const [byte = 255] = context.system.random(1);
  return Math.ceil((longest * (byte + 1)) / 256);
}

async function bury({ context, agent, clock }: JobDeps, job: Job, error: string): Promise<void> {
  await clock.write(
    [
      {
        sql: `INSERT INTO agents_dead (agent, id, task, payload, event_seq, attempts, error, failed_at)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (agent, id) DO NOTHING`,
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
    null,
  );
}
