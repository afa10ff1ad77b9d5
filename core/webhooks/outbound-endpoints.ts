import type { Clock } from "../entity/clock.ts";
import { eventTime } from "../entity/event.ts";
import { ApiError } from "../http/api-error.ts";
import type { ActorContext, SqlRow, Statement } from "../ports.ts";
import type { EndpointInput, EndpointPatch } from "./outbound-schema.ts";
import type { EndpointSecrets } from "./outbound-secrets.ts";

/** Most endpoints of an account. */
const ENDPOINT_LIMIT = 500;

/** An endpoint as the API shows it: without its secrets. */
export type EndpointView = {
  readonly id: string;
  readonly url: string;
  readonly description: string | null;
  readonly types: readonly string[];
  readonly format: string;
  readonly enabled: boolean;
  readonly disabled_reason: string | null;
  readonly created_at: string;
};

/** An endpoint with a secret that is shown this once. */
export type EndpointWithSecret = EndpointView & { readonly secret: string };

/** The endpoints of an account. What names one throws 404 when there is none. */
export interface Endpoints {
  create(input: EndpointInput): Promise<EndpointWithSecret>;
  list(): Promise<EndpointView[]>;
  get(id: string): Promise<EndpointView>;
  update(id: string, patch: EndpointPatch): Promise<EndpointView>;
  /** Also cancels what is pending. */
  remove(id: string): Promise<{ readonly id: string }>;
  /** A fresh secret; the old ones sign along for a day. */
  rotate(id: string): Promise<EndpointWithSecret>;
}

/** The endpoints of an account. */
export function endpoints(
  context: ActorContext,
  secrets: EndpointSecrets,
  clock: Clock,
): Endpoints {
  const { sql, system, name: actor } = context;
  const inTurn = turns();

  const find = (id: string): Promise<SqlRow> => findEndpoint(context, id);
  const view = async (id: string): Promise<EndpointView> => toView(await find(id));

  return {
    get: view,
    create: (input) => create(context, secrets, input),
    async list() {
      const order = "ORDER BY created_at, id";
      const rows = await sql.all(`SELECT * FROM webhooks_endpoints WHERE actor = ? ${order}`, [
        actor,
      ]);
      return rows.map(toView);
    },
    update: (id, patch) =>
      inTurn(async () => {
        // What waited for a disabled endpoint may be due the moment it is enabled.
        await clock.write([updateEndpoint(actor, await find(id), patch)], system.now());
        return view(id);
      }),
    async remove(id) {
      await find(id);
      const finished = eventTime(system.now());
      await sql.batch([
        { sql: "DELETE FROM webhooks_endpoints WHERE actor = ? AND id = ?", params: [actor, id] },
        {
          sql: `UPDATE webhooks_deliveries SET status = 'canceled', finished_at = ?
            WHERE actor = ? AND endpoint_id = ? AND status = 'pending'`,
          params: [finished, actor, id],
        },
      ]);
      return { id };
    },
    rotate: (id) =>
      inTurn(async () => {
        const secret = secrets.fresh();
        const stored = await secrets.rotated(await find(id), secret);
        await sql.batch([
          {
            sql: "UPDATE webhooks_endpoints SET secrets = ? WHERE actor = ? AND id = ?",
            params: [stored, actor, id],
          },
        ]);
        return { ...(await view(id)), secret };
      }),
  };
}

async function findEndpoint({ sql, name }: ActorContext, id: string): Promise<SqlRow> {
  const [row] = await sql.all("SELECT * FROM webhooks_endpoints WHERE actor = ? AND id = ?", [
    name,
    id,
  ]);
  if (row === undefined) throw new ApiError("not_found", { message: "No such webhook endpoint" });
  return row;
}

async function create(
  context: ActorContext,
  secrets: EndpointSecrets,
  input: EndpointInput,
): Promise<EndpointWithSecret> {
  const { sql, system, name: actor } = context;
  const id = `ep_${system.id().replaceAll("-", "")}`;
  const secret = input.secret ?? secrets.fresh();
  const stored = await secrets.first(id, secret);
  const [inserted] = await sql.batch([
    insertEndpoint(actor, id, input, stored, eventTime(system.now())),
  ]);
  if (inserted?.changes !== 1) {
    throw new ApiError("conflict", {
      message: `An account has at most ${ENDPOINT_LIMIT} webhook endpoints`,
    });
  }
  return { ...toView(await findEndpoint(context, id)), secret };
}

/** Calls of the actor are interleaved, so what reads a row and writes it back takes turns. */
function turns(): <T>(work: () => Promise<T>) => Promise<T> {
  let tail: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = tail.then(work);
    tail = result.catch(() => undefined);
    return result;
  };
}

function insertEndpoint(
  actor: string,
  id: string,
  input: EndpointInput,
  secrets: string,
  created: string,
): Statement {
  const { url, description = null, types, format } = input;
  return {
    sql: `INSERT INTO webhooks_endpoints
        (actor, id, url, description, types, format, secrets, enabled, failures, created_at)
      SELECT ?, ?, ?, ?, ?, ?, ?, 1, 0, ?
      WHERE (SELECT COUNT(*) FROM webhooks_endpoints WHERE actor = ?) < ?`,
    params: [
      actor,
      id,
      url,
      description,
      JSON.stringify(types),
      format,
      secrets,
      created,
      actor,
      ENDPOINT_LIMIT,
    ],
  };
}

/** A change gives the endpoint a fresh start: its failures are forgotten. */
function updateEndpoint(actor: string, row: SqlRow, patch: EndpointPatch): Statement {
  const enabled = patch.enabled ?? Number(row["enabled"]) === 1;
  const types = patch.types === undefined ? String(row["types"]) : JSON.stringify(patch.types);
  const reason =
    patch.enabled === false ? "Disabled through the API" : (row["disabled_reason"] ?? null);
  return {
    sql: `UPDATE webhooks_endpoints SET url = ?, description = ?, types = ?, enabled = ?, disabled_reason = ?,
      failing_since = NULL, failures = 0 WHERE actor = ? AND id = ?`,
    params: [
      patch.url ?? String(row["url"]),
      patch.description ?? row["description"] ?? null,
      types,
      enabled ? 1 : 0,
      enabled ? null : reason,
      actor,
      String(row["id"]),
    ],
  };
}

function toView(row: SqlRow): EndpointView {
  return {
    id: String(row["id"]),
    url: String(row["url"]),
    description: textOrNull(row["description"]),
    types: JSON.parse(String(row["types"])) as string[],
    format: String(row["format"]),
    enabled: Number(row["enabled"]) === 1,
    disabled_reason: textOrNull(row["disabled_reason"]),
    created_at: String(row["created_at"]),
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
