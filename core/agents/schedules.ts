import type { ActorContext, Plain, SqlRow, Statement } from "../ports.ts";
import { ApiError } from "../http/api-error.ts";
import { sha256Hex } from "../crypto/digest.ts";
import type { Clock } from "../entity/clock.ts";
import { nextCron } from "./cron.ts";
import type { AnyAgent, Schedule, ScheduleFilter, When } from "./definition.ts";
import { checkTask, encodePayload, insertJob, type Queue } from "./queue.ts";

/** Schedules that one alarm turns into jobs. */
const BATCH = 100;

/** The schedules of an instance: rows that become jobs when they are due. */
export interface Schedules {
  add(when: When, task: string, payload: Plain): Promise<Schedule>;
  addInterval(seconds: number, task: string, payload: Plain): Promise<Schedule>;
  get(id: string): Promise<Schedule | null>;
  list(filter?: ScheduleFilter): Promise<Schedule[]>;
  cancel(id: string): Promise<boolean>;
  /** Queues what is due; the job and the schedule's next time are one transaction. */
  fireDue(): Promise<void>;
  /** Writes the definition's own schedules unless they are there. */
  ensureDefined(): Promise<void>;
}

const SELECT = "SELECT id, task, payload, due, kind FROM agents_schedules WHERE agent = ?";

interface Plan {
  readonly id: string;
  readonly kind: Schedule["kind"];
  /** Milliseconds or a cron expression. */
  readonly rule: string;
  readonly due: number;
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
  return {
    add: (when, task, payload) => put(deps, planOf(when, system.id(), system.now()), task, payload),
    async addInterval(seconds, task, payload) {
      const ms = positive(seconds) * 1000;
      // The id is the content, so that asking twice schedules once.
      const id = `every:${(await sha256Hex(JSON.stringify([task, ms, payload]))).slice(0, 32)}`;
      const plan: Plan = { id, kind: "interval", rule: String(ms), due: system.now() + ms };
      return put(deps, plan, task, payload);
    },
    async get(id) {
      const [row] = await sql.all(`${SELECT} AND id = ?`, [agent, id]);
      return row === undefined ? null : toSchedule(row);
    },
    async list({ kind, task } = {}) {
      const rows = await sql.all(`${SELECT} ORDER BY due, id`, [agent]);
      return rows
        .map(toSchedule)
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
    async fireDue() {
      const now = system.now();
      const rows = await sql.all(
        "SELECT id, task, payload, kind, rule FROM agents_schedules WHERE agent = ? AND due <= ? ORDER BY due LIMIT ?",
        [agent, now, BATCH],
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
          due: now,
          retry: null,
        };
        statements.push(insertJob(agent, job), moveOn(agent, row, now));
      }
      await clock.write(statements, now);
    },
    ensureDefined: () => ensureDefined(deps),
  };
}

async function put(
  deps: ScheduleDeps,
  plan: Plan,
  task: string,
  payload: Plain,
): Promise<Schedule> {
  checkTask(deps.definition, task);
  const insert = {
    sql: `INSERT INTO agents_schedules (agent, id, task, payload, due, kind, rule) VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (agent, id) DO NOTHING`,
    params: [deps.agent, plan.id, task, encodePayload(payload), plan.due, plan.kind, plan.rule],
  };
  await deps.clock.write([insert], plan.due);
  return { id: plan.id, kind: plan.kind, due: plan.due, task, payload };
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
        ? { id, kind: "interval", rule: String(rule * 1000), due: now + rule * 1000 }
        : { id, kind: "cron", rule, due: nextCron(rule, now) };
    await put(deps, plan, task, undefined);
  }
}

function planOf(when: When, id: string, now: number): Plan {
  if (typeof when === "string") {
    try {
      return { id, kind: "cron", rule: when, due: nextCron(when, now) };
    } catch (error) {
      throw new ApiError("invalid_request", {
        message: error instanceof Error ? error.message : "",
      });
    }
  }
  const due = typeof when === "number" ? now + positive(when) * 1000 : when.getTime();
  if (Number.isNaN(due))
    throw new ApiError("invalid_request", { message: "The date of the schedule is invalid" });
  return { id, kind: "once", rule: "", due };
}

function positive(seconds: number): number {
  if (Number.isFinite(seconds) && seconds > 0) return seconds;
  throw new ApiError("invalid_request", {
    message: `A schedule needs a positive number of seconds, got ${seconds}`,
  });
}

/** The next time counts from now: what was missed while nothing ran is run once, not many times. */
function moveOn(agent: string, row: SqlRow, now: number): Statement {
  const id = String(row["id"]);
  if (row["kind"] === "once") {
    return { sql: "DELETE FROM agents_schedules WHERE agent = ? AND id = ?", params: [agent, id] };
  }
  const rule = String(row["rule"]);
  const due = row["kind"] === "cron" ? nextCron(rule, now) : now + Number(rule);
  return {
    sql: "UPDATE agents_schedules SET due = ? WHERE agent = ? AND id = ?",
    params: [due, agent, id],
  };
}

function toSchedule(row: SqlRow): Schedule {
  const payload = row["payload"];
  return {
    id: String(row["id"]),
    task: String(row["task"]),
    payload: typeof payload === "string" ? (JSON.parse(payload) as Plain) : undefined,
    due: Number(row["due"]),
    kind: String(row["kind"]) as Schedule["kind"],
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
