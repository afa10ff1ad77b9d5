import type { Clock } from "../../entity/clock.ts";
import { type Failure, type IndexReport, webhookIndex } from "../../entity/webhook-index.ts";
import { eventTime } from "../../entity/event.ts";
import type { ActorContext, SqlRow, Statement, StatementResult } from "../../ports.ts";
import { LAST_SEQ } from "./events.ts";
import type { AgentServices } from "../define/services.ts";

/** Jobs of one report: SQLite on Workers binds at most 100 values to a statement. */
const BATCH = 50;
/** Reports of one alarm; then others get their turn. */
const ROUNDS = 20;
/** Wait after a report that was not accepted, in ms. */
const RETRY_MS = 5000;
/** Interval at which an entity with events reports itself again, in ms. */
const RENEW_MS = 3_600_000;
/** Stands for the entity itself where other reports have a job's id: those are never empty. */
export const ITSELF = "";

/**
 * The reports of an instance to the index of all entities. Each report is a row, written with the change that it is
 * about. The alarm reports the state at that later time, so neither a crash nor a repetition makes a difference.
 */
export interface Reports {
  /** Runs the statements of a change, and adds the rows of its reports. */
  write(
    clock: Clock,
    ids: readonly string[],
    statements: readonly Statement[],
  ): Promise<StatementResult[]>;
  /** The statement that {@link Reports.write} adds, for a caller's own transaction; its alarm has to go off at once. */
  note(id: string): Statement;
  /** Says that the rows of {@link Reports.note} are stored. */
  readonly noted: () => void;
  /** Whether the index should hear that the entity has events: at the first since the start, and once an hour. */
  isStale(): boolean;
  /** Notes that the index will hear of the entity. */
  renew(): void;
  /** Reports that the instance was destroyed, so that the index forgets it. */
  readonly end: () => void;
  /** The time at which a report is due, by the steady clock; null for none. */
  nextDue(): Promise<number | null>;
  /** Sends the pending reports. */
  flush(): Promise<void>;
}

const NOTE = `INSERT INTO agents_reports (agent, id, rev) VALUES (?, ?, 1)
  ON CONFLICT (agent, id) DO UPDATE SET rev = agents_reports.rev + 1`;
const FORGET = "DELETE FROM agents_reports WHERE agent = ? AND id = ? AND rev = ?";

/** The identity of the reporting instance. */
interface Reporter extends Pick<AgentServices, "retention"> {
  /** The instance's key. */
  readonly agent: string;
  readonly className: string;
}

export function startReports(context: ActorContext, who: Reporter): Reports {
  const { agent } = who;
  const { sql, steady, system } = context;
  // Whether there may be rows; the database is read only then.
  let mayHold = true;
  let retryAt = 0;
  let renewedAt: number | undefined;
  const note = (id: string): Statement => ({ sql: NOTE, params: [agent, id] });
  const noted = (): void => {
    mayHold = true;
  };

  async function flushOnce(): Promise<boolean> {
    const rows = await sql.all(
      "SELECT id, rev FROM agents_reports WHERE agent = ? ORDER BY id LIMIT ?",
      [agent, BATCH],
    );
    if (rows.length === 0) return false;
    const ids = rows.map((row) => String(row["id"]));
    const report = await reportOf(context, who, ids);
    try {
      await webhookIndex(context.actors).report(report);
    } catch {
      retryAt = steady() + RETRY_MS;
      return false;
    }
    await sql.batch(
      rows.map((row) => ({ sql: FORGET, params: [agent, row["id"] ?? "", row["rev"] ?? 0] })),
    );
    return true;
  }

  return {
    note,
    noted,
    // Noted at the commit itself: the alarm may be about to look whether there is more.
    write: (clock, ids, statements) =>
      clock.write([...statements, ...ids.map(note)], steady()).finally(noted),
    isStale: () => renewedAt === undefined || system.monotonic() - renewedAt > RENEW_MS,
    renew() {
      renewedAt = system.monotonic();
    },
    end() {
      mayHold = true;
      renewedAt = undefined;
    },
    async nextDue() {
      if (!mayHold) return null;
      mayHold = false;
      const [row] = await sql.all("SELECT id FROM agents_reports WHERE agent = ? LIMIT 1", [agent]);
      if (row === undefined) return null;
      mayHold = true;
      return Math.max(retryAt, steady());
    },
    async flush() {
      if (!mayHold || retryAt > steady()) return;
      for (let round = 0; round < ROUNDS; round++) if (!(await flushOnce())) return;
    },
  };
}

