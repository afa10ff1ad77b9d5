import { boundedInstant, checkNumber, LONGEST_SECONDS } from "../../http/fields/bounded-number.ts";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type { ActorContext, Plain, SqlRow, Statement } from "../../ports.ts";
import type { Clock } from "../../entity/clock.ts";
import { checkRetry } from "./backoff.ts";
import { SEND_JOB } from "../define/built-in.ts";
import type { AnyAgent } from "../define/definition.ts";
import type { DeadLetter, QueuedTask, QueueOptions } from "../define/tasks.ts";
import { clampLimit } from "../events/events.ts";
import type { Reports } from "../events/reports.ts";

/** Longest payload of a job as JSON, in characters. */
const PAYLOAD_LIMIT = 1024 * 1024;
const LIST_LIMIT = 1000;
const ID_LIMIT = 256;

/** The tasks that the class queued itself: neither events nor webhooks that wait to be sent. */
const OWN_TASKS = `event_seq IS NULL AND task <> '${SEND_JOB}'`;

/** The tasks that an instance has queued, and the dead letters. Events are in the same table and left alone here. */
export interface Queue {
  /** Queues a task; resolves to its id after the commit. */
  add(task: string, payload: Plain, options?: QueueOptions, trace?: string | null): Promise<string>;
  /** The position of the next task: tasks that are due at one moment run in the order of their positions. */
  nextPosition(): Promise<number>;
  remove(id: string): Promise<boolean>;
  /** Removes the jobs of one task, or of all; resolves to their count. */
  removeAll(task?: string): Promise<number>;
  get(id: string): Promise<QueuedTask | null>;
  list(task?: string): Promise<QueuedTask[]>;
  /** Rows of the table, newest first. */
  deadRows(limit: number): Promise<SqlRow[]>;
  dead(limit?: number): Promise<DeadLetter[]>;
  /** Puts a dead letter back into the queue as a new job; resolves to null for an unknown id. */
  replay(id: string): Promise<string | null>;
}

export interface QueueDeps {
  readonly context: ActorContext;
  readonly definition: AnyAgent;
  readonly agent: string;
  readonly clock: Clock;
  readonly reports: Reports;
}

export function startQueue(deps: QueueDeps): Queue {
  const { agent, clock, reports } = deps;
  const { sql, system } = deps.context;
  const select = `SELECT id, task, payload, attempt, due, error FROM agents_jobs WHERE agent = ? AND ${OWN_TASKS}`;

  const deadRows = (limit: number): Promise<SqlRow[]> =>
    sql.all(
      `SELECT id, task, payload, event_seq, attempts, error, failed_at FROM agents_dead
       WHERE agent = ? ORDER BY failed_at DESC, id LIMIT ?`,
      [agent, limit],
    );
  async function remove(condition: string, ...params: string[]): Promise<number> {
    const from = `DELETE FROM agents_jobs WHERE agent = ? AND ${OWN_TASKS}`;
    const statement = { sql: `${from} ${condition}`, params: [agent, ...params] };
    const [removed] = await clock.write([statement], null);
    return removed?.changes ?? 0;
  }

  const nextPosition = startPositions(deps);

  return {
    add: (task, payload, options = {}, trace = null) =>
      add(deps, nextPosition, { task, payload, options, trace }),
    nextPosition,
    remove: async (id) => (await remove("AND id = ?", id)) === 1,
    removeAll: (task) => (task === undefined ? remove("") : remove("AND task = ?", task)),
    async get(id) {
      const [row] = await sql.all(`${select} AND id = ?`, [agent, id]);
      return row === undefined ? null : toTask(deps.context, row);
    },
    async list(task) {
      const only = task === undefined ? "" : "AND task = ?";
      const rows = await sql.all(`${select} ${only} ORDER BY due, position LIMIT ?`, [
        agent,
        ...(task === undefined ? [] : [task]),
        LIST_LIMIT,
      ]);
      return rows.map((row) => toTask(deps.context, row));
    },
    deadRows,
    dead: async (limit) => (await deadRows(clampLimit(limit))).map(toDeadLetter),
    async replay(id) {
      const fresh = system.id();
      const due = deps.context.steady();
      const statements = replayStatements(agent, { id, fresh, replay: fresh, due });
      const [inserted] = await reports.write(clock, [id], statements);
      return inserted?.changes === 1 ? fresh : null;
    },
  };
}

