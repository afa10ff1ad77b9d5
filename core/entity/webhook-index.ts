import { fromBase64Url, toBase64Url, utf8 } from "../crypto/encoding.ts";
import { invalidRequest } from "../http/api-error.ts";
import { parsedJson } from "../http/json.ts";
import { startClock } from "./clock.ts";
import type { Retention } from "./event.ts";
import { holderSchema, plainHolder } from "./plain-holder.ts";
import { nextSweep, startSweep, sweepSchema } from "./retention-sweep.ts";
import { nextReplay, replaySchema, type Replays, startReplays } from "./webhook-replays.ts";
import { isAmong } from "../sql/sql-text.ts";
import { type ActorClient, actorClient } from "../actors/actor-client.ts";
import type {
  Actor,
  ActorContext,
  ActorKind,
  Actors,
  SqlRow,
  SqlValue,
  Statement,
} from "../ports.ts";

/** Kind of actor that lists the entities and their failures. */
export const INDEX_KIND = "webhooks-index";
/** Inbound events belong to one account, so one actor lists them all. */
export const INDEX_NAME = "all";

/** A job of an entity that has failed. */
export type Failure = {
  /** The job's id, which is also the id of its dead letter. */
  readonly id: string;
  /** Whether it runs again, or has failed for good. */
  readonly state: "failing" | "dead";
  readonly task: string;
  /** Position and id of the job's event; null for a task. */
  readonly seq: number | null;
  readonly event: string | null;
  readonly source: string | null;
  readonly attempts: number;
  readonly error: string;
  readonly failed_at: string;
  /** When a failing job was to run again; null for a dead one. */
  readonly next_at: string | null;
};

/** The report of an entity on itself: its present state, so that a repeated report does no harm. */
export type IndexReport = {
  /** Kebab form of the agent class. */
  readonly agent: string;
  readonly entity: string;
  /** Left out: nothing new; null: it was destroyed. */
  readonly row?: { readonly source: string | null; readonly last_seen: string } | null;
  readonly failures: readonly Failure[];
  /** Jobs that no longer fail. */
  readonly settled: readonly string[];
  /** The retention that is configured in the entity's process, if any. */
  readonly retention?: Retention;
};

/** The filter and page of a list. */
export type IndexQuery = {
  readonly agent?: string | undefined;
  readonly entity?: string | undefined;
  readonly source?: string | undefined;
  /** All sources that have their entities together with `source`. @default itself alone */
  readonly owners?: readonly string[] | undefined;
  /** The end of the previous page. */
  readonly cursor?: string | undefined;
  readonly limit: number;
};

/** A page of a list; `cursor` is null on the last one. */
export type IndexPage = { readonly rows: SqlRow[]; readonly cursor: string | null };

export interface IndexMethods {
  report(report: IndexReport): Promise<void>;
  entities(query: IndexQuery): Promise<IndexPage>;
  failures(state: Failure["state"], query: IndexQuery): Promise<IndexPage>;
  /**
   * The source that had an agent class to itself, or none (null). If there was none and the asking source is alone, it
   * is that source from now on.
   */
  plainHolder(agent: string, owners: readonly string[], isAlone: boolean): Promise<string | null>;
  createReplay: Replays["create"];
  listReplays: Replays["list"];
  getReplay: Replays["get"];
  cancelReplay: Replays["cancel"];
}

/** The index of the account. */
export function webhookIndex(actors: Pick<Actors, "get">): ActorClient<IndexMethods> {
  return actorClient(actors.get(INDEX_KIND, INDEX_NAME));
}

