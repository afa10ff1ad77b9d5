import type { ActorContext, Plain, SqlRow, Statement } from "../../ports.ts";
import {
  boundedInstant,
  checkNumber,
  clamp,
  LAST_INSTANT,
  LONGEST_SECONDS,
} from "../../http/fields/bounded-number.ts";
import { ApiError } from "../../http/api-error.ts";
import { sha256Hex } from "../../crypto/digest.ts";
import type { Clock } from "../../entity/clock.ts";
import { nextCron } from "./next-cron.ts";
import type { AnyAgent } from "../define/definition.ts";
import type { Schedule, ScheduleFilter, AgentScheduleOptions, When } from "../define/tasks.ts";
import { checkTask, encodePayload, insertJob, type Queue } from "../queue/queue.ts";

/** Schedules that one alarm turns into jobs. */
const BATCH = 100;

/** The schedules of an instance: rows that become jobs when they are due. */
export interface Schedules {
  /** Adds a schedule. `trace` is the `traceparent` of the caller; a one-time schedule runs in its trace. */
  add(when: When, task: string, payload: Plain, options?: AddOptions): Promise<Schedule>;
  addInterval(seconds: number, task: string, payload: Plain): Promise<Schedule>;
  get(id: string): Promise<Schedule | null>;
  list(filter?: ScheduleFilter): Promise<Schedule[]>;
  cancel(id: string): Promise<boolean>;
  /** Recomputes the times of day after the clock was set. */
  followClock(): Promise<void>;
  /** Queues the due tasks; the job and the schedule's next time are one transaction. */
  fireDue(): Promise<void>;
  /** Writes the definition's own schedules unless they are there. */
  ensureDefined(): Promise<void>;
}

/** Options of {@link Schedules.add}. */
export interface AddOptions extends AgentScheduleOptions {
  /** @default each run begins a trace */
  readonly trace?: string | null;
}

const SELECT = "SELECT id, task, payload, due, kind, rule FROM agents_schedules WHERE agent = ?";
/** The rule of a one-time schedule that is due some time after it was made. */
const DELAY = "delay";
/** Rows that are due some time after they were made, and so by the steady clock; others are due at a time of day. */
const ELAPSED = `(kind = 'interval' OR rule = '${DELAY}')`;
/** A change of the clock below this leaves times of day as they are, in ms. */
const JUMP_MS = 1000;

interface Plan {
  readonly id: string;
  readonly kind: Schedule["kind"];
  /** Milliseconds, a cron expression, `delay`, or nothing for a date. */
  readonly rule: string;
  readonly due: number;
  /** The trace that its run belongs to. @default each run begins one */
  readonly trace?: string | null;
}

interface ScheduleDeps {
  readonly context: ActorContext;
  readonly definition: AnyAgent;
  readonly agent: string;
  readonly clock: Clock;
  readonly queue: Pick<Queue, "nextPosition">;
}

/** The schedules of an instance. */
export function startSchedules(deps: ScheduleDeps): Schedules {
  const { context, agent, clock } = deps;
  const { sql, system } = context;
  const offset = (): number => context.steady() - system.now();
  let known = offset();
  return {
    async add(when, task, payload, { idempotent, trace = null } = {}) {
      const plan = planOf(when, context);
      const { kind, rule } = plan;
      const isOnce = kind === "once";
      // As with intervals, the id is the content; of what runs once not its time, which differs each time.
      const id =
        (idempotent ?? !isOnce)
          ? await contentId(isOnce ? rule || "date" : kind, [task, isOnce ? "" : rule, payload])
          : plan.id;
      return put(deps, isOnce ? { ...plan, id, trace } : { ...plan, id }, task, payload);
    },
    async addInterval(seconds, task, payload) {
      const ms = spanOf("seconds", seconds);
      // The id is the content, so that asking twice schedules once.
      const id = await contentId("every", [task, ms, payload]);
      const plan: Plan = { id, kind: "interval", rule: String(ms), due: context.steady() + ms };
      return put(deps, plan, task, payload);
    },
    async get(id) {
      const [row] = await sql.all(`${SELECT} AND id = ?`, [agent, id]);
      return row === undefined ? null : toSchedule(row, offset());
    },
    async list({ kind, task } = {}) {
      const rows = await sql.all(SELECT, [agent]);
      const ahead = offset();
      return rows
        .map((row) => toSchedule(row, ahead))
        .toSorted((a, b) => a.due - b.due)
        .filter((one) => (kind ?? one.kind) === one.kind && (task ?? one.task) === one.task);
    },
    async cancel(id) {
      const remove = {
        sql: "DELETE FROM agents_schedules WHERE agent = ? AND id = ?",
        params: [agent, id],
      };
      const [removed] = await clock.write([remove], null);
      return removed?.changes === 1;
    },
    fireDue: () => fireDue(deps),
    async followClock() {
      const before = known;
      known = offset();
      if (Math.abs(known - before) > JUMP_MS) await recomputeTimes(deps);
    },
    async ensureDefined() {
      await ensureDefined(deps);
      // The process that ran before may have had another clock.
      await recomputeTimes(deps);
    },
  };
}