/** Puts a dead letter back into the queue: as the job `fresh`, in the place of its event. */
export function replayStatements(
  agent: string,
  one: {
    readonly id: string;
    readonly fresh: string;
    readonly replay: string;
    readonly due: number;
  },
): Statement[] {
  return [
    {
      sql: `INSERT INTO agents_jobs (agent, id, position, task, payload, event_seq, attempt, due, replay)
        SELECT agent, ?, COALESCE(event_seq, 0), task, payload, event_seq, 0, ?, ? FROM agents_dead
        WHERE agent = ? AND id = ?`,
      params: [one.fresh, one.due, one.replay, agent, one.id],
    },
    { sql: "DELETE FROM agents_dead WHERE agent = ? AND id = ?", params: [agent, one.id] },
  ];
}

/** Counts the positions of tasks. The stored position is read once, because only this instance queues its tasks. */
function startPositions({ agent, context }: QueueDeps): Queue["nextPosition"] {
  let stored: Promise<number> | undefined;
  let given = 0;
  async function load(): Promise<number> {
    const [row] = await context.sql.all(
      "SELECT MAX(position) AS last FROM agents_jobs WHERE agent = ? AND event_seq IS NULL",
      [agent],
    );
    return Number(row?.["last"] ?? 0);
  }
  return async () => {
    const mine = ++given;
    stored ??= load();
    return (await stored) + mine;
  };
}

async function add(
  { agent, clock, context, definition }: QueueDeps,
  nextPosition: Queue["nextPosition"],
  {
    task,
    payload,
    options,
    trace,
  }: {
    readonly task: string;
    readonly payload: Plain;
    readonly options: QueueOptions;
    readonly trace: string | null;
  },
): Promise<string> {
  checkTask(definition, task);
  const { id = context.system.id(), delaySeconds = 0, retry } = options;
  if (typeof id !== "string" || id === "" || id.length > ID_LIMIT) {
    throw invalidRequest(`id: expected 1 to ${ID_LIMIT} characters`);
  }
  const delay = checkNumber("delaySeconds", delaySeconds, { min: 0, max: LONGEST_SECONDS });
  const due = context.steady() + Math.ceil(delay * 1000);
  const job = {
    id,
    task,
    payload: encodePayload(payload),
    position: await nextPosition(),
    due,
    retry: retry === undefined ? null : JSON.stringify(checkRetry(retry)),
    trace,
  };
  await clock.write([insertJob(agent, job)], due);
  return id;
}

/** A task to be queued; payload and retry options are JSON. */
export interface NewJob {
  readonly id: string;
  readonly task: string;
  readonly payload: string | null;
  readonly position: number;
  readonly due: number;
  readonly retry: string | null;
  /** The `traceparent` of the run that queues the task. @default no tracing */
  readonly trace?: string | null;
}

/** The statement that queues a task. */
export function insertJob(agent: string, job: NewJob): Statement {
  return {
    sql: `INSERT INTO agents_jobs (agent, id, position, task, payload, attempt, due, retry, trace)
      VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?) ON CONFLICT (agent, id) DO NOTHING`,
    params: [
      agent,
      job.id,
      job.position,
      job.task,
      job.payload,
      job.due,
      job.retry,
      job.trace ?? null,
    ],
  };
}

/** JSON of a task's payload, or null. Throws 413. */
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
  throw invalidRequest(`The agent has no task "${task.slice(0, 64)}"`);
}

function toTask({ steady, system }: ActorContext, row: SqlRow): QueuedTask {
  return {
    id: String(row["id"]),
    task: String(row["task"]),
    payload: decoded(row["payload"]),
    attempt: Number(row["attempt"]),
    due: boundedInstant(Number(row["due"]) + system.now() - steady()),
    error: row["error"] == null ? null : String(row["error"]),
  };
}

function toDeadLetter(row: SqlRow): DeadLetter {
  return {
    id: String(row["id"]),
    task: String(row["task"]),
    payload: decoded(row["payload"]),
    seq: row["event_seq"] == null ? null : Number(row["event_seq"]),
    attempts: Number(row["attempts"]),
    error: String(row["error"]),
    failedAt: String(row["failed_at"]),
  };
}

function decoded(payload: unknown): Plain {
  return typeof payload === "string" ? (JSON.parse(payload) as Plain) : undefined;
}
