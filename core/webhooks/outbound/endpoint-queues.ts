import type { ActorContext, SqlRow, SqlValue } from "../../ports.ts";
import { TRIP_FAILURES } from "./retry-policy.ts";
import { fullBucket, hasToken, refill, type TokenBucket, tokenIn } from "../pace/token-bucket.ts";

/** Requests to one endpoint in flight at a time, unless the endpoint sets its own number. */
export const CONCURRENCY_DEFAULT = 50;
/** Requests to an endpoint that has not answered yet; each success makes room for one more. */
const WINDOW_AT_START = 4;
/** Requests that every endpoint may have in flight, however many others there are. */
const GUARANTEED = 2;
/** Requests of one account beyond the guaranteed ones. */
const POOL = 512;
/**
 * Requests of all applications of a process: their customers say how long each may take. One may have as many as it leaves to
 * the others, so that there is room for the next one.
 */
const OF_APPLICATIONS = 4096;
/** Characters of payloads in flight, beyond which an endpoint gets one request at a time. */
const PAYLOAD_LIMIT = 32 * 1024 * 1024;
/** Deliveries that are taken up in one transaction, and start in one turn of the event loop: some milliseconds of work. */
const PLAN_LIMIT = 16;
/** Endpoints that one query names: SQLite on Workers binds at most 100 values to a statement. */
const NAMED_LIMIT = 90;

/** The queue of one endpoint: its requests in flight, and the time of the next one. */
export interface EndpointQueue extends TokenBucket {
  readonly endpoint: string;
  inFlight: number;
  /** Requests that may be in flight at the moment: grows with successes, shrinks with failures. */
  window: number;
  concurrency: number;
  /** Failures in a row. */
  failures: number;
  /** Unix ms from which on something is to be sent; null = nothing waits. */
  due: number | null;
}

/** Requests in flight of several senders. */
export interface RequestsInFlight {
  inFlight: number;
}

export interface EndpointQueues {
  /** Marks endpoints whose deliveries or settings changed; `null` marks all. */
  markChanged(endpoints: readonly string[] | null): void;
  /** Reads the endpoints that {@link markChanged} marked. */
  refresh(): Promise<void>;
  /** Numbers of deliveries to send now, by endpoint, fairly: one of each in turn. */
  plan(now: number): Map<EndpointQueue, number>;
  /** The time at which there is work without a call of {@link markChanged}; null = never. */
  wakeAt(now: number): number | null;
  began(queue: EndpointQueue): void;
  ended(queue: EndpointQueue, isSuccess: boolean): void;
  /** A payload of so many characters was loaded, or (negative) let go. */
  hold(characters: number): void;
  inFlight(): number;
  /** Whether this is an application that has its share of the requests of all applications in flight. */
  isFull(): boolean;
}

/** A delivery to a paused endpoint waits for the end of the pause. */
const DUE = "CASE WHEN e.tripped_until > d.due THEN e.tripped_until ELSE d.due END";

/** Deliveries that may be sent once they are due: those of `ordered` endpoints only first in their order. */
const SENDABLE = `d.actor = e.actor AND d.endpoint_id = e.id AND d.status = 'pending'
  AND (e.ordered = 0 OR d.entity IS NULL OR NOT EXISTS (
    SELECT 1 FROM webhooks_deliveries b WHERE b.actor = d.actor AND b.endpoint_id = d.endpoint_id
      AND b.entity = d.entity AND b.status = 'pending' AND b.seq < d.seq))`;

/** When the next delivery of the endpoint `e` is to be sent: one step in the index, however long its queue is. */
const NEXT = `(SELECT ${DUE} FROM webhooks_deliveries d WHERE ${SENDABLE} ORDER BY d.due, d.seq LIMIT 1)`;

/** The earliest time at which something is to be sent; null when nothing waits. */
export async function nextDue({ sql, name }: ActorContext): Promise<number | null> {
  const [row] = await sql.all(
    `SELECT MIN(n.due) AS due FROM (
      SELECT ${NEXT} AS due FROM webhooks_endpoints e WHERE e.actor = ? AND e.enabled = 1) AS n`,
    [name],
  );
  return row?.["due"] == null ? null : Number(row["due"]);
}

/** The first deliveries of an endpoint that are due. */
export function dueOf(
  { sql, name }: ActorContext,
  endpoint: string,
  now: number,
  limit: number,
): Promise<SqlRow[]> {
  return sql.all(
    `SELECT d.id, d.message_id, d.endpoint_id, d.attempt FROM webhooks_endpoints e
     JOIN webhooks_deliveries d ON ${SENDABLE}
     WHERE e.actor = ? AND e.id = ? AND e.enabled = 1 AND d.due <= ? AND COALESCE(e.tripped_until, 0) <= ?
     ORDER BY d.due, d.seq LIMIT ?`,
    [name, endpoint, now, now, limit],
  );
}

