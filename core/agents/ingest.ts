import { ApiError } from "../http/api-error.ts";
import {
  EVENT_COLUMNS,
  EVENT_JOB,
  eventTime,
  type IncomingEvent,
  type IngestReceipt,
} from "../entity/event.ts";
import type { SqlRow, SqlValue, Statement, StatementResult } from "../ports.ts";
import { SqlError } from "../sql-error.ts";
import type { Clock } from "../entity/clock.ts";

/** Rows that one ingest removes at most: retention must not hold up an acknowledgement. */
const PRUNE_LIMIT = 200;
/** How long the caller of `process` may take to ask for its job before the queue runs it. */
const PROCESS_GRACE_MS = 10_000;

/** What {@link ingest} needs to know. */
export interface IngestDeps {
  readonly agent: string;
  readonly clock: Clock;
  readonly now: number;
  readonly jobId: string;
  /** Whether the class has a handler, hence whether a job is queued. */
  readonly handled: boolean;
  /** Whether this instance knows that {@link claimOf} the event is in the entity's row: one write less. */
  readonly isClaimed: boolean;
}

/** What an event asks of its entity's row: the identifier that owns the name, and the retention. */
export function claimOf({ canonical, retention }: IncomingEvent): string {
  return JSON.stringify([canonical, retention.maxEvents, retention.maxAgeMs]);
}

/**
 * Stores one inbound event: entity row, event with the next `seq`, queued job and alarm in ONE transaction
 * that is durable when this resolves. Reads nothing beforehand, so concurrent calls need no lock: the unique
 * index decides which of two equal ids is the event, and `seq` has no gaps because only a stored row moves it.
 */
export async function ingest(event: IncomingEvent, deps: IngestDeps): Promise<IngestReceipt> {
  if (deps.isClaimed) {
    const seq = await store(event, deps, []);
    if (seq !== null) return stored(seq, deps);
    // A duplicate, or the entity was destroyed meanwhile: the whole transaction tells which.
  }
  let canonical: unknown = null;
  const seq = await store(event, deps, [claimEntity(event, deps.agent)], (row) => {
    canonical = row?.["canonical"];
  });
  if (event.canonical !== null && canonical !== event.canonical) {
    return { outcome: "collision", seq: 0, job: null };
  }
  return seq === null ? { outcome: "duplicate", seq: 0, job: null } : stored(seq, deps);
}

function stored(seq: number, deps: IngestDeps): IngestReceipt {
  return { outcome: "stored", seq, job: deps.handled ? deps.jobId : null };
}

/** Runs the transaction; resolves to the event's `seq`, or null when it was not stored. */
async function store(
  event: IncomingEvent,
  deps: IngestDeps,
  first: readonly Statement[],
  onFirst?: (row: SqlRow | undefined) => void,
): Promise<number | null> {
  const due = deps.now + (event.respond === "processed" ? PROCESS_GRACE_MS : 0);
  const statements = [
    ...first,
    insertEvent(event, deps),
    ...(deps.handled ? [insertJob(deps, due)] : []),
    advance(deps.agent),
    ...prune(event, deps.agent),
  ];
  const results = await durable(() => deps.clock.write(statements, dueOf(event, deps, due)));
  onFirst?.(results[0]?.rows[0]);
  if (results[first.length]?.changes !== 1) return null;
  const advanced = results[first.length + (deps.handled ? 2 : 1)];
  return Number(advanced?.rows[0]?.["last_seq"]);
}

/** Without a handler only retention is due: when this event has reached its age. */
function dueOf(event: IncomingEvent, deps: IngestDeps, due: number): number | null {
  if (deps.handled) return due;
  const { maxAgeMs } = event.retention;
  return maxAgeMs === null ? null : deps.now + maxAgeMs;
}

/** A full disk or a busy database is worth the sender's retry; anything else is a fault of ours. */
async function durable(work: () => Promise<StatementResult[]>): Promise<StatementResult[]> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SqlError && (error.reason === "busy" || error.reason === "full")) {
      const message = "The event could not be stored: send it again later";
      throw new ApiError("unavailable", { message, headers: { "retry-after": "5" }, cause: error });
    }
    throw error;
  }
}

