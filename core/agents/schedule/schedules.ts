import type { ActorContext, Plain, SqlRow, Statement } from "../../ports.ts";
import { boundedInstant, clamp, LONGEST_SECONDS } from "../../http/fields/bounded-number.ts";
import { sha256Hex } from "../../crypto/digest.ts";
import type { Clock } from "../../entity/clock.ts";
import { nextCron } from "./next-cron.ts";
import {
  aheadOf,
  intervalPlan,
  planOf,
  ROUNDED_MS,
  spanOf,
  steadyTime,
  wallPlan,
  type Plan,
} from "./plan.ts";
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

const SELECT =
  "SELECT id, task, payload, due, wall, kind, rule FROM agents_schedules WHERE agent = ?";
interface ScheduleDeps {
  readonly context: ActorContext;
  readonly definition: AnyAgent;
  readonly agent: string;
  readonly clock: Clock;
  readonly queue: Pick<Queue, "nextPosition">;
}

export function startSchedules(deps: ScheduleDeps): Schedules {
  const { context, agent, clock } = deps;
  const { sql } = context;
  let aligned: number | undefined;
  /** Moves the rows whose time of day the steady clock no longer has where it had it. */
  async function align(): Promise<Statement[]> {
    const ahead = aheadOf(context);
    if (aligned !== undefined && Math.abs(ahead - aligned) <= ROUNDED_MS) return [];
    const moves = await movesOf(deps);
    aligned = ahead;
    return moves;
  }
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
      return put(deps, intervalPlan(id, ms, context), task, payload);
    },
    async get(id) {
      const [row] = await sql.all(`${SELECT} AND id = ?`, [agent, id]);
      return row === undefined ? null : toSchedule(row, aheadOf(context));
    },
    async list({ kind, task } = {}) {
      const rows = await sql.all(SELECT, [agent]);
      const ahead = aheadOf(context);
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
      const moves = await align();
      if (moves.length > 0) await clock.write(moves, null);
    },
    async ensureDefined() {
      await ensureDefined(deps);
      // The process that ran before may have had another clock, so its alarm may be at any time: one goes off now.
      const moves = await align();
      if (moves.length > 0) await clock.clear(moves, context.steady());
    },
  };
}

async function contentId(prefix: string, content: readonly unknown[]): Promise<string> {
  return `${prefix}:${(await sha256Hex(JSON.stringify(content))).slice(0, 32)}`;
}

async function fireDue(deps: ScheduleDeps): Promise<void> {
  const { agent, clock, context } = deps;
  const steady = context.steady();
  const rows = await context.sql.all(
    `SELECT id, task, payload, due, kind, rule, trace FROM agents_schedules
      WHERE agent = ? AND due <= ? ORDER BY due LIMIT ?`,
    [agent, steady, BATCH],
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
    sql: `INSERT INTO agents_schedules (agent, id, task, payload, due, wall, kind, rule, trace) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (agent, id) DO NOTHING`,
    params: [
      deps.agent,
      plan.id,
      task,
      encodePayload(payload),
      plan.due,
      plan.wall,
      plan.kind,
      plan.rule,
      plan.trace ?? null,
    ],
  };
  const ahead = aheadOf(deps.context);
  const [inserted] = await deps.clock.write([insert], plan.due);
  if (inserted?.changes !== 1) {
    const [known] = await deps.context.sql.all(`${SELECT} AND id = ?`, [deps.agent, plan.id]);
    if (known !== undefined) return toSchedule(known, ahead);
  }
  return { id: plan.id, kind: plan.kind, due: plan.wall ?? plan.due - ahead, task, payload };
}

/**
 * Finds the rows whose time of day comes at another moment now, because the clock was set. It also restores times that
 * setting the clock back has moved away. A time that has just run is not run again: a time that comes before half of the
 * usual interval has passed is skipped.
 */
async function movesOf({ agent, context }: ScheduleDeps): Promise<Statement[]> {
  const { sql, steady, system } = context;
  const now = system.now();
  const rows = await sql.all(
    "SELECT id, kind, rule, due, wall, fired FROM agents_schedules WHERE agent = ? AND wall IS NOT NULL",
    [agent],
  );
  return rows.flatMap((row): Statement[] => {
    const wall = wallAfter(row, now, steady());
    const due = steadyTime(wall, context);
    if (wall === Number(row["wall"]) && Math.abs(due - Number(row["due"])) <= ROUNDED_MS) return [];
    const move = "UPDATE agents_schedules SET due = ?, wall = ? WHERE agent = ? AND id = ?";
    return [{ sql: move, params: [due, wall, agent, String(row["id"])] }];
  });
}

function wallAfter(row: SqlRow, now: number, steady: number): number {
  const wall = Number(row["wall"]);
  if (row["kind"] !== "cron" || wall <= now) return wall;
  const rule = String(row["rule"]);
  let next = nextCron(rule, now);
  const following = nextCron(rule, next);
  const fired = row["fired"] == null ? Number.NEGATIVE_INFINITY : Number(row["fired"]);
  if (steady + next - now - fired < (following - next) / 2) next = following;
  return Math.min(next, wall);
}

/** When the next schedule is due, by the steady clock; null without any. */
export async function nextSchedule({ sql }: ActorContext, agent: string): Promise<number | null> {
  const [row] = await sql.all("SELECT MIN(due) AS due FROM agents_schedules WHERE agent = ?", [
    agent,
  ]);
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
    const plan =
      typeof rule === "number"
        ? intervalPlan(id, rule * 1000, context)
        : wallPlan({ id, kind: "cron", rule }, nextCron(rule, context.system.now()), context);
    await put(deps, plan, task, undefined);
  }
}

/** The next time counts from the last one, so that nothing drifts. Runs that were missed are made up by one. */
function moveOn({ agent, context }: ScheduleDeps, row: SqlRow): Statement {
  const id = String(row["id"]);
  if (row["kind"] === "once") {
    return { sql: "DELETE FROM agents_schedules WHERE agent = ? AND id = ?", params: [agent, id] };
  }
  const rule = String(row["rule"]);
  const steady = context.steady();
  const wall = row["kind"] === "cron" ? nextCron(rule, context.system.now()) : null;
  const due =
    wall === null
      ? nextInterval(Number(row["due"]), intervalOf(rule), steady)
      : steadyTime(wall, context);
  return {
    sql: "UPDATE agents_schedules SET due = ?, wall = ?, fired = ? WHERE agent = ? AND id = ?",
    params: [due, wall, steady, agent, id],
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
  const { due, id, kind, payload, task, wall } = row;
  return {
    id: String(id),
    task: String(task),
    payload: typeof payload === "string" ? (JSON.parse(payload) as Plain) : undefined,
    due: boundedInstant(wall == null ? Number(due) - ahead : Number(wall)),
    kind: String(kind) as Schedule["kind"],
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
