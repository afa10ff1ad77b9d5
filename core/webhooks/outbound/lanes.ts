import type { ActorContext, SqlRow, SqlValue } from "../../ports.ts";
import { TRIP_FAILURES } from "./retry-policy.ts";

/** Requests to one endpoint in flight at a time, unless the endpoint sets its own number. */
export const CONCURRENCY_DEFAULT = 50;
/** Requests to an endpoint that has not answered yet; each success makes room for one more. */
const WINDOW_AT_START = 4;
/** Requests that every endpoint may have in flight, however many others there are. */
const GUARANTEED = 2;
/** Requests of one account beyond the guaranteed ones. */
const POOL = 512;
/** Characters of payloads in flight, beyond which an endpoint gets one request at a time. */
const PAYLOAD_LIMIT = 32 * 1024 * 1024;
/** Deliveries that are taken up in one transaction. */
const PLAN_LIMIT = 128;
/** Endpoints that one query names: SQLite on Workers binds at most 100 values to a statement. */
const NAMED_LIMIT = 90;

/** The queue of one endpoint: its requests in flight, and the time of the next one. */
export interface Lane {
  readonly endpoint: string;
  underWay: number;
  /** Requests that may be in flight at the moment: grows with successes, shrinks with failures. */
  window: number;
  concurrency: number;
  /** Requests per second; null = any number. */
  rate: number | null;
  tokens: number;
  refilled: number;
  /** Failures in a row. */
  failures: number;
  /** Unix ms from which on something is to be sent; null = nothing waits. */
  due: number | null;
}

/** The queues of an account's endpoints. */
export interface Lanes {
  /** Marks endpoints whose deliveries or settings changed; `null` marks all. */
  tell(endpoints: readonly string[] | null): void;
  /** Reads the endpoints that {@link tell} marked. */
  refresh(): Promise<void>;
  /** Numbers of deliveries to send now, by endpoint, fairly: one of each in turn. */
  plan(now: number): Map<Lane, number>;
  /** The time at which there is work without a call of {@link tell}; null = never. */
  wakeAt(now: number): number | null;
  began(lane: Lane): void;
  ended(lane: Lane, isSuccess: boolean): void;
  /** A payload of so many characters was loaded, or (negative) let go. */
  hold(characters: number): void;
  underWay(): number;
}

/** A delivery to an endpoint that is left alone waits for the endpoint. */
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
export function startLanes(context: ActorContext): Lanes {
  const lanes = new Map<string, Lane>();
  let told: Set<string> | null = null;
  let underWay = 0;
  let payloads = 0;
  let first = 0;

  /** Requests beyond the guaranteed ones come out of one pool. */
  function hasRoom(lane: Lane, planned: number, plannedInAll: number): boolean {
    const mine = lane.underWay + planned;
    const most = lane.failures >= TRIP_FAILURES ? 1 : Math.min(lane.window, lane.concurrency);
    if (mine >= most || !hasToken(lane, planned)) return false;
    if (payloads > PAYLOAD_LIMIT) return mine < 1;
    return mine < GUARANTEED || underWay + plannedInAll < POOL;
  }

  async function refresh(): Promise<void> {
    const named = told;
    told = new Set();
    if (named?.size === 0) return;
    const all = named === null || named.size > NAMED_LIMIT;
    try {
      const rows = await readEndpoints(context, all ? null : [...named]);
      for (const row of rows) update(lanes, row, context.steady());
      const seen = new Set(rows.map((row) => String(row["id"])));
      empty(lanes, (id) => (all || named.has(id)) && !seen.has(id));
    } catch (error) {
      told = null;
      throw error;
    }
  }

  return {
    tell(endpoints) {
      if (endpoints === null) told = null;
      else for (const one of endpoints) told?.add(one);
    },
    refresh,
    plan(now) {
      const ready = [...lanes.values()].filter(({ due }) => due !== null && due <= now);
      for (const lane of ready) refill(lane, now);
      // Another one comes first each time.
      first = ready.length === 0 ? 0 : (first + 1) % ready.length;
      return fairPlan([...ready.slice(first), ...ready.slice(0, first)], hasRoom);
    },
    wakeAt: (now) => wakeAt(lanes.values(), now),
    hold(characters) {
      payloads += characters;
    },
    began(lane) {
      lane.underWay++;
      underWay++;
    },
    ended(lane, isSuccess) {
      lane.underWay--;
      underWay--;
      lane.window = isSuccess
        ? Math.min(lane.window + 1, lane.concurrency)
        : Math.max(1, Math.floor(lane.window / 2));
    },
    underWay: () => underWay,
  };
}

