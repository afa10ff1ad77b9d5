import type { Clock } from "../../entity/clock.ts";
import { eventTime } from "../../entity/event.ts";
import { notFound, invalidRequest, conflict } from "../../http/api-error.ts";
import { secretOrigin } from "../../net/secret-origin.ts";
import type { ActorContext, SqlRow, SqlValue, Statement, Transport } from "../../ports.ts";
import type { Turns } from "../pace/turns.ts";
import type { Changes } from "../../work/due-rows.ts";
import { isEd25519, publicKeyOf } from "../signing/ed25519.ts";
import { CONCURRENCY_DEFAULT } from "./endpoint-queues.ts";
import type {
  PayloadFilter,
  EndpointInput,
  EndpointPatch,
  RotateInput,
} from "./outbound-schema.ts";
import { agentTarget, type AgentTargets, checkAgentTarget } from "./agent-target.ts";
import { TIMEOUT_DEFAULT_S } from "./attempt.ts";
import { forgetTopics } from "./topics.ts";
import { headerNames, sealHeaders } from "./endpoint-headers.ts";
import type { EndpointSecrets } from "./endpoint-secrets.ts";
import type { Sealer } from "./sealer.ts";

/** Most endpoints of an account, and of an application. */
export const ENDPOINT_LIMIT = 500;

/** An endpoint as the API shows it: without its secrets. */
export type EndpointView = {
  readonly id: string;
  readonly url: string;
  readonly description: string | null;
  readonly types: readonly string[];
  readonly format: string;
  readonly ordered: boolean;
  /** Requests to it in flight at a time. */
  readonly concurrency: number;
  /** Requests to it per second; null = any number. */
  readonly rate_per_second: number | null;
  /** The condition that payloads fulfil; null = every payload is sent. */
  readonly filter: PayloadFilter | null;
  /** Names of the headers of its own; their values are not shown. */
  readonly header_names: readonly string[];
  /** Seconds between the attempts; null = the standard schedule. */
  readonly retry_delays_seconds: readonly number[] | null;
  readonly timeout_seconds: number;
  /** The key that checks the Ed25519 signatures (`whpk_…`); null for HMAC. */
  readonly public_key: string | null;
  readonly enabled: boolean;
  readonly disabled_reason: string | null;
  /** ISO 8601: the end of the pause of a failing endpoint. */
  readonly tripped_until: string | null;
  readonly created_at: string;
};

/** An endpoint with a secret that is shown this once; a private key is not shown at all. */
export type EndpointWithSecret = EndpointView & { readonly secret?: string };

/** The endpoints of an account. Operations on one throw 404 for an unknown id. */
export interface Endpoints {
  /** Throws 409 beyond `most` endpoints. */
  create(input: EndpointInput, most: number): Promise<EndpointWithSecret>;
  list(): Promise<EndpointView[]>;
  get(id: string): Promise<EndpointView>;
  update(id: string, patch: EndpointPatch): Promise<EndpointView>;
  /** Also cancels its pending deliveries. */
  remove(id: string): Promise<{ readonly id: string }>;
  /** Another secret; the old ones sign along for a while. */
  rotate(id: string, input: RotateInput): Promise<EndpointWithSecret>;
}

/** Clock, secrets and transport of the endpoints of an account. */
export interface EndpointDeps {
  readonly secrets: EndpointSecrets;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly inTurn: Turns;
  readonly egress: Transport;
  readonly agents: AgentTargets;
  /** Receives the endpoints whose deliveries may go on. */
  readonly notify: (endpoints: readonly string[]) => void;
}