async function contentId(prefix: string, content: readonly unknown[]): Promise<string> {
  return `${prefix}:${(await sha256Hex(JSON.stringify(content))).slice(0, 32)}`;
}

async function fireDue(deps: ScheduleDeps): Promise<void> {
  const { agent, clock, context } = deps;
  const { sql, system } = context;
  const steady = context.steady();
  const rows = await sql.all(
    `SELECT id, task, payload, due, kind, rule, trace FROM agents_schedules
          WHERE agent = ? AND due <= CASE WHEN ${ELAPSED} THEN CAST(? AS BIGINT) ELSE CAST(? AS BIGINT) END ORDER BY due LIMIT ?`,
    [agent, steady, system.now(), BATCH],
  );
  if (rows.length === 0) return;
  const statements: Statement[] = [];
  for (const row of rows) {
    const job = {
      // The schedule's id: while its last run is still queued, the next does not pile up behind it.
      id: `schedule:${String(row["id"])}`,
      task: String(row["task"]),
      payload: textOrNull(row["payload"]),
      position: await deps.queue.nextPosition(),
      due: steady,
      retry: null,
      trace: textOrNull(row["trace"]),
    };
    statements.push(insertJob(agent, job), moveOn(deps, row));
  }
  await clock.write(statements, steady);
}

async function put(
  deps: ScheduleDeps,
  plan: Plan,
  task: string,
  payload: Plain,
): Promise<Schedule> {
  checkTask(deps.definition, task);
  const insert = {
    sql: `INSERT INTO agents_schedules (agent, id, task, payload, due, kind, rule, trace) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (agent, id) DO NOTHING`,
    params: [
      deps.agent,
      plan.id,
      task,
      encodePayload(payload),
      plan.due,
      plan.kind,
      plan.rule,
      plan.trace ?? null,
    ],
  };
  const { steady, system } = deps.context;
  const ahead = steady() - system.now();
  const isElapsed = plan.kind === "interval" || plan.rule === DELAY;
  const [inserted] = await deps.clock.write([insert], isElapsed ? plan.due : plan.due + ahead);
  if (inserted?.changes !== 1) {
    const [known] = await deps.context.sql.all(`${SELECT} AND id = ?`, [deps.agent, plan.id]);
    if (known !== undefined) return toSchedule(known, ahead);
  }
  const due = isElapsed ? plan.due - ahead : plan.due;
  return { id: plan.id, kind: plan.kind, due, task, payload };
}

/**
 * Restores times of day that setting the clock back has moved away. A time that has just run is not run again: a time
 * that comes before half of the usual interval has passed is skipped.
 */
async function recomputeTimes({ agent, clock, context }: ScheduleDeps): Promise<void> {
  const { sql, steady, system } = context;
  const now = system.now();
  const rows = await sql.all(
    "SELECT id, rule, due, fired FROM agents_schedules WHERE agent = ? AND kind = 'cron' AND due > ?",
    [agent, now],
  );
  for (const row of rows) {
    const rule = String(row["rule"]);
    let next = nextCron(rule, now);
    const following = nextCron(rule, next);
    const fired = row["fired"] == null ? Number.NEGATIVE_INFINITY : Number(row["fired"]);
    if (steady() + next - now - fired < (following - next) / 2) next = following;
    if (next >= Number(row["due"])) continue;
    const update = "UPDATE agents_schedules SET due = ? WHERE agent = ? AND id = ?";
    await clock.write(
      [{ sql: update, params: [next, agent, String(row["id"])] }],
      steady() + next - now,
    );
  }
}

/** When the next schedule is due, by the steady clock; null without any. */
export async function nextSchedule(
  { sql, steady, system }: ActorContext,
  agent: string,
): Promise<number | null> {
  const [row] = await sql.all(
    `SELECT MIN(CASE WHEN ${ELAPSED} THEN due ELSE due + ? END) AS due FROM agents_schedules WHERE agent = ?`,
    [steady() - system.now(), agent],
  );
  return row?.["due"] == null ? null : Number(row["due"]);
}