/** The first identifier that claims a name owns it; the update also locks the row where rows are locked. */
function claimEntity(event: IncomingEvent, agent: string): Statement {
  const { maxEvents, maxAgeMs } = event.retention;
  return {
    sql: `INSERT INTO agents_entities (agent, canonical, last_seq, max_events, max_age_ms) VALUES (?, ?, 0, ?, ?)
      ON CONFLICT (agent) DO UPDATE SET canonical = COALESCE(agents_entities.canonical, excluded.canonical),
        max_events = excluded.max_events, max_age_ms = excluded.max_age_ms
      RETURNING canonical`,
    params: [agent, event.canonical, maxEvents, maxAgeMs],
  };
}

function insertEvent(event: IncomingEvent, deps: IngestDeps): Statement {
  const { record, canonical } = event;
  const repeated = unlessRepeated(event, deps.now);
  const mine = canonical === null ? "" : "AND e.canonical = ?";
  return {
    sql: `INSERT INTO agents_events (agent, seq, provider, headers, body_hash, ${EVENT_COLUMNS.join(", ")})
      SELECT e.agent, e.last_seq + 1, ?, ?, ?, ${EVENT_COLUMNS.map(() => "?").join(", ")}
      FROM agents_entities e WHERE e.agent = ? ${mine} ${repeated.sql}
      ON CONFLICT (agent, provider, id) DO NOTHING`,
    params: [
      event.provider,
      event.headers,
      event.bodyHash,
      ...EVENT_COLUMNS.map((column) => record[column]),
      deps.agent,
      ...(canonical === null ? [] : [canonical]),
      ...repeated.params,
    ],
  };
}

/** The second key of deduplication: a condition that fails when an equal body came within the window. */
function unlessRepeated(event: IncomingEvent, now: number): { sql: string; params: SqlValue[] } {
  if (event.bodyWindowMs === 0) return { sql: "", params: [] };
  return {
    sql: `AND NOT EXISTS (SELECT 1 FROM agents_events o
      WHERE o.agent = e.agent AND o.timestamp >= ? AND o.provider = ? AND o.body_hash = ?)`,
    params: [eventTime(now - event.bodyWindowMs), event.provider, event.bodyHash],
  };
}

/** Queues the event that this transaction has just inserted, if it has. */
function insertJob({ agent, jobId }: IngestDeps, due: number): Statement {
  return {
    sql: `INSERT INTO agents_jobs (agent, id, position, task, event_seq, attempt, due)
      SELECT e.agent, ?, e.last_seq + 1, ?, e.last_seq + 1, 0, ? FROM agents_entities e
      WHERE e.agent = ? AND ${hasNewEvent("e")}`,
    params: [jobId, EVENT_JOB, due, agent],
  };
}

function advance(agent: string): Statement {
  return {
    sql: `UPDATE agents_entities SET last_seq = last_seq + 1
      WHERE agent = ? AND ${hasNewEvent("agents_entities")} RETURNING last_seq`,
    params: [agent],
  };
}

function hasNewEvent(entity: string): string {
  return `EXISTS (SELECT 1 FROM agents_events v WHERE v.agent = ${entity}.agent AND v.seq = ${entity}.last_seq + 1)`;
}

function prune(event: IncomingEvent, agent: string): Statement[] {
  const { maxEvents } = event.retention;
  return maxEvents === null ? [] : [pruneByCount(agent, PRUNE_LIMIT)];
}

/** Rows whose handler still has to run, or whose failure somebody has to look at, are not retention's. */
const settled = `NOT EXISTS (SELECT 1 FROM agents_jobs j WHERE j.agent = v.agent AND j.event_seq = v.seq)
  AND NOT EXISTS (SELECT 1 FROM agents_dead d WHERE d.agent = v.agent AND d.event_seq = v.seq)`;

/** Deletes at most `limit` of the events beyond the entity's `max_events`, oldest first. */
export function pruneByCount(agent: string, limit: number): Statement {
  return {
    sql: `DELETE FROM agents_events WHERE agent = ? AND seq IN (
      SELECT v.seq FROM agents_events v JOIN agents_entities e ON e.agent = v.agent
      WHERE v.agent = ? AND v.seq <= e.last_seq - e.max_events AND ${settled} ORDER BY v.seq LIMIT ?)`,
    params: [agent, agent, limit],
  };
}

/** Deletes at most `limit` of the events older than `before` (fixed-width ISO text), oldest first. */
export function pruneByAge(agent: string, before: string, limit: number): Statement {
  return {
    sql: `DELETE FROM agents_events WHERE agent = ? AND seq IN (
      SELECT v.seq FROM agents_events v
      WHERE v.agent = ? AND v.timestamp < ? AND ${settled} ORDER BY v.timestamp LIMIT ?)`,
    params: [agent, agent, before, limit],
  };
}
