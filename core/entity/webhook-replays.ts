import type { ReplayFilter } from "./replay-filter.ts";
import { notFound, conflict } from "../http/api-error.ts";
import type { ActorContext, Plain, SqlRow, Statement } from "../ports.ts";
import type { Clock } from "./clock.ts";
import { eventTime } from "./event.ts";
import { agentKindName } from "./kebab.ts";
import { delayAfter, type RetrySchedule } from "../work/backoff.ts";
import { dueRows, isClaimed } from "../work/due-rows.ts";
import { listReplayEntities } from "./list-replay-entities.ts";

/** One call to an entity to replay a slice of its events. */
export type ReplaySlice = ReplayFilter & { readonly id: string; readonly until: string };

/** The progress of an entity with a replay. */
export type SliceReceipt = {
  readonly queued: number;
  readonly isDone: boolean;
  /** Whether the entity has as many jobs as it takes, so that the next slice can wait. */
  readonly isBehind: boolean;
};

/** Replays that run at a time. */
const RUNNING_LIMIT = 20;
/** Replays that are listed: all running ones, and the newest of the finished ones. */
const KEPT = 100;
/** Entities that are asked at a time, and rounds of one alarm. */
const AT_A_TIME = 16;
const ROUNDS = 10;
/** Pause before an entity that still works at its last slices is called again, in ms. */
const PAUSE_MS = 500;
/** Failed calls in a row after which an entity is given up. */
const TRIES = 8;
/** The delays between failed calls. */
const BACKOFF: RetrySchedule = { delays: { baseMs: 1000, maxMs: 64_000 }, spread: [1, 1] };
/** The queue of entities, each of which is asked by one call at a time. */
const ENTITIES = dueRows({
  table: "webhooks_replay_entities",
  key: ["actor", "replay", "agent", "entity"],
  attempts: "tries",
  leaseMs: 0,
});

