import * as v from "valibot";
import { eventTime } from "../../entity/event.ts";
import { applicationId, type ApplicationLimits } from "../../entity/outbound.ts";
import { type ApiError, notFound, conflict } from "../../http/api-error.ts";
import type { ActorContext, SqlRow, SqlValue, Statement } from "../../ports.ts";
import { ENDPOINT_LIMIT } from "./endpoints.ts";

/** Most applications of an account. */
const APPLICATION_LIMIT = 10_000;
/** Rows of one statement that deletes what an application had. */
const SLICE = 500;

/** An application: a customer of the account, whose endpoints, secrets and deliveries are its own. */
export type Application = ApplicationLimits & {
  readonly id: string;
  readonly name: string | null;
  readonly created_at: string;
};

/** A checked body of `POST …/applications`. */
export type ApplicationInput = ApplicationLimits & {
  readonly id: string;
  readonly name?: string | undefined;
};

/** A checked body of `PATCH …/applications/:application_id`. */
export type ApplicationPatch = {
  readonly name?: string | undefined;
  readonly max_endpoints?: number | undefined;
  readonly messages_per_second?: number | null | undefined;
};

const name = v.optional(v.pipe(v.string(), v.maxLength(256)));
const maxEndpoints = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(ENDPOINT_LIMIT));
const messageRate = v.nullable(v.pipe(v.number(), v.minValue(0.01), v.maxValue(10_000)));

/** Body of `POST …/applications`. */
export const applicationInput: v.GenericSchema<unknown, ApplicationInput> = v.object({
  /** The account's own id of the customer. */
  id: applicationId,
  name,
  max_endpoints: v.optional(maxEndpoints, 50),
  messages_per_second: v.optional(messageRate, null),
});

/** Body of `PATCH …/applications/:application_id`. */
export const applicationPatch: v.GenericSchema<unknown, ApplicationPatch> = v.object({
  name,
  max_endpoints: v.optional(maxEndpoints),
  messages_per_second: v.optional(messageRate),
});

/** A page of applications; `cursor` is the last id, null on the last page. */
export type ApplicationPage = {
  readonly rows: Application[];
  readonly cursor: string | null;
};

/** The applications of an account. Operations on one throw 404 for an unknown id, and for one that is being deleted. */
export interface Applications {
  create(input: ApplicationInput): Promise<Application>;
  list(limit: number, cursor: string | undefined): Promise<ApplicationPage>;
  get(id: string): Promise<Application>;
  update(id: string, patch: ApplicationPatch): Promise<Application>;
  /** Hides the application, whose rows are deleted next; also one that is hidden already. */
  hide(id: string): Promise<void>;
  /** Forgets a hidden application, whose rows are deleted. */
  forget(id: string): Promise<void>;
}

/** The applications of an account, as rows of its actor. */
export function applications(context: ActorContext): Applications {
  const { name: actor, sql, system } = context;
  async function get(id: string): Promise<Application> {
    const [row] = await sql.all(
      "SELECT * FROM webhooks_applications WHERE actor = ? AND id = ? AND hidden = 0",
      [actor, id],
    );
    if (row === undefined) throw notFound("webhook application", id);
    return toApplication(row);
  }

  /** Runs a statement on the row of an application; throws 404 if there is no such row. */
  async function change(id: string, statement: Statement): Promise<void> {
    const [changed] = await sql.batch([statement]);
    if (changed?.changes !== 1) throw notFound("webhook application", id);
  }

  return {
    get,
    async create(input) {
      const [inserted] = await sql.batch([insert(actor, input, eventTime(system.now()))]);
      if (inserted?.changes === 1) return get(input.id);
      throw await refusal(context, input.id);
    },
    async list(limit, cursor = "") {
      const rows = await sql.all(
        `SELECT * FROM webhooks_applications WHERE actor = ? AND hidden = 0 AND id > ?
         ORDER BY id LIMIT ?`,
        [actor, cursor, limit + 1],
      );
      const shown = rows.slice(0, limit).map(toApplication);
      return { rows: shown, cursor: rows.length > limit ? (shown.at(-1)?.id ?? null) : null };
    },
    async update(id, patch) {
      const before = await get(id);
      const { max_endpoints: most = before.max_endpoints, name: given = before.name } = patch;
      const { messages_per_second: rate = before.messages_per_second } = patch;
      await change(id, {
        sql: `UPDATE webhooks_applications SET name = ?, max_endpoints = ?, rate = ?
          WHERE actor = ? AND id = ? AND hidden = 0`,
        params: [given, most, rate, actor, id],
      });
      return get(id);
    },
    hide: (id) =>
      change(id, {
        sql: "UPDATE webhooks_applications SET hidden = 1 WHERE actor = ? AND id = ?",
        params: [actor, id],
      }),
    async forget(id) {
      const sqlText = "DELETE FROM webhooks_applications WHERE actor = ? AND id = ? AND hidden = 1";
      await sql.batch([{ sql: sqlText, params: [actor, id] }]);
    },
  };
}

/** Says why an application was not made: its id is taken, or there are too many. */
async function refusal({ name: actor, sql }: ActorContext, id: string): Promise<ApiError> {
  const taken = await sql.all("SELECT 1 FROM webhooks_applications WHERE actor = ? AND id = ?", [
    actor,
    id,
  ]);
  const message =
    taken.length > 0
      ? `There is an application "${id}": take another id, or change that one by PATCH`
      : `An account has at most ${APPLICATION_LIMIT} applications: delete one first`;
  return conflict(message);
}

/** Deletes what an actor has sent and where to, in slices. The key that seals its secrets stays. */
export async function deleteRows({ name: actor, sql }: ActorContext): Promise<void> {
  for (const [table, column] of [
    ["webhooks_endpoints", "id"],
    ["webhooks_deliveries", "id"],
    ["webhooks_attempts", "delivery_id"],
    ["webhooks_messages", "id"],
    ["webhooks_counters", "name"],
    ["webhooks_topics", "type"],
  ] as const) {
    const slice = `SELECT ${column} FROM ${table} WHERE actor = ? LIMIT ?`;
    const statement = {
      sql: `DELETE FROM ${table} WHERE actor = ? AND ${column} IN (${slice})`,
      params: [actor, actor, SLICE],
    };
    for (;;) {
      const [deleted] = await sql.batch([statement]);
      if ((deleted?.changes ?? 0) === 0) break;
    }
  }
}

function insert(actor: string, input: ApplicationInput, created: string): Statement {
  const { id, max_endpoints: most, messages_per_second: rate, name: given = null } = input;
  const params: SqlValue[] = [actor, id, given, most, rate, created, actor, APPLICATION_LIMIT];
  return {
    sql: `INSERT INTO webhooks_applications (actor, id, name, max_endpoints, rate, hidden, created_at)
      SELECT ?, ?, ?, ?, ?, 0, ?
      WHERE (SELECT COUNT(*) FROM webhooks_applications WHERE actor = ?) < ?
      ON CONFLICT (actor, id) DO NOTHING`,
    params,
  };
}

function toApplication(row: SqlRow): Application {
  return {
    id: String(row["id"]),
    name: row["name"] == null ? null : String(row["name"]),
    max_endpoints: Number(row["max_endpoints"]),
    messages_per_second: row["rate"] == null ? null : Number(row["rate"]),
    created_at: String(row["created_at"]),
  };
}
