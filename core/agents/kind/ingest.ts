import { ApiError, storageFailure } from "../../http/api-error.ts";
import {
  EVENT_COLUMNS,
  EVENT_JOB,
  eventTime,
  type IncomingEvent,
  type IngestReceipt,
} from "../../entity/event.ts";
import type { Sql, SqlValue, Statement, StatementResult, ActorContext } from "../../ports.ts";
import type { Clock } from "../../entity/clock.ts";
import { SqlError } from "../../sql/sql-error.ts";
import { isAmong, lockRows } from "../../sql/sql-text.ts";
import { claimEntity } from "../feed/claim-entity.ts";
import { firstDelivery, type FirstDelivery } from "../feed/first-delivery.ts";
import { LAST_SEQ, newestEvent } from "../events/events.ts";
import { ITSELF, type Reports } from "../events/reports.ts";
import { pruneByCount } from "../events/retention.ts";
import type { AnyAgent } from "../define/definition.ts";
import type { Live } from "../feed/live.ts";
import type { StateHolder } from "../state/state.ts";

/** Rows that one ingest removes at most: retention must not hold up an acknowledgement. */
const PRUNE_LIMIT = 200;
/** Time that the caller of `process` has to ask for its job before the queue runs it. */
const PROCESS_GRACE_MS = 10_000;

export interface IngestDeps {
  readonly agent: string;
  readonly clock: Pick<Clock, "write">;
  readonly now: number;
  /** The same moment by the clock of due times. */
  readonly steady: number;
  /** The id of the job to queue; null for a class without a handler: no job. */
  readonly jobId: string | null;
  /** Whether this instance knows that the {@link Claim} of the event is in the entity's row: one write less. */
  readonly isClaimed: boolean;
  /** The owner in the entity's row, where it is known. */
  readonly owner: string | null;
  readonly sql: Pick<Sql, "all" | "dialect">;
  /** Whether retention by count is due, see {@link pruneEvery}. */
  readonly prunes: boolean;
  /** The reports to the index of all entities; null once the index knows this one. */
  readonly reports: Pick<Reports, "note" | "noted"> | null;
}

/** The columns of an entity's row: its canonical name, its owner and the retention. */
type Claim = Pick<IncomingEvent, "canonical" | "retention"> & {
  readonly owner: string | null;
};

/** Whether an entity's row already agrees with an event. */
function isClaimed(claim: Claim, event: IncomingEvent): boolean {
  return (
    claim.canonical === event.canonical &&
    claim.owner !== null &&
    event.owners.includes(claim.owner) &&
    claim.retention.maxEvents === event.retention.maxEvents &&
    claim.retention.maxAgeMs === event.retention.maxAgeMs
  );
}

/** Number of events after which retention by count runs: an entity holds up to a tenth more than it keeps. */
function pruneEvery(maxEvents: number): number {
  return Math.min(PRUNE_LIMIT / 2, Math.max(1, Math.floor(maxEvents / 10)));
}

/**
 * Stores one inbound event: event with the next `seq`, queued job, claim and alarm where there is need of them, in ONE
 * transaction that is durable when this resolves. Reads nothing beforehand, so concurrent calls need no lock but that of
 * the entity's row, where the database has several writers. The unique index decides which of two equal ids is the event.
 * `seq` has no gaps, because it follows from the stored rows.
 */
export async function ingest(event: IncomingEvent, deps: IngestDeps): Promise<IngestReceipt> {
  if (deps.isClaimed) {
    // Otherwise the claim locks it: another process may store an event of the entity at the same moment.
    const lock = lockRows(deps.sql, "agents_entities", "agent", deps.agent);
    const [seq] = await store(event, deps, lock);
    if (seq !== null) return { outcome: "stored", owner: deps.owner, seq, job: deps.jobId };
    // Either a duplicate, or the entity was destroyed meanwhile: the whole transaction finds out.
  }
  const claim = claimEntity(event, deps.agent);
  const report = deps.reports === null ? [] : [deps.reports.note(ITSELF)];
  const [seq, claimed] = await store(event, deps, [claim, ...report]);
  const [row] = claimed?.rows ?? [];
  if (row === undefined) return refused(event, deps);
  const owner = row["owner"] == null ? null : String(row["owner"]);
  const nothing = { owner, seq: 0, job: null };
  if (event.canonical !== null && row["canonical"] !== event.canonical)
    return { outcome: "collision", ...nothing };
  if (seq === null) return { outcome: "duplicate", ...nothing, ...(await earlier(event, deps)) };
  return { outcome: "stored", owner, seq, job: deps.jobId };
}