/** A rule that a newer version of the class changed or dropped takes the old schedule with it. */
async function ensureDefined(deps: ScheduleDeps): Promise<void> {
  const { agent, clock, context, definition } = deps;
  const wanted = new Map(
    Object.entries(definition.schedules ?? {}).map(([task, rule]) => [
      `defined:${task}:${rule}`,
      { task, rule },
    ]),
  );
  const rows = await context.sql.all(
    "SELECT id FROM agents_schedules WHERE agent = ? AND id LIKE 'defined:%'",
    [agent],
  );
  const known = new Set(rows.map((row) => String(row["id"])));
  for (const id of known) {
    if (wanted.has(id)) continue;
    const sql = "DELETE FROM agents_schedules WHERE agent = ? AND id = ?";
    await clock.write([{ sql, params: [agent, id] }], null);
  }
  for (const [id, { task, rule }] of wanted) {
    if (known.has(id)) continue;
    const now = context.system.now();
    const plan: Plan =
      typeof rule === "number"
        ? {
            id,
            kind: "interval",
            rule: String(rule * 1000),
            due: context.steady() + rule * 1000,
          }
        : { id, kind: "cron", rule, due: nextCron(rule, now) };
    await put(deps, plan, task, undefined);
  }
}

function planOf(when: When, { steady, system }: ActorContext): Plan {
  const id = system.id();
  if (typeof when === "string") {
    try {
      return { id, kind: "cron", rule: when, due: nextCron(when, system.now()) };
    } catch (error) {
      throw new ApiError("invalid_request", {
        message: error instanceof Error ? error.message : "",
      });
    }
  }
  if (typeof when === "number") {
    return { id, kind: "once", rule: DELAY, due: steady() + spanOf("when", when) };
  }
  if (!(when instanceof Date)) throw noTime(when);
  const due = when.getTime();
  // Dates end at 275,760, and the text of one after 9999 sorts before all others.
  if (!(due >= 0 && due <= LAST_INSTANT)) throw noTime(Number.isNaN(due) ? "an invalid date" : due);
  return { id, kind: "once", rule: "", due };
}

/** From a tenth of a millisecond to a hundred years, as whole ms. */
function spanOf(field: string, seconds: unknown): number {
  const checked = checkNumber(field, seconds, { min: 0.0001, max: LONGEST_SECONDS });
  return Math.ceil(checked * 1000);
}

/** Anything may come from plain JavaScript, or from a client's arguments that were passed on. */
function noTime(when: unknown): ApiError {
  const shown = typeof when === "number" ? `${when} ms` : String(when);
  const message = `when: Expected seconds, a cron expression, or a date from 1970 to 9999, got ${shown}`;
  return new ApiError("invalid_request", { message });
}

/** The next time counts from the last one, so that nothing drifts. Runs that were missed are made up by one. */
function moveOn({ agent, context: { steady, system } }: ScheduleDeps, row: SqlRow): Statement {
  const id = String(row["id"]);
  if (row["kind"] === "once") {
    return { sql: "DELETE FROM agents_schedules WHERE agent = ? AND id = ?", params: [agent, id] };
  }
  const rule = String(row["rule"]);
  const due =
    row["kind"] === "cron"
      ? nextCron(rule, system.now())
      : nextInterval(Number(row["due"]), intervalOf(rule), steady());
  return {
    sql: "UPDATE agents_schedules SET due = ?, fired = ? WHERE agent = ? AND id = ?",
    params: [due, steady(), agent, id],
  };
}

/** The first time after now that is a whole number of intervals after the last one. */
function nextInterval(last: number, interval: number, now: number): number {
  return last + interval * Math.max(1, Math.floor((now - last) / interval) + 1);
}

/** The ms of an interval's rule. One of a version that took any number is read as the longest. */
function intervalOf(rule: string): number {
  return clamp(Number(rule), 1, LONGEST_SECONDS * 1000);
}

/** `ahead` is the difference of the steady clock to the wall clock. */
function toSchedule(row: SqlRow, ahead: number): Schedule {
  const { due, id, kind, payload, rule, task } = row;
  return {
    id: String(id),
    task: String(task),
    payload: typeof payload === "string" ? (JSON.parse(payload) as Plain) : undefined,
    due: boundedInstant(Number(due) - (kind === "interval" || rule === DELAY ? ahead : 0)),
    kind: String(kind) as Schedule["kind"],
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