export const replaySchema: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS webhooks_replays (
    actor TEXT NOT NULL, id TEXT NOT NULL, status TEXT NOT NULL, filter TEXT NOT NULL, owners TEXT,
    listed INTEGER NOT NULL, agent TEXT NOT NULL, entity TEXT NOT NULL, entities INTEGER NOT NULL,
    done INTEGER NOT NULL, failed INTEGER NOT NULL, queued INTEGER NOT NULL, created_at TEXT NOT NULL,
    finished_at TEXT, PRIMARY KEY (actor, id))`,
  "CREATE INDEX IF NOT EXISTS webhooks_replays_time ON webhooks_replays (actor, created_at, id)",
  `CREATE TABLE IF NOT EXISTS webhooks_replay_entities (
    actor TEXT NOT NULL, replay TEXT NOT NULL, agent TEXT NOT NULL, entity TEXT NOT NULL,
    due BIGINT NOT NULL, tries INTEGER NOT NULL, queued INTEGER NOT NULL,
    PRIMARY KEY (actor, replay, agent, entity))`,
  `CREATE INDEX IF NOT EXISTS webhooks_replay_entities_due
    ON webhooks_replay_entities (actor, due, replay, agent, entity)`,
];

/** Replays over many entities: rows that the alarm works off, so a crash ends none and repeats nothing. */
export interface Replays {
  create(filter: ReplayFilter, owners: readonly string[] | null): Promise<Plain>;
  list(): Promise<Plain>;
  get(id: string): Promise<Plain>;
  cancel(id: string): Promise<Plain>;
  /** The alarm's part. */
  run(): Promise<void>;
}

const COLUMNS = "id, status, filter, entities, done, failed, queued, created_at, finished_at";

export function startReplays(context: ActorContext, clock: Clock): Replays {
  const { name: actor, sql, system } = context;

  async function get(id: string): Promise<Plain> {
    const [row] = await sql.all(
      `SELECT ${COLUMNS} FROM webhooks_replays WHERE actor = ? AND id = ?`,
      [actor, id],
    );
    if (row === undefined) throw notFound("replay", id);
    return toReplay(row);
  }

  return {
    get,
    async create(filter, owners) {
      return get(await create(context, clock, filter, owners));
    },
    async list() {
      const rows = await sql.all(
        `SELECT ${COLUMNS} FROM webhooks_replays WHERE actor = ? ORDER BY created_at DESC, id DESC LIMIT ?`,
        [actor, KEPT + RUNNING_LIMIT],
      );
      return rows.map(toReplay);
    },
    async cancel(id) {
      await sql.batch([
        {
          sql: `UPDATE webhooks_replays SET status = 'canceled', finished_at = ?
            WHERE actor = ? AND id = ? AND status = 'running'`,
          params: [eventTime(system.now()), actor, id],
        },
        {
          sql: "DELETE FROM webhooks_replay_entities WHERE actor = ? AND replay = ?",
          params: [actor, id],
        },
      ]);
      return get(id);
    },
    async run() {
      for (let round = 0; round < ROUNDS; round++) {
        const listed = await listReplayEntities(context);
        const worked = await work(context);
        if (!listed && !worked) break;
      }
      await finish(context);
    },
  };
}

/** Stores a replay; resolves to its id. Throws 409 while too many are running. */
async function create(
  { name: actor, steady, system }: ActorContext,
  clock: Clock,
  filter: ReplayFilter,
  owners: readonly string[] | null,
): Promise<string> {
  const id = `rp_${system.id().replaceAll("-", "")}`;
  const now = eventTime(system.now());
  // Bounded by now: later events, and later failures, do not belong to this replay.
  const bounded = { ...filter, until: filter.until ?? now };
  const [inserted] = await clock.write(
    [
      {
        // Counted where it is inserted: calls of the index run beside each other.
        sql: `INSERT INTO webhooks_replays (actor, id, status, filter, owners, listed, agent, entity,
          entities, done, failed, queued, created_at)
          SELECT r.actor, r.id, 'running', r.filter, r.owners, 0, '', '', 0, 0, 0, 0, r.created_at
          FROM (SELECT CAST(? AS TEXT) AS actor, CAST(? AS TEXT) AS id, CAST(? AS TEXT) AS filter,
            CAST(? AS TEXT) AS owners, CAST(? AS TEXT) AS created_at) AS r
          WHERE (SELECT COUNT(*) FROM webhooks_replays n WHERE n.actor = r.actor AND n.status = 'running') < ?`,
        params: [
          actor,
          id,
          JSON.stringify(bounded),
          owners && JSON.stringify(owners),
          now,
          RUNNING_LIMIT,
        ],
      },
      {
        sql: `DELETE FROM webhooks_replays WHERE actor = ? AND status <> 'running' AND id NOT IN (
          SELECT r.id FROM webhooks_replays r WHERE r.actor = ? ORDER BY r.created_at DESC, r.id DESC LIMIT ?)`,
        params: [actor, actor, KEPT],
      },
    ],
    steady(),
  );
  if (inserted?.changes !== 1) {
    throw conflict(`${RUNNING_LIMIT} replays are under way: wait for one of them, or cancel it`);
  }
  return id;
}

function toReplay(row: SqlRow): { readonly [key: string]: Plain } {
  const { filter, ...rest } = row;
  return { ...rest, ...(JSON.parse(String(filter)) as ReplayFilter) };
}

/** When replays have something to do, by the steady clock. */
export async function nextReplay({ name, sql, steady }: ActorContext): Promise<number | null> {
  const [row] = await sql.all(
    `SELECT (SELECT MIN(due) FROM webhooks_replay_entities WHERE actor = ?) AS due,
      (SELECT COUNT(*) FROM webhooks_replays WHERE actor = ? AND status = 'running' AND listed = 0) AS unlisted`,
    [name, name],
  );
  if (Number(row?.["unlisted"]) > 0) return steady();
  return row?.["due"] == null ? null : Number(row["due"]);
}

/** Asks each due entity for a slice, the longest waiting first; resolves to whether there were any. */
async function work(context: ActorContext): Promise<boolean> {
  const { name: actor, sql, steady } = context;
  const rows = await sql.all(
    `SELECT e.replay, e.agent, e.entity, e.tries, e.queued, r.filter
      FROM webhooks_replay_entities e JOIN webhooks_replays r ON r.actor = e.actor AND r.id = e.replay
      WHERE e.actor = ? AND e.due <= ? ORDER BY e.due, e.replay, e.agent, e.entity LIMIT ?`,
    [actor, steady(), AT_A_TIME],
  );
  if (rows.length === 0) return false;
  const claims = await sql.batch(
    rows.map((row) =>
      ENTITIES.claim({ key: keyOf(actor, row), attempts: Number(row["tries"]) }, steady()),
    ),
    { lazy: true },
  );
  // Without those whose replay was canceled meanwhile.
  const claimed = rows.filter((_, index) => isClaimed(claims[index]));
  await Promise.all(claimed.map((row) => workOn(context, row)));
  return true;
}

function keyOf(actor: string, row: SqlRow): [string, string, string, string] {
  return [actor, String(row["replay"]), String(row["agent"]), String(row["entity"])];
}

async function workOn(context: ActorContext, row: SqlRow): Promise<void> {
  const { actors, sql, steady, system } = context;
  const key = keyOf(context.name, row);
  const [, replay, agent, entity] = key;
  const slice = { ...(JSON.parse(String(row["filter"])) as ReplaySlice), id: replay };
  const before = Number(row["queued"]);
  const attempt = Number(row["tries"]) + 1;
  let receipt: SliceReceipt;
  // Calls during which the process ended count, too.
  if (attempt > TRIES) return void (await sql.batch(over(key, "failed", 0)));
  try {
    const ref = actors.get(agentKindName(agent), entity);
    receipt = (await ref.call("replaySlice", slice)) as SliceReceipt;
  } catch {
    const delay = attempt < TRIES ? delayAfter(BACKOFF, attempt, system) : null;
    await sql.batch(
      delay === null ? over(key, "failed", 0) : [ENTITIES.again(key, steady() + delay)],
    );
    return;
  }
  const more = receipt.queued - before;
  await sql.batch(
    receipt.isDone
      ? over(key, "done", more)
      : // It has work now; where nothing fitted, it can look on at once.
        [
          ENTITIES.again(key, steady() + (receipt.isBehind ? PAUSE_MS : 0), {
            tries: 0,
            queued: receipt.queued,
          }),
          count(key, "queued", more),
        ],
  );
}

function count([actor = "", id = ""]: readonly string[], column: string, by: number): Statement {
  return {
    sql: `UPDATE webhooks_replays SET ${column} = ${column} + ? WHERE actor = ? AND id = ?`,
    params: [by, actor, id],
  };
}

function over(key: readonly string[], column: "done" | "failed", queued: number): Statement[] {
  return [ENTITIES.end(key), count(key, column, 1), count(key, "queued", queued)];
}

/** Ends the replays whose entities are all done. */
async function finish({ name: actor, sql, system }: ActorContext): Promise<void> {
  await sql.batch([
    {
      sql: `UPDATE webhooks_replays SET status = 'completed', finished_at = ?
        WHERE actor = ? AND status = 'running' AND listed = 1 AND NOT EXISTS (
          SELECT 1 FROM webhooks_replay_entities e
          WHERE e.actor = webhooks_replays.actor AND e.replay = webhooks_replays.id)`,
      params: [eventTime(system.now()), actor],
    },
  ]);
}