/** The entity belongs to another source; under another identifier the event has a name of its own. */
async function refused(event: IncomingEvent, deps: IngestDeps): Promise<IngestReceipt> {
  const select = "SELECT canonical, owner FROM agents_entities WHERE agent = ?";
  const [row] = await deps.sql.all(select, [deps.agent]);
  const owner = row?.["owner"] == null ? null : String(row["owner"]);
  const isOther =
    event.canonical !== null && row?.["canonical"] != null && row["canonical"] !== event.canonical;
  return { outcome: isOther ? "collision" : "foreign", owner, seq: 0, job: null };
}

/** The answer of an event's first delivery, if the class has a handler to give one. */
async function earlier(event: IncomingEvent, deps: IngestDeps): Promise<Partial<FirstDelivery>> {
  if (deps.jobId === null) return {};
  return firstDelivery(deps.sql, deps.agent, { provider: event.provider, id: event.record.id });
}

/** Runs the transaction; resolves to the event's `seq`, null when it was not stored, and to the first result. */
async function store(
  event: IncomingEvent,
  deps: IngestDeps,
  first: readonly Statement[],
): Promise<[seq: number | null, first: StatementResult | undefined]> {
  const { clock, reports, steady } = deps;
  const due = steady + (event.respond === "processed" ? PROCESS_GRACE_MS : 0);
  const statements = [
    ...first,
    // Before the event: both find the same rows, so the job is queued exactly if the event is new.
    ...(deps.jobId === null ? [] : [insertJob(event, deps, deps.jobId, due)]),
    insertEvent(event, deps),
  ];
  const at = statements.length - 1;
  if (deps.prunes) statements.push(pruneByCount(deps.agent, PRUNE_LIMIT));
  try {
    const work = clock.write(statements, reports === null ? dueOf(event, deps, due) : steady);
    const results = await (reports === null ? work : work.finally(reports.noted));
    // After a lowered limit there is more than one event may delete: the alarm does the rest.
    if (deps.prunes && results.at(-1)?.changes === PRUNE_LIMIT) await clock.write([], steady);
    const seq = results[at]?.rows[0]?.["seq"];
    return [seq === undefined ? null : Number(seq), results[0]];
  } catch (error) {
    throw unavailable(error);
  }
}

/** Without a handler only retention is due: when this event has reached its age. */
function dueOf(event: IncomingEvent, deps: IngestDeps, due: number): number | null {
  if (deps.jobId !== null) return due;
  const { maxAgeMs } = event.retention;
  return maxAgeMs === null ? null : deps.steady + maxAgeMs;
}

/**
 * A full disk or a busy database is worth the sender's retry; anything else is a fault of ours. That another process has the
 * entity is for the caller to know, who can store the event without it.
 */
function unavailable(error: unknown): unknown {
  if (error instanceof SqlError && error.reason === "fenced") return error;
  const failure = storageFailure(error);
  if (failure === null) return error;
  const { kind } = failure;
  if (kind === "outcome_unknown") return failure;
  const reason = kind === "storage_full" ? ", most likely because the server's disk is full" : "";
  const message = `The event could not be stored${reason}: send it again later`;
  return new ApiError(kind, { message, headers: { "retry-after": "5" }, cause: error });
}

/** Fails for an entity that another identifier owns. */
const OWNED = " AND e.canonical = ?";
/** The second key of deduplication: fails when an equal body came within the window. */
const UNREPEATED = ` AND NOT EXISTS (SELECT 1 FROM agents_events o WHERE o.agent = e.agent
  AND o.timestamp >= ? AND o.provider = ? AND o.body_hash = ?)`;

function conditionsOf(event: IncomingEvent, now: number): { sql: string; params: SqlValue[] } {
  const { canonical, bodyWindowMs, bodyHash, owners, provider } = event;
  const owned = isAmong("e.owner", owners);
  const params: SqlValue[] = [...owned.params];
  let sql = ` AND ${owned.sql}`;
  if (canonical !== null) {
    sql += OWNED;
    params.push(canonical);
  }
  if (bodyWindowMs === 0) return { sql, params };
  params.push(eventTime(now - bodyWindowMs), provider, bodyHash);
  return { sql: sql + UNREPEATED, params };
}

/** Fails for an entity that another source owns. */
const OF_ONE = " AND e.owner = ?";

