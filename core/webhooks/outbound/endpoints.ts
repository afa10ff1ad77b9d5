import type { Clock } from "../../entity/clock.ts";
import { eventTime } from "../../entity/event.ts";
import { ApiError } from "../../http/api-error.ts";
import type { ActorContext, SqlRow, Statement, Transport } from "../../ports.ts";
import type { Turns } from "./turns.ts";
import { isEd25519, publicKeyOf } from "../signing/ed25519.ts";
import { CONCURRENCY_DEFAULT } from "./endpoint-queues.ts";
import type { EndpointInput, EndpointPatch, RotateInput } from "./outbound-schema.ts";
import type { EndpointSecrets } from "./endpoint-secrets.ts";

/** Most endpoints of an account. */
const ENDPOINT_LIMIT = 500;

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
  create(input: EndpointInput): Promise<EndpointWithSecret>;
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
  readonly clock: Clock;
  readonly inTurn: Turns;
  readonly egress: Transport;
  /** Receives the endpoints whose deliveries may go on. */
  readonly notify: (endpoints: readonly string[]) => void;
}

/** The endpoints of an account. */
export function endpoints(
  context: ActorContext,
  { secrets, clock, inTurn, egress, notify }: EndpointDeps,
): Endpoints {
  const { sql, system, name: actor } = context;

  const find = (id: string): Promise<SqlRow> => findEndpoint(context, id);
  const view = async (id: string): Promise<EndpointView> => toView(await find(id));

  return {
    get: view,
    async create(input) {
      checkTarget(egress, input.url);
      return create(context, secrets, input);
    },
    async list() {
      const order = "ORDER BY created_at, id";
      const rows = await sql.all(`SELECT * FROM webhooks_endpoints WHERE actor = ? ${order}`, [
        actor,
      ]);
      return rows.map(toView);
    },
    update: (id, patch) =>
      inTurn(async () => {
        if (patch.url !== undefined) checkTarget(egress, patch.url);
        // Deliveries that waited for a disabled endpoint may be due the moment it is enabled.
        await clock.write([updateEndpoint(actor, await find(id), patch)], context.steady());
        notify([id]);
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
function checkTarget(egress: Transport, url: string): void {
  const reason = egress.refusal?.(url) ?? null;
  if (reason !== null) throw new ApiError("invalid_request", { message: `url: ${reason}` });
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
    throw new ApiError("invalid_request", {
      message: `The secret is not one of key_type "${type === "hmac" ? "ed25519" : "hmac"}"`,
    });
  }
  return { secret, publicKey: type === "hmac" ? null : await publicKeyOf(secret) };
}

function withSecret(view: EndpointView, secret: string): EndpointWithSecret {
  return isEd25519(secret) ? view : { ...view, secret };
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
  const { publicKey, secret } = await newKey(secrets, input, false);
  const stored = { secrets: await secrets.first(id, secret), publicKey };
  const [inserted] = await sql.batch([
    insertEndpoint(actor, { id, input, key: stored, created: eventTime(system.now()) }),
  ]);
  if (inserted?.changes !== 1) {
    throw new ApiError("conflict", {
      message: `An account has at most ${ENDPOINT_LIMIT} webhook endpoints`,
    });
  }
  return withSecret(toView(await findEndpoint(context, id)), secret);
}

interface NewEndpoint {
  readonly id: string;
  readonly input: EndpointInput;
  readonly key: { readonly secrets: string; readonly publicKey: string | null };
  readonly created: string;
}

function insertEndpoint(actor: string, { id, input, key, created }: NewEndpoint): Statement {
  const { url, description = null, types, format, ordered, concurrency, rate_per_second } = input;
  return {
    sql: `INSERT INTO webhooks_endpoints
        (actor, id, url, description, types, format, ordered, concurrency, rate, secrets, public_key, enabled,
        failures, created_at)
      SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, ?
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
      key.secrets,
      key.publicKey,
      created,
      actor,
      ENDPOINT_LIMIT,
    ],
  };
}

/** A change gives the endpoint a fresh start: its failures are forgotten. */
function updateEndpoint(actor: string, row: SqlRow, patch: EndpointPatch): Statement {
  const enabled = patch.enabled ?? Number(row["enabled"]) === 1;
  const ordered = patch.ordered ?? Number(row["ordered"]) === 1;
  const types = patch.types === undefined ? String(row["types"]) : JSON.stringify(patch.types);
  const rate = patch.rate_per_second === undefined ? row["rate"] : patch.rate_per_second;
  const reason =
    patch.enabled === false ? "Disabled through the API" : (row["disabled_reason"] ?? null);
  return {
    sql: `UPDATE webhooks_endpoints SET url = ?, description = ?, types = ?, ordered = ?, concurrency = ?,
      rate = ?, enabled = ?, disabled_reason = ?, failing_since = NULL, failures = 0, tripped_until = NULL WHERE actor = ? AND id = ?`,
    params: [
      patch.url ?? String(row["url"]),
      patch.description ?? row["description"] ?? null,
      types,
      Number(ordered),
      patch.concurrency ?? row["concurrency"] ?? null,
      rate ?? null,
      Number(enabled),
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
    ordered: Number(row["ordered"]) === 1,
    concurrency: Number(row["concurrency"] ?? CONCURRENCY_DEFAULT),
    rate_per_second: row["rate"] == null ? null : Number(row["rate"]),
    public_key: textOrNull(row["public_key"]),
    enabled: Number(row["enabled"]) === 1,
    disabled_reason: textOrNull(row["disabled_reason"]),
    tripped_until: row["tripped_until"] == null ? null : eventTime(Number(row["tripped_until"])),
    created_at: String(row["created_at"]),
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