/** Each list is read along one of its indexes, so a page costs the same at any position. */
const schema: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS webhooks_index_entities (
    actor TEXT NOT NULL, agent TEXT NOT NULL, entity TEXT NOT NULL, source TEXT, last_seen TEXT NOT NULL,
    PRIMARY KEY (actor, agent, entity))`,
  `CREATE INDEX IF NOT EXISTS webhooks_index_entities_time
    ON webhooks_index_entities (actor, last_seen, agent, entity)`,
  `CREATE INDEX IF NOT EXISTS webhooks_index_entities_agent
    ON webhooks_index_entities (actor, agent, last_seen, entity)`,
  `CREATE INDEX IF NOT EXISTS webhooks_index_entities_source
    ON webhooks_index_entities (actor, source, last_seen, agent, entity)`,
  `CREATE TABLE IF NOT EXISTS webhooks_index_failures (
    actor TEXT NOT NULL, agent TEXT NOT NULL, entity TEXT NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL,
    task TEXT NOT NULL, seq INTEGER, event TEXT, source TEXT, attempts INTEGER NOT NULL, error TEXT NOT NULL,
    failed_at TEXT NOT NULL, next_at TEXT, PRIMARY KEY (actor, agent, entity, id))`,
  `CREATE INDEX IF NOT EXISTS webhooks_index_failures_time
    ON webhooks_index_failures (actor, state, failed_at, agent, entity, id)`,
  `CREATE INDEX IF NOT EXISTS webhooks_index_failures_agent
    ON webhooks_index_failures (actor, state, agent, failed_at, entity, id)`,
  `CREATE INDEX IF NOT EXISTS webhooks_index_failures_source
    ON webhooks_index_failures (actor, state, source, failed_at, agent, entity, id)`,
  ...replaySchema,
  ...sweepSchema,
  ...holderSchema,
];

/**
 * The kind of actor that lists entities, failures and dead letters across entities. Entities report to it when their
 * agent starts and when a job fails, is given up, or succeeds after all: an entity that is well sends nothing.
 */
export const webhookIndexKind: ActorKind = {
  name: INDEX_KIND,
  schema,
  // These do not wait for the mailbox: the alarm holds it while it waits for entities, which may be reporting.
  interleaved:
    "report entities failures plainHolder createReplay listReplays getReplay cancelReplay".split(
      " ",
    ),
  detached: {
    methods: {
      plainHolder: (context, agent: string, owners: readonly string[], isAlone: boolean) =>
        plainHolder(context, agent, owners, isAlone),
    },
  },
  start: startIndex,
};

async function startIndex(context: ActorContext): Promise<Actor> {
  const clock = await startClock(context, async () => {
    const due = [await nextReplay(context), await nextSweep(context)].filter((one) => one !== null);
    return due.length === 0 ? null : Math.min(...due);
  });
  const replays = startReplays(context, clock);
  const sweep = startSweep(context, clock);
  const methods: IndexMethods = {
    async report(report) {
      await context.sql.batch(changes(context, report));
      if (report.retention !== undefined) await sweep.follow(report.retention);
    },
    entities: (query) => page(context, ENTITIES, [], query),
    failures: (state, query) => page(context, FAILURES, [["state", state]], query),
    plainHolder: (agent, owners, isAlone) => plainHolder(context, agent, owners, isAlone),
    createReplay: (filter, owners) => replays.create(filter, owners),
    listReplays: () => replays.list(),
    getReplay: (id) => replays.get(id),
    cancelReplay: (id) => replays.cancel(id),
  };
  return {
    methods: { ...methods },
    onAlarm: () =>
      clock.onAlarm(async () => {
        await sweep.run();
        await replays.run();
      }),
  };
}

const SAVE_ENTITY = `INSERT INTO webhooks_index_entities (actor, agent, entity, source, last_seen)
  VALUES (?, ?, ?, ?, ?) ON CONFLICT (actor, agent, entity) DO UPDATE SET
    source = excluded.source, last_seen = excluded.last_seen`;
const SAVE_FAILURE = `INSERT INTO webhooks_index_failures
  (actor, agent, entity, id, state, task, seq, event, source, attempts, error, failed_at, next_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (actor, agent, entity, id) DO UPDATE SET
    state = excluded.state, attempts = excluded.attempts, error = excluded.error,
    failed_at = excluded.failed_at, next_at = excluded.next_at`;

function changes({ name: actor }: ActorContext, report: IndexReport): Statement[] {
  const { agent, entity, failures, row, settled } = report;
  const key = [actor, agent, entity];
  const statements: Statement[] = [];
  if (row === null) {
    for (const table of ["webhooks_index_entities", "webhooks_index_failures"])
      statements.push({
        sql: `DELETE FROM ${table} WHERE actor = ? AND agent = ? AND entity = ?`,
        params: key,
      });
  } else if (row !== undefined) {
    statements.push({ sql: SAVE_ENTITY, params: [...key, row.source, row.last_seen] });
  }
  for (const id of settled)
    statements.push({
      sql: "DELETE FROM webhooks_index_failures WHERE actor = ? AND agent = ? AND entity = ? AND id = ?",
      params: [...key, id],
    });
  for (const one of failures) {
    const { attempts, error, event, failed_at, id, next_at, seq, source, state, task } = one;
    const values = [id, state, task, seq, event, source, attempts, error, failed_at, next_at];
    statements.push({ sql: SAVE_FAILURE, params: [...key, ...values] });
  }
  return statements;
}

/** A list: its rows and its sort columns, newest first. */
interface List {
  readonly select: string;
  readonly order: readonly string[];
}

const ENTITIES: List = {
  select: "SELECT agent, entity, source, last_seen FROM webhooks_index_entities",
  order: ["last_seen", "agent", "entity"],
};
const FAILURES: List = {
  select: `SELECT id, agent, entity, source, task, event, seq, attempts, error, failed_at, next_at
    FROM webhooks_index_failures`,
  order: ["failed_at", "agent", "entity", "id"],
};

async function page(
  { name: actor, sql }: ActorContext,
  { order, select }: List,
  fixed: readonly (readonly [string, string])[],
  { agent, cursor, entity, limit, owners, source }: IndexQuery,
): Promise<IndexPage> {
  const asked = Object.entries({ agent, entity, source: owners ?? source }).flatMap(
    ([column, value]): [string, readonly string[]][] =>
      value === undefined ? [] : [[column, [value].flat()]],
  );
  const equal: [string, readonly string[]][] = fixed.map(([column, value]) => [column, [value]]);
  equal.unshift(["actor", [actor]]);
  equal.push(...asked);
  const conditions = equal.map(([column, values]) => isAmong(column, values));
  const params: SqlValue[] = conditions.flatMap((one) => one.params);
  let where = conditions.map((one) => one.sql).join(" AND ");
  if (cursor !== undefined) {
    where += ` AND (${order.join(", ")}) < (${order.map(() => "?").join(", ")})`;
    params.push(...decodeCursor(cursor, order.length));
  }
  const by = order.map((column) => `${column} DESC`).join(", ");
  const rows = await sql.all(`${select} WHERE ${where} ORDER BY ${by} LIMIT ?`, [
    ...params,
    limit + 1,
  ]);
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  return {
    rows: shown,
    cursor: last === undefined ? null : encodeCursor(order.map((column) => String(last[column]))),
  };
}

function encodeCursor(values: readonly string[]): string {
  return toBase64Url(utf8(JSON.stringify(values)));
}

/** Throws 400 for anything but what {@link encodeCursor} makes. */
function decodeCursor(cursor: string, length: number): string[] {
  const bytes = fromBase64Url(cursor);
  const values = bytes === null ? null : parsedJson(new TextDecoder().decode(bytes));
  if (Array.isArray(values) && values.length === length && values.every(isText)) return values;
  throw invalidRequest('cursor: expected the "cursor" of the page before');
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