const INSERT_EVENT = `INSERT INTO agents_events (agent, seq, provider, headers, body_hash, ${EVENT_COLUMNS.join(", ")})
  SELECT e.agent, 1 + ${LAST_SEQ}, ?, ?, ?, ${EVENT_COLUMNS.map(() => "?").join(", ")}
  FROM agents_entities e WHERE e.agent = ?`;
const RETURN_SEQ = " ON CONFLICT (agent, provider, id) DO NOTHING RETURNING seq";
/** The usual case, built once: the driver finds prepared statements by their text. */
const USUAL: string = OF_ONE + OWNED;
const INSERT_USUAL_EVENT: string = INSERT_EVENT + USUAL + RETURN_SEQ;

function insertEvent(event: IncomingEvent, deps: IngestDeps): Statement {
  const { record } = event;
  const { sql, params } = conditionsOf(event, deps.now);
  return {
    sql: sql === USUAL ? INSERT_USUAL_EVENT : INSERT_EVENT + sql + RETURN_SEQ,
    params: [
      event.provider,
      event.headers,
      event.bodyHash,
      record.id,
      record.type,
      record.action,
      record.title,
      record.description,
      record.url,
      record.actor,
      record.payload,
      record.timestamp,
      deps.agent,
      ...params,
    ],
  };
}

const INSERT_JOB = `INSERT INTO agents_jobs (agent, id, position, task, event_seq, attempt, due, trace)
  SELECT e.agent, ?, 1 + ${LAST_SEQ}, ?, 1 + ${LAST_SEQ}, 0, ?, ? FROM agents_entities e
  WHERE e.agent = ? AND NOT EXISTS (
    SELECT 1 FROM agents_events v WHERE v.agent = e.agent AND v.provider = ? AND v.id = ?)`;

/** Queues the event that this transaction is about to insert, unless it is there already. */
function insertJob(event: IncomingEvent, deps: IngestDeps, id: string, due: number): Statement {
  const { sql, params } = conditionsOf(event, deps.now);
  const { agent } = deps;
  return {
    sql: INSERT_JOB + sql,
    params: [
      id,
      EVENT_JOB,
      due,
      event.trace ?? null,
      agent,
      event.provider,
      event.record.id,
      ...params,
    ],
  };
}

interface IntakeDeps {
  readonly context: ActorContext;
  readonly definition: AnyAgent;
  readonly agent: string;
  readonly clock: Clock;
  readonly state: StateHolder;
  readonly live: Live;
  readonly reports: Reports;
}

/** Stores events for an instance. */
interface Intake {
  /** Stores one; the followers of the instance receive it after the commit. */
  take(event: IncomingEvent): Promise<IngestReceipt>;
  /** Takes over events that another process has stored meanwhile: runs their jobs, and tells the followers. */
  followUp(): Promise<void>;
}

/** Remembers what the entity's row says and when retention ran, so that the usual event is one statement. */
export function startIntake(deps: IntakeDeps): Intake {
  const { agent, clock, context, definition, live, reports, state } = deps;
  /** The newest claim that is stored. */
  let known: Claim | undefined;
  /** Events since retention by count ran; at the start it is due. */
  let unpruned = Number.POSITIVE_INFINITY;

  async function take(event: IncomingEvent): Promise<IngestReceipt> {
    const { maxEvents } = event.retention;
    const prunes = maxEvents !== null && ++unpruned >= pruneEvery(maxEvents);
    if (prunes) unpruned = 0;
    const announces = reports.isStale() ? reports : null;
    const receipt = await ingest(event, {
      agent,
      clock,
      now: context.system.now(),
      steady: context.steady(),
      jobId: definition.onEvent === undefined ? null : context.system.id(),
      isClaimed: known !== undefined && announces === null && isClaimed(known, event),
      owner: known?.owner ?? null,
      sql: context.sql,
      prunes,
      reports: announces,
    });
    if (announces !== null) reports.renew();
    if (receipt.outcome === "stored") {
      const { canonical, retention } = event;
      known = { canonical, retention, owner: receipt.owner };
      state.addEvent(receipt.seq, event.record);
      live.publish(receipt.seq, event.record);
    }
    return receipt;
  }

  async function followUp(): Promise<void> {
    const announces = reports.isStale();
    // The alarm looks for jobs, and for events to remove.
    await clock.wake(announces ? [reports.note(ITSELF)] : []).finally(reports.noted);
    if (announces) reports.renew();
    const newest = await newestEvent(context.sql, agent);
    if (newest === null) return;
    // Followers that lack earlier ones read them from the table.
    state.addEvent(newest.seq, newest.event);
    live.publish(newest.seq, newest.event);
  }

  return { take, followUp };
}
