import { EVENT_JOB, eventTime } from "../../entity/event.ts";
import type { ReplaySlice, SliceReceipt } from "../../entity/webhook-replays.ts";
import { conflict } from "../../http/api-error.ts";
import type { SqlRow, SqlValue, Statement } from "../../ports.ts";
import { replayStatements, type QueueDeps } from "./queue.ts";

/** Events that one slice looks through, and dead letters that it takes. */
const SLICE = 100;
/** Jobs of events that may wait before a replay adds more: new events come behind them. */
const WAITING = 100;
/** Time for which the progress of a replay is kept, in ms: no replay pauses for longer. */
const REMEMBERED_MS = 7 * 24 * 3_600_000;

/** Runs events and dead letters of an instance again. */
export interface InstanceReplays {
  /** The next part of a replay over many entities; a repetition queues nothing twice. */
  slice(slice: ReplaySlice): Promise<SliceReceipt>;
  /** Runs one event again, in whatever state it is; resolves to null for an unknown id. Throws 409. */
  event(id: string, source: string | undefined): Promise<string | null>;
}

export function startInstanceReplays(deps: QueueDeps): InstanceReplays {
  const { agent, context, definition } = deps;
  const { sql, system } = context;
  let turn: Promise<unknown> = Promise.resolve();

  async function takeOne(slice: ReplaySlice): Promise<SliceReceipt> {
    const [row] = await sql.all(
      "SELECT position, queued, done FROM agents_replays WHERE agent = ? AND id = ?",
      [agent, slice.id],
    );
    const progress = {
      position: Number(row?.["position"] ?? 0),
      queued: Number(row?.["queued"] ?? 0),
      isDone: Number(row?.["done"] ?? 0) === 1,
      isBehind: await hasEnough(deps),
    };
    if (progress.isDone || progress.isBehind) return receiptOf(progress);
    if (slice.of === "dead-letters") return takeDead(deps, slice, progress);
    if (definition.onEvent === undefined) return { queued: 0, isDone: true, isBehind: false };
    return takeEvents(deps, slice, progress);
  }

  return {
    slice(slice) {
      const mine = turn.then(() => takeOne(slice));
      turn = mine.catch(() => undefined);
      return mine;
    },
    async event(id, source) {
      const only = source === undefined ? "" : "AND provider = ?";
      const rows = await sql.all(
        `SELECT seq FROM agents_events WHERE agent = ? AND id = ? ${only} LIMIT 2`,
        [agent, id, ...(source === undefined ? [] : [source])],
      );
      const [row] = rows;
      if (row === undefined) return null;
      if (rows.length > 1) throw conflict('Two sources sent that id: say which: "?source="');
      if (definition.onEvent === undefined)
        throw conflict("The agent has no handler that could run again");
      const seq = Number(row["seq"]);
      const [waiting] = await sql.all(
        "SELECT id FROM agents_jobs WHERE agent = ? AND event_seq IS NOT NULL AND event_seq = ?",
        [agent, seq],
      );
      if (waiting !== undefined) throw conflict("The event still waits for its handler");
      const job = system.id();
      await queueEvents(deps, [{ seq, job }], job, []);
      return job;
    },
  };
}

type Progress = SliceReceipt & { readonly position: number };

function receiptOf({ isBehind, isDone, queued }: Progress): SliceReceipt {
  return { isBehind, isDone, queued };
}

/** Whether so many jobs wait already that new events would queue behind a replay. */
async function hasEnough({ agent, context }: QueueDeps): Promise<boolean> {
  const [row] = await context.sql.all(
    `SELECT COUNT(*) AS n FROM (SELECT id FROM agents_jobs
      WHERE agent = ? AND event_seq IS NOT NULL LIMIT ?) AS w`,
    [agent, WAITING],
  );
  return Number(row?.["n"]) >= WAITING;
}

async function takeEvents(
  deps: QueueDeps,
  slice: ReplaySlice,
  { position, queued }: Progress,
): Promise<SliceReceipt> {
  const { agent, context } = deps;
  const rows = await context.sql.all(
    `SELECT v.seq, v.type, v.provider AS source, v.timestamp, j.id AS job FROM agents_events v
      LEFT JOIN agents_jobs j ON j.agent = v.agent AND j.event_seq IS NOT NULL AND j.event_seq = v.seq
      WHERE v.agent = ? AND v.seq > ? ORDER BY v.seq LIMIT ?`,
    [agent, position, SLICE],
  );
  const wanted = rows.filter((row) => row["job"] == null && fits(slice, row, "timestamp"));
  const events = wanted.map((row) => ({
    seq: Number(row["seq"]),
    job: `${slice.id}:${String(row["seq"])}`,
  }));
  // Without matching events there is nothing to wait for.
  const receipt = {
    queued: queued + events.length,
    isDone: rows.length < SLICE,
    isBehind: events.length > 0,
  };
  const last = Number(rows.at(-1)?.["seq"] ?? position);
  await queueEvents(deps, events, slice.id, remember(deps, slice.id, last, receipt));
  return receipt;
}