const ENTITY = `SELECT ${LAST_SEQ} AS last, e.owner AS owner,
    (SELECT n.timestamp FROM agents_events n WHERE n.agent = e.agent ORDER BY n.seq DESC LIMIT 1) AS seen,
    (SELECT o.provider FROM agents_events o WHERE o.agent = e.agent ORDER BY o.seq LIMIT 1) AS provider
  FROM agents_entities e WHERE e.agent = ?`;

/** Reads the present state of the things to report. */
async function reportOf(
  context: ActorContext,
  { agent, className, retention }: Reporter,
  ids: readonly string[],
): Promise<IndexReport> {
  const { name: entity, sql, system } = context;
  const jobs = ids.filter((id) => id !== ITSELF);
  const failures = await failuresOf(context, agent, jobs);
  const failing = new Set(failures.map(({ id }) => id));
  const settled = jobs.filter((id) => !failing.has(id));
  const configured = retention === undefined ? {} : { retention };
  const report = { agent: className, entity, failures, settled, ...configured };
  if (jobs.length === ids.length) return report;
  const [row] = await sql.all(ENTITY, [agent]);
  if (row === undefined) return { ...report, row: null };
  // An agent that never had an event is not an entity of webhooks.
  if (Number(row["last"]) === 0) return report;
  const last_seen = textOf(row["seen"]) ?? eventTime(system.now());
  return { ...report, row: { source: textOf(row["owner"]) ?? textOf(row["provider"]), last_seen } };
}

async function failuresOf(
  { sql, steady, system }: ActorContext,
  agent: string,
  ids: readonly string[],
): Promise<Failure[]> {
  if (ids.length === 0) return [];
  const select = (table: string, columns: string): string =>
    `SELECT j.id, j.task, j.event_seq, j.error, ${columns}, v.id AS event, v.provider AS source
      FROM ${table} j LEFT JOIN agents_events v ON v.agent = j.agent AND v.seq = j.event_seq
      WHERE j.agent = ? AND j.id IN (${ids.map(() => "?").join(", ")})`;
  const failing = await sql.all(
    `${select("agents_jobs", "j.attempt AS attempts, j.failed_at, j.due")} AND j.error IS NOT NULL`,
    [agent, ...ids],
  );
  const dead = await sql.all(select("agents_dead", "j.attempts, j.failed_at"), [agent, ...ids]);
  const now = eventTime(system.now());
  const nextOf = (row: SqlRow): string => eventTime(Number(row["due"]) + system.now() - steady());
  return [
    ...failing.map((row) => toFailure(row, "failing", now, nextOf(row))),
    ...dead.map((row) => toFailure(row, "dead", now, null)),
  ];
}

function toFailure(
  row: SqlRow,
  state: Failure["state"],
  now: string,
  next_at: string | null,
): Failure {
  return {
    id: String(row["id"]),
    state,
    task: String(row["task"]),
    seq: row["event_seq"] == null ? null : Number(row["event_seq"]),
    event: textOf(row["event"]),
    source: textOf(row["source"]),
    attempts: Number(row["attempts"]),
    error: String(row["error"]),
    // Jobs that failed before this was stored.
    failed_at: textOf(row["failed_at"]) ?? now,
    next_at,
  };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