/** One delivery of each in turn, as long as there is room. */
function fairPlan(
  lanes: readonly Lane[],
  hasRoom: (lane: Lane, planned: number, plannedInAll: number) => boolean,
): Map<Lane, number> {
  const plan = new Map<Lane, number>();
  let total = 0;
  for (let before = -1; before < total && total < PLAN_LIMIT;) {
    before = total;
    for (const lane of lanes) {
      const planned = plan.get(lane) ?? 0;
      if (total >= PLAN_LIMIT || !hasRoom(lane, planned, total)) continue;
      plan.set(lane, planned + 1);
      total++;
    }
  }
  return plan;
}

/** When the next delivery is due, or the next request of an endpoint with a rate may leave. */
function wakeAt(lanes: Iterable<Lane>, now: number): number | null {
  const times: number[] = [];
  for (const lane of lanes) {
    if (lane.due === null) continue;
    const isFree = lane.underWay < Math.min(lane.window, lane.concurrency);
    if (lane.due > now) times.push(lane.due);
    else if (isFree && !hasToken(lane, 0)) times.push(now + tokenIn(lane));
  }
  return times.length === 0 ? null : Math.min(...times);
}

/** Deleted and disabled endpoints have nothing to send. */
function empty(lanes: Map<string, Lane>, isGone: (endpoint: string) => boolean): void {
  for (const [endpoint, lane] of lanes) {
    if (!isGone(endpoint)) continue;
    lane.due = null;
    if (lane.underWay === 0) lanes.delete(endpoint);
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

function update(lanes: Map<string, Lane>, row: SqlRow, now: number): void {
  const endpoint = String(row["id"]);
  const concurrency = Number(row["concurrency"] ?? CONCURRENCY_DEFAULT);
  const rate = row["rate"] == null ? null : Number(row["rate"]);
  let lane = lanes.get(endpoint);
  if (lane === undefined) {
    const tokens = burstOf(rate);
    const fresh = { endpoint, underWay: 0, window: WINDOW_AT_START, refilled: now, failures: 0 };
    lanes.set(endpoint, (lane = { ...fresh, concurrency, rate, tokens, due: null }));
  }
  lane.concurrency = concurrency;
  lane.rate = rate;
  lane.failures = Number(row["failures"]);
  lane.due = row["due"] == null ? null : Number(row["due"]);
}

/** Requests that may leave at once after a pause: those of a second, one at least. */
function burstOf(rate: number | null): number {
  return rate === null ? 0 : Math.max(1, rate);
}

function refill(lane: Lane, now: number): void {
  if (lane.rate === null) return;
  // A clock that was set back gives nothing and takes nothing.
  const since = Math.max(0, now - lane.refilled);
  lane.tokens = Math.min(burstOf(lane.rate), lane.tokens + (since * lane.rate) / 1000);
  lane.refilled = now;
}

function hasToken(lane: Lane, planned: number): boolean {
  return lane.rate === null || lane.tokens >= planned + 1;
}

/** Ms until the next request may leave. */
function tokenIn(lane: Lane): number {
  return lane.rate === null ? 0 : Math.max(1, Math.ceil(((1 - lane.tokens) * 1000) / lane.rate));
}