function fits(
  { since = "", source, type, until }: ReplaySlice,
  row: SqlRow,
  time: "failed_at" | "timestamp",
): boolean {
  const at = String(row[time]);
  return (
    (type === undefined || row["type"] === type) &&
    (source === undefined || row["source"] === source) &&
    at >= since &&
    at <= until
  );
}

async function queueEvents(
  deps: QueueDeps,
  events: readonly { readonly seq: number; readonly job: string }[],
  replay: string,
  together: readonly Statement[],
): Promise<void> {
  const { agent, clock, context, reports } = deps;
  const [first, last] = [events[0], events.at(-1)];
  const statements = events.map(({ job, seq }) => ({
    sql: `INSERT INTO agents_jobs (agent, id, position, task, event_seq, attempt, due, replay)
      VALUES (?, ?, ?, ?, ?, 0, ?, ?) ON CONFLICT (agent, id) DO NOTHING`,
    params: [agent, job, seq, EVENT_JOB, seq, context.steady(), replay],
  }));
  // An event that had failed for good gets another chance: meanwhile it is not a dead letter.
  const dead =
    first === undefined || last === undefined
      ? []
      : await context.sql.all(
          "SELECT id, event_seq FROM agents_dead WHERE agent = ? AND event_seq >= ? AND event_seq <= ?",
          [agent, first.seq, last.seq],
        );
  const seqs = new Set(events.map(({ seq }) => seq));
  const revived = dead
    .filter((row) => seqs.has(Number(row["event_seq"])))
    .map(({ id }) => String(id));
  const gone = revived.map((id) => ({
    sql: "DELETE FROM agents_dead WHERE agent = ? AND id = ?",
    params: [agent, id],
  }));
  await reports.write(clock, revived, [...statements, ...gone, ...together]);
}

async function takeDead(
  deps: QueueDeps,
  slice: ReplaySlice,
  { queued }: Progress,
): Promise<SliceReceipt> {
  const { agent, clock, context, reports } = deps;
  const { sql, steady, system } = context;
  // Its own jobs may die again within the range, where the clock was set back: once is enough.
  const own = `${slice.id}:`;
  const params: SqlValue[] = [agent, slice.since ?? "", slice.until, own.length, own];
  let where = "d.agent = ? AND d.failed_at >= ? AND d.failed_at <= ? AND SUBSTR(d.id, 1, ?) <> ?";
  for (const [column, value] of [
    ["v.type", slice.type],
    ["v.provider", slice.source],
  ] as const) {
    if (value === undefined) continue;
    where += ` AND ${column} = ?`;
    params.push(value);
  }
  const rows = await sql.all(
    `SELECT d.id FROM agents_dead d LEFT JOIN agents_events v ON v.agent = d.agent AND v.seq = d.event_seq
      WHERE ${where} ORDER BY d.event_seq, d.failed_at, d.id LIMIT ?`,
    [...params, SLICE],
  );
  const ids = rows.map((row) => String(row["id"]));
  const receipt = {
    queued: queued + ids.length,
    isDone: ids.length < SLICE,
    isBehind: ids.length > 0,
  };
  const statements = ids.flatMap((id) =>
    replayStatements(agent, {
      id,
      fresh: `${own}${system.id()}`,
      replay: slice.id,
      due: steady(),
    }),
  );
  await reports.write(clock, ids, [...statements, ...remember(deps, slice.id, 0, receipt)]);
  return receipt;
}

/** Stores the progress of the replay, in the transaction that makes it. */
function remember(
  { agent, context }: QueueDeps,
  id: string,
  position: number,
  { isDone, queued }: SliceReceipt,
): Statement[] {
  const now = context.system.now();
  return [
    {
      sql: `INSERT INTO agents_replays (agent, id, position, queued, done, at) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (agent, id) DO UPDATE SET position = excluded.position, queued = excluded.queued,
          done = excluded.done, at = excluded.at`,
      params: [agent, id, position, queued, Number(isDone), eventTime(now)],
    },
    {
      sql: "DELETE FROM agents_replays WHERE agent = ? AND at < ?",
      params: [agent, eventTime(now - REMEMBERED_MS)],
    },
  ];
}