export function endpoints(
  context: ActorContext,
  { secrets, sealer, clock, inTurn, egress, agents, notify }: EndpointDeps,
): Endpoints {
  const { sql, system, name: actor } = context;

  const find = (id: string): Promise<SqlRow> => findEndpoint(context, id);
  const view = async (id: string): Promise<EndpointView> => toView(await find(id));
  const check = (url: string): void => checkUrl({ agents, egress }, actor, url);

  return {
    get: view,
    async create(input, most) {
      check(input.url);
      return create(context, { secrets, sealer }, { input, most });
    },
    list: async () => (await listEndpoints(context)).map(toView),
    update: (id, patch) =>
      inTurn(async () => {
        if (patch.url !== undefined) check(patch.url);
        checkHeaders(await find(id), patch);
        const { headers } = patch;
        const columns = {
          ...changedColumns(patch),
          ...(headers && { headers: await sealHeaders(sealer, id, headers) }),
        };
        // Deliveries that waited for a disabled endpoint may be due the moment it is enabled.
        await clock.write([updateEndpoint(actor, id, columns)], context.steady());
        notify([id]);
        return view(id);
      }),
    async remove(id) {
      await find(id);
      const finished = eventTime(system.now());
      await sql.batch([
        { sql: "DELETE FROM webhooks_endpoints WHERE actor = ? AND id = ?", params: [actor, id] },
        forgetTopics(actor, id),
        {
          sql: `UPDATE webhooks_deliveries SET status = 'canceled', finished_at = ?
            WHERE actor = ? AND endpoint_id = ? AND status = 'pending'`,
          params: [finished, actor, id],
        },
      ]);
      return { id };
    },
    rotate: (id, input) =>
      inTurn(async () => {
        const row = await find(id);
        const { publicKey, secret } = await newKey(secrets, input, row["public_key"] != null);
        const stored = await secrets.rotated(row, secret, input.grace_seconds * 1000);
        await sql.batch([
          {
            sql: "UPDATE webhooks_endpoints SET secrets = ?, public_key = ? WHERE actor = ? AND id = ?",
            params: [stored, publicKey, actor, id],
          },
        ]);
        return withSecret(await view(id), secret);
      }),
  };
}

/**
 * Throws 400 for an address that no attempt could reach, so that its owner learns of it now and not from the first
 * failure.
 */
function checkUrl(
  { agents, egress }: Pick<EndpointDeps, "agents" | "egress">,
  actor: string,
  url: string,
): void {
  const target = agentTarget(url);
  if (target === null) checkTarget(egress, url);
  else checkAgentTarget(target, agents, actor);
}

function checkTarget(egress: Transport, url: string): void {
  const reason = egress.refusal?.(url) ?? null;
  if (reason !== null) throw invalidRequest(`url: ${reason}`);
}

/**
 * Throws 400 where the values of the headers, which nobody is shown, would go to another host than the one that they were
 * given for: a customer changes the address of an endpoint, too.
 */
function checkHeaders(before: SqlRow, { headers, url }: EndpointPatch): void {
  if (url === undefined || headers !== undefined) return;
  if (headerNames(before["headers"]).length === 0) return;
  if (secretOrigin(url) === secretOrigin(String(before["url"]))) return;
  const message = 'url: The headers of the endpoint would go to another host: give "headers", too';
  throw invalidRequest(message);
}

/** The secret that was given, or a fresh one of the type asked for. Throws 400 where the two disagree. */
async function newKey(
  secrets: EndpointSecrets,
  input: Pick<RotateInput, "key_type" | "secret">,
  wasEd25519: boolean,
): Promise<{ readonly secret: string; readonly publicKey: string | null }> {
  const secret = input.secret ?? secrets.fresh(input.key_type ?? (wasEd25519 ? "ed25519" : "hmac"));
  const type = isEd25519(secret) ? "ed25519" : "hmac";
  if (type !== (input.key_type ?? type)) {
    throw invalidRequest(
      `The secret is not one of key_type "${type === "hmac" ? "ed25519" : "hmac"}"`,
    );
  }
  return { secret, publicKey: type === "hmac" ? null : await publicKeyOf(secret) };
}

function withSecret(view: EndpointView, secret: string): EndpointWithSecret {
  return isEd25519(secret) ? view : { ...view, secret };
}

function listEndpoints({ sql, name }: ActorContext): Promise<SqlRow[]> {
  const order = "ORDER BY created_at, id";
  return sql.all(`SELECT * FROM webhooks_endpoints WHERE actor = ? ${order}`, [name]);
}

async function findEndpoint({ sql, name }: ActorContext, id: string): Promise<SqlRow> {
  const [row] = await sql.all("SELECT * FROM webhooks_endpoints WHERE actor = ? AND id = ?", [
    name,
    id,
  ]);
  if (row === undefined) throw notFound("webhook endpoint", id);
  return row;
}

async function create(
  context: ActorContext,
  { secrets, sealer }: Pick<EndpointDeps, "secrets" | "sealer">,
  { input, most }: { readonly input: EndpointInput; readonly most: number },
): Promise<EndpointWithSecret> {
  const { sql, system, name: actor } = context;
  const id = `ep_${system.id().replaceAll("-", "")}`;
  const { publicKey, secret } = await newKey(secrets, input, false);
  const headers = await sealHeaders(sealer, id, input.headers);
  const stored = { secrets: await secrets.first(id, secret), publicKey, headers };
  const [inserted] = await sql.batch([
    insertEndpoint(actor, { id, input, most, key: stored, created: eventTime(system.now()) }),
  ]);
  if (inserted?.changes !== 1) {
    throw conflict(`At most ${most} webhook endpoints are allowed`);
  }
  return withSecret(toView(await findEndpoint(context, id)), secret);
}

