import { fromBase64Url, toBase64Url, utf8 } from "../crypto/encoding.ts";
import { ApiError } from "../http/api-error.ts";
import { parsedJson } from "../http/json.ts";
import { startClock } from "./clock.ts";
import { plainHolder } from "./plain-holder.ts";
import { nextSweep, startSweep } from "./retention-sweep.ts";
import type { IndexMethods, IndexPage, IndexQuery, IndexReport } from "./webhook-index.ts";
import { nextReplay, startReplays } from "./webhook-replays.ts";
import { isAmong } from "../sql/sql-text.ts";
import type { Actor, ActorContext, SqlValue, Statement } from "../ports.ts";

/** Starts the index of the account. */
export async function startIndex(context: ActorContext): Promise<Actor> {
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
  throw new ApiError("invalid_request", {
    message: 'cursor: Expected the "cursor" of the page before',
  });
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