/** The queues of an account's endpoints, not yet read. */
export function startEndpointQueues(
  context: ActorContext,
  ofApplications: RequestsInFlight = { inFlight: 0 },
): EndpointQueues {
  const queues = new Map<string, EndpointQueue>();
  let changed: Set<string> | null = null;
  const load = { inFlight: 0, payloads: 0 };
  // No account's id has a slash.
  const shared = context.name.includes("/") ? ofApplications : null;
  const isFull = (planned: number): boolean =>
    shared !== null && load.inFlight + planned >= OF_APPLICATIONS - shared.inFlight - planned;
  const hasRoom = hasRoomIn(load, isFull);
  let first = 0;

  async function refresh(): Promise<void> {
    const named = changed;
    changed = new Set();
    if (named?.size === 0) return;
    const all = named === null || named.size > NAMED_LIMIT;
    try {
      const rows = await readEndpoints(context, all ? null : [...named]);
      for (const row of rows) update(queues, row, context.steady());
      const seen = new Set(rows.map((row) => String(row["id"])));
      empty(queues, (id) => (all || named.has(id)) && !seen.has(id));
    } catch (error) {
      changed = null;
      throw error;
    }
  }

  return {
    markChanged(endpoints) {
      if (endpoints === null) changed = null;
      else for (const one of endpoints) changed?.add(one);
    },
    refresh,
    plan(now) {
      const ready = [...queues.values()].filter(({ due }) => due !== null && due <= now);
      for (const queue of ready) refill(queue, now);
      // Another one comes first each time.
      first = ready.length === 0 ? 0 : (first + 1) % ready.length;
      return fairPlan([...ready.slice(first), ...ready.slice(0, first)], hasRoom);
    },
    wakeAt: (now) => wakeAt(queues.values(), now),
    hold(characters) {
      load.payloads += characters;
    },
    began(queue) {
      queue.inFlight++;
      load.inFlight++;
      if (shared !== null) shared.inFlight++;
    },
    ended(queue, isSuccess) {
      queue.inFlight--;
      load.inFlight--;
      if (shared !== null) shared.inFlight--;
      queue.window = isSuccess
        ? Math.min(queue.window + 1, queue.concurrency)
        : Math.max(1, Math.floor(queue.window / 2));
    },
    inFlight: () => load.inFlight,
    isFull: () => isFull(0),
  };
}

type HasRoom = (queue: EndpointQueue, planned: number, plannedInAll: number) => boolean;

/** Returns whether an endpoint may have another request. Those beyond the guaranteed ones come out of one pool. */
function hasRoomIn(
  load: { readonly inFlight: number; readonly payloads: number },
  isFull: (planned: number) => boolean,
): HasRoom {
  return (queue, planned, plannedInAll) => {
    const mine = queue.inFlight + planned;
    const most = queue.failures >= TRIP_FAILURES ? 1 : Math.min(queue.window, queue.concurrency);
    if (mine >= most || !hasToken(queue, planned) || isFull(plannedInAll)) return false;
    if (load.payloads > PAYLOAD_LIMIT) return mine < 1;
    return mine < GUARANTEED || load.inFlight + plannedInAll < POOL;
  };
}

/** Plans one delivery of each queue in turn, as long as there is room. */
function fairPlan(queues: readonly EndpointQueue[], hasRoom: HasRoom): Map<EndpointQueue, number> {
  const plan = new Map<EndpointQueue, number>();
  let total = 0;
  for (let before = -1; before < total && total < PLAN_LIMIT;) {
    before = total;
    for (const queue of queues) {
      const planned = plan.get(queue) ?? 0;
      if (total >= PLAN_LIMIT || !hasRoom(queue, planned, total)) continue;
      plan.set(queue, planned + 1);
      total++;
    }
  }
  return plan;
}

/** When the next delivery is due, or the next request of an endpoint with a rate may leave. */
function wakeAt(queues: Iterable<EndpointQueue>, now: number): number | null {
  const times: number[] = [];
  for (const queue of queues) {
    if (queue.due === null) continue;
    const isFree = queue.inFlight < Math.min(queue.window, queue.concurrency);
    if (queue.due > now) times.push(queue.due);
    else if (isFree && !hasToken(queue, 0)) times.push(now + tokenIn(queue));
  }
  return times.length === 0 ? null : Math.min(...times);
}

/** Deleted and disabled endpoints have nothing to send. */
function empty(queues: Map<string, EndpointQueue>, isGone: (endpoint: string) => boolean): void {
  for (const [endpoint, queue] of queues) {
    if (!isGone(endpoint)) continue;
    queue.due = null;
    if (queue.inFlight === 0) queues.delete(endpoint);
  }
}

function readEndpoints(
  { sql, name }: ActorContext,
  ids: readonly string[] | null,
): Promise<SqlRow[]> {
  const only = ids === null ? "" : `AND e.id IN (${ids.map(() => "?").join(", ")})`;
  const params: SqlValue[] = [name, ...(ids ?? [])];
  return sql.all(
    `SELECT e.id, e.failures, e.concurrency, e.rate, ${NEXT} AS due FROM webhooks_endpoints e
     WHERE e.actor = ? AND e.enabled = 1 ${only}`,
    params,
  );
}

function update(queues: Map<string, EndpointQueue>, row: SqlRow, now: number): void {
  const endpoint = String(row["id"]);
  const concurrency = Number(row["concurrency"] ?? CONCURRENCY_DEFAULT);
  const rate = row["rate"] == null ? null : Number(row["rate"]);
  let queue = queues.get(endpoint);
  if (queue === undefined) {
    const fresh = { endpoint, inFlight: 0, window: WINDOW_AT_START, failures: 0, due: null };
    queues.set(endpoint, (queue = { ...fresh, concurrency, ...fullBucket(rate, now) }));
  }
  queue.concurrency = concurrency;
  queue.rate = rate;
  queue.failures = Number(row["failures"]);
  queue.due = row["due"] == null ? null : Number(row["due"]);
}