interface NewEndpoint {
  readonly id: string;
  readonly input: EndpointInput;
  readonly most: number;
  readonly key: {
    readonly secrets: string;
    readonly publicKey: string | null;
    readonly headers: string | null;
  };
  readonly created: string;
}

function insertEndpoint(actor: string, { id, input, most, key, created }: NewEndpoint): Statement {
  const { url, description = null, types, format, ordered, concurrency, rate_per_second } = input;
  return {
    sql: `INSERT INTO webhooks_endpoints
        (actor, id, url, description, types, format, ordered, concurrency, rate, filter, headers, retry_delays,
        timeout_seconds, secrets, public_key, enabled, failures, created_at)
      SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, ?
      WHERE (SELECT COUNT(*) FROM webhooks_endpoints WHERE actor = ?) < ?`,
    params: [
      actor,
      id,
      url,
      description,
      JSON.stringify(types),
      format,
      ordered ? 1 : 0,
      concurrency,
      rate_per_second,
      jsonOrNull(input.filter),
      key.headers,
      jsonOrNull(input.retry_delays_seconds),
      input.timeout_seconds,
      key.secrets,
      key.publicKey,
      created,
      actor,
      most,
    ],
  };
}

/** A change gives the endpoint a fresh start: its failures are forgotten. */
function updateEndpoint(actor: string, id: string, columns: Changes): Statement {
  const set = Object.keys(columns).map((column) => `${column} = ?, `);
  return {
    sql: `UPDATE webhooks_endpoints SET ${set.join("")}failing_since = NULL, failures = 0, tripped_until = NULL
      WHERE actor = ? AND id = ?`,
    params: [...Object.values(columns), actor, id],
  };
}

/** The columns that a patch changes, but for those of its headers. */
function changedColumns(patch: EndpointPatch): Changes {
  const { enabled, filter, ordered, retry_delays_seconds: delays, types } = patch;
  const columns: { readonly [column: string]: SqlValue | undefined } = {
    url: patch.url,
    description: patch.description,
    types: types && JSON.stringify(types),
    ordered: ordered === undefined ? undefined : Number(ordered),
    concurrency: patch.concurrency,
    rate: patch.rate_per_second,
    filter: filter && JSON.stringify(filter),
    retry_delays: delays && JSON.stringify(delays),
    timeout_seconds: patch.timeout_seconds,
    enabled: enabled === undefined ? undefined : Number(enabled),
    disabled_reason:
      enabled === undefined ? undefined : enabled ? null : "Disabled through the API",
  };
  return Object.fromEntries(
    Object.entries(columns).flatMap(([column, value]) =>
      value === undefined ? [] : [[column, value]],
    ),
  );
}

function toView(row: SqlRow): EndpointView {
  return {
    id: String(row["id"]),
    url: String(row["url"]),
    description: textOrNull(row["description"]),
    types: JSON.parse(String(row["types"])) as string[],
    format: String(row["format"]),
    ordered: Number(row["ordered"]) === 1,
    concurrency: Number(row["concurrency"] ?? CONCURRENCY_DEFAULT),
    rate_per_second: row["rate"] == null ? null : Number(row["rate"]),
    filter: valueOrNull(row["filter"]) as PayloadFilter | null,
    header_names: headerNames(row["headers"]),
    retry_delays_seconds: valueOrNull(row["retry_delays"]) as number[] | null,
    timeout_seconds: Number(row["timeout_seconds"] ?? TIMEOUT_DEFAULT_S),
    public_key: textOrNull(row["public_key"]),
    enabled: Number(row["enabled"]) === 1,
    disabled_reason: textOrNull(row["disabled_reason"]),
    tripped_until: row["tripped_until"] == null ? null : eventTime(Number(row["tripped_until"])),
    created_at: String(row["created_at"]),
  };
}

/** A column of JSON text for a value that may be missing. */
function jsonOrNull(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

function valueOrNull(column: unknown): unknown {
  return typeof column === "string" ? (JSON.parse(column) as unknown) : null;
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
