import type { Context, Hono, MiddlewareHandler } from "hono";
import * as v from "valibot";
import { OUTBOUND_KIND, type SendBody, sendInput } from "../../entity/outbound.ts";
import { ApiError } from "../../http/api-error.ts";
import { JSON_BODY_LIMIT, readJson, readJsonBytes, withBytes } from "../../http/fields/body.ts";
import { envelope } from "../../http/envelope.ts";
import { parseInstant } from "../../http/fields/instant.ts";
import { noteUnknownFields } from "../../http/fields/unknown-fields.ts";
import { jsonSource } from "../../http/json/json-source.ts";
import { readQuery } from "../../http/fields/query.ts";
import { type ActorClient, actorClient } from "../../actors/actor-client.ts";
import type { Platform } from "../../ports.ts";
import { wholeRequest } from "../../http/whole-request.ts";
import { traceparentOf } from "../../trace/trace-context.ts";
import type { DeliveryFilter } from "./deliveries.ts";
import type { OutboundMethods } from "./outbound-kind.ts";
import { endpointInput, endpointPatch, rotateInput } from "./outbound-schema.ts";

export interface OutboundRouteDeps {
  readonly platform: Platform;
  readonly read: MiddlewareHandler;
  readonly edit: MiddlewareHandler;
}

/** Longest idempotency key. */
const KEY_LIMIT = 256;
/** Deliveries that one replay may name: SQLite on Workers binds at most 100 values to a statement. */
const IDS_LIMIT = 50;

const status = v.picklist(["pending", "delivered", "dead", "replayed", "canceled"]);
const text = v.optional(v.pipe(v.string(), v.maxLength(1024)));
/** Stored times have a fixed width, so that they compare as text. */
export const instantText: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.check((value) => parseInstant(value) !== null, "Expected an RFC 3339 instant"),
  v.transform((value) => new Date(parseInstant(value) ?? 0).toISOString()),
);
const instant = v.optional(instantText);
const deliveryQuery = v.object({
  status: v.optional(status),
  endpoint_id: text,
  message_id: text,
  entity: text,
  limit: v.optional(
    v.pipe(v.string(), v.regex(/^\d{1,4}$/, "Expected a whole number"), v.transform(Number)),
  ),
});
/** Body of `POST …/deliveries/replay`; may be left out. An unknown filter would have meant fewer deliveries. */
export const deliveryReplayInput: v.GenericSchema<unknown, DeliveryFilter> = v.strictObject({
  ids: v.optional(v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(IDS_LIMIT))),
  status: v.optional(status),
  endpoint_id: text,
  entity: text,
  type: text,
  since: instant,
  until: instant,
});

/** Adds the routes of endpoints, deliveries and sending below `base`. */
export function outboundRoutes(app: Hono, base: string, deps: OutboundRouteDeps): void {
  endpointRoutes(app, base, deps);
  deliveryRoutes(app, base, deps);
}

function endpointRoutes(
  app: Hono,
  base: string,
  { platform, read, edit }: OutboundRouteDeps,
): void {
  const outbound = (c: Context): ActorClient<OutboundMethods> => outboundOf(platform, c);
  app.get(`${base}/endpoints`, read, async (c) => envelope(await outbound(c).listEndpoints()));
  app.post(`${base}/endpoints`, edit, async (c) => {
    const input = await readJson(c, endpointInput, { platform });
    return envelope(await outbound(c).createEndpoint(input), { status: 201 });
  });
  app.get(`${base}/endpoints/:id`, read, async (c) =>
    envelope(await outbound(c).getEndpoint(c.req.param("id"))),
  );
  app.patch(`${base}/endpoints/:id`, edit, async (c) => {
    const patch = await readJson(c, endpointPatch, { platform });
    return envelope(await outbound(c).updateEndpoint(c.req.param("id"), patch));
  });
  app.delete(`${base}/endpoints/:id`, edit, async (c) =>
    envelope(await outbound(c).deleteEndpoint(c.req.param("id"))),
  );
  app.post(`${base}/endpoints/:id/rotate`, edit, async (c) => {
    const input = await readJson(c, rotateInput, { optional: true, platform });
    return envelope(await outbound(c).rotateSecret(c.req.param("id"), input));
  });
}

function deliveryRoutes(
  app: Hono,
  base: string,
  { platform, read, edit }: OutboundRouteDeps,
): void {
  const outbound = (c: Context): ActorClient<OutboundMethods> => outboundOf(platform, c);
  app.post(`${base}/send`, edit, async (c) => {
    const { json, payload: _, ...input } = await readSend(c, platform);
    const key = input.idempotency_key ?? c.req.header("idempotency-key");
    if (key !== undefined && (key === "" || key.length > KEY_LIMIT)) {
      throw new ApiError("invalid_request", {
        message: `An idempotency key has 1 to ${KEY_LIMIT} characters`,
      });
    }
    const message = {
      ...input,
      json,
      idempotency_key: key,
      trace: traceparentOf(c.req.raw) ?? undefined,
    };
    const sent = await outbound(c).send(message);
    return envelope(sent, { status: 202, made: { kind: "message", id: sent.id } });
  });
  app.get(`${base}/deliveries`, read, async (c) =>
    envelope(await outbound(c).listDeliveries(readQuery(c, deliveryQuery))),
  );
  app.post(`${base}/deliveries/replay`, edit, async (c) => {
    const filter = await readJson(c, deliveryReplayInput, { optional: true, platform });
    return envelope(await outbound(c).replayAll(filter), { status: 202 });
  });
  app.get(`${base}/deliveries/:id`, read, async (c) =>
    envelope(await outbound(c).getDelivery(c.req.param("id"))),
  );
  app.post(`${base}/deliveries/:id/replay`, edit, async (c) =>
    envelope(await outbound(c).replay(c.req.param("id")), { status: 202 }),
  );
}

/** Reads a message, and the text of its payload: the caller's own bytes are sent, so that no number loses digits. */
async function readSend(c: Context, platform: Platform): Promise<SendBody & { json: string }> {
  const request = await wholeRequest(c.req);
  return withBytes(request, JSON_BODY_LIMIT, platform, (bytes) => {
    const { output, unknown } = readJsonBytes(bytes, sendInput);
    noteUnknownFields(c, unknown);
    return { ...output, json: jsonSource(new TextDecoder().decode(bytes), ["payload"]) ?? "null" };
  });
}

/** The actor that sends for the account in the path. Throws 400 for an id that cannot be one. */
export function outboundOf(platform: Platform, c: Context): ActorClient<OutboundMethods> {
  const account = c.req.param("account_id") ?? "";
  if (!/^[\w-]{1,64}$/.test(account)) {
    throw new ApiError("invalid_request", {
      message: "account_id must be 1 to 64 of A-Z, a-z, 0-9, _ and -",
    });
  }
  return actorClient(platform.actors.get(OUTBOUND_KIND, account));
}
