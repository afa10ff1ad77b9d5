import { expecting } from "../../http/fields/misfit.ts";
import type { Context, Hono, MiddlewareHandler } from "hono";
import * as v from "valibot";
import { eventTime } from "../../entity/event.ts";
import {
  applicationActor,
  applicationId,
  type ApplicationLimits,
  OUTBOUND_KIND,
  outboundSender,
  type SendBody,
  type SenderActor,
  sendInput,
} from "../../entity/outbound.ts";
import { invalidRequest } from "../../http/api-error.ts";
import {
  JSON_BODY_LIMIT,
  readJson,
  readJsonBytes,
  readNothing,
  withBytes,
} from "../../http/fields/body.ts";
import { envelope } from "../../http/envelope.ts";
import { parseInstant } from "../../http/fields/instant.ts";
import { noteUnknownFields } from "../../http/fields/unknown-fields.ts";
import { jsonSource } from "../../http/json/json-source.ts";
import { readQuery } from "../../http/fields/query.ts";
import { type ActorClient, actorClient } from "../../actors/actor-client.ts";
import type { Platform } from "../../ports.ts";
import { wholeRequest } from "../../http/whole-request.ts";
import { traceparentOf } from "../../trace/trace-context.ts";
import { applicationInput, applicationPatch } from "./applications.ts";
import type { DeliveryFilter } from "./deliveries.ts";
import type { OutboundMethods } from "./outbound-kind.ts";
import { endpointInput, endpointPatch, rotateInput } from "./outbound-schema.ts";

export interface OutboundRouteDeps {
  readonly platform: Platform;
  readonly read: MiddlewareHandler;
  readonly edit: MiddlewareHandler;
}

/** The type of the message that tests an endpoint. */
const TEST_TYPE = "webhook.test";
/** Longest idempotency key. */
const KEY_LIMIT = 256;
/** Deliveries that one replay may name: SQLite on Workers binds at most 100 values to a statement. */
const IDS_LIMIT = 50;

const status = v.picklist(["pending", "delivered", "dead", "replayed", "canceled"]);
const text = v.optional(v.pipe(v.string(), v.maxLength(1024)));
/** Stored times have a fixed width, so that they compare as text. */
export const instantText: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.check(
    (value) => parseInstant(value) !== null,
    expecting('an RFC 3339 instant such as "2026-01-31T12:00:00Z"'),
  ),
  v.transform((value) => new Date(parseInstant(value) ?? 0).toISOString()),
);
const instant = v.optional(instantText);
const limit = v.optional(
  v.pipe(v.string(), v.regex(/^\d{1,4}$/, expecting("a whole number")), v.transform(Number)),
);
const applicationQuery = v.object({
  cursor: v.optional(applicationId),
  limit,
});
const deliveryQuery = v.object({
  status: v.optional(status),
  endpoint_id: text,
  message_id: text,
  entity: text,
  limit,
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

/** An actor that sends, and the limits of the application that it is of. */
export interface OwnSender {
  readonly client: ActorClient<OutboundMethods>;
  readonly limits?: ApplicationLimits;
}

/** The routes of one sender: of an account, or of an application. */
export interface OwnRouteDeps extends OutboundRouteDeps {
  /** Finds the sender of a request. Throws 404 for an unknown application. */
  readonly sender: (c: Context) => Promise<OwnSender>;
}

/** The routes that need what an account alone has. */
interface AccountRouteDeps extends OutboundRouteDeps {
  /** Hears of an application that is deleted. */
  readonly onDeleted: (account: string, application: string) => Promise<void>;
}

/** Adds the routes of endpoints, deliveries and sending below `base`, and once more for each application. */
export function outboundRoutes(app: Hono, base: string, deps: AccountRouteDeps): void {
  const { actors } = deps.platform;
  const sender = async (c: Context): Promise<OwnSender> =>
    senderOf(await outboundSender(actors, accountOf(c), c.req.param("application_id")));
  applicationRoutes(app, `${base}/applications`, deps);
  for (const own of [base, `${base}/applications/:application_id`]) {
    sendRoute(app, own, { ...deps, sender });
    ownRoutes(app, own, { ...deps, sender });
  }
  app.get(`${base}/applications/:application_id/stats`, deps.read, async (c) =>
    envelope(await (await sender(c)).client.stats()),
  );
}

/** Adds the routes below `base` that a customer has, too: endpoints, their deliveries and their figures. */
export function ownRoutes(app: Hono, base: string, deps: OwnRouteDeps): void {
  endpointRoutes(app, base, deps);
  deliveryRoutes(app, base, deps);
  app.get(`${base}/stats/topics`, deps.read, async (c) =>
    envelope(await (await deps.sender(c)).client.topics()),
  );
}

function applicationRoutes(
  app: Hono,
  base: string,
  { platform, read, edit, onDeleted }: AccountRouteDeps,
): void {
  const account = (c: Context): ActorClient<OutboundMethods> => outboundOf(platform, c);
  const idOf = (c: Context): string => c.req.param("application_id") ?? "";
  const one = `${base}/:application_id`;
  app.get(base, read, async (c) => {
    const { cursor, limit: most = 20 } = readQuery(c, applicationQuery);
    const page = await account(c).listApplications(Math.min(Math.max(most, 1), 100), cursor);
    return envelope(page.rows, { resultInfo: { count: page.rows.length, cursor: page.cursor } });
  });
  app.post(base, edit, async (c) => {
    const input = await readJson(c, applicationInput, { platform });
    return envelope(await account(c).createApplication(input), { status: 201 });
  });
  app.get(one, read, async (c) => envelope(await account(c).getApplication(idOf(c))));
  app.patch(one, edit, async (c) => {
    const patch = await readJson(c, applicationPatch, { platform });
    return envelope(await account(c).updateApplication(idOf(c), patch));
  });
  app.delete(one, edit, async (c) => {
    const id = idOf(c);
    // Hidden first: a deletion that a crash cuts off is asked for again, and goes on.
    await account(c).hideApplication(id);
    const own = applicationActor(platform.actors, accountOf(c), id);
    await actorClient<OutboundMethods>(own).deleteRows();
    await onDeleted(accountOf(c), id);
    await account(c).forgetApplication(id);
    return envelope({ id });
  });
}

function endpointRoutes(
  app: Hono,
  base: string,
  { platform, read, edit, sender }: OwnRouteDeps,
): void {
  const outbound = async (c: Context): Promise<ActorClient<OutboundMethods>> =>
    (await sender(c)).client;
  app.get(`${base}/endpoints`, read, async (c) =>
    envelope(await (await outbound(c)).listEndpoints()),
  );
  app.post(`${base}/endpoints`, edit, async (c) => {
    const input = await readJson(c, endpointInput, { platform });
    const { client, limits } = await sender(c);
    return envelope(await client.createEndpoint(input, limits), { status: 201 });
  });
  app.get(`${base}/endpoints/:id`, read, async (c) =>
    envelope(await (await outbound(c)).getEndpoint(c.req.param("id"))),
  );
  app.patch(`${base}/endpoints/:id`, edit, async (c) => {
    const patch = await readJson(c, endpointPatch, { platform });
    return envelope(await (await outbound(c)).updateEndpoint(c.req.param("id"), patch));
  });
  app.delete(`${base}/endpoints/:id`, edit, async (c) =>
    envelope(await (await outbound(c)).deleteEndpoint(c.req.param("id"))),
  );
  app.post(`${base}/endpoints/:id/test`, edit, async (c) => {
    const { client, limits } = await sender(c);
    await readNothing(c, platform);
    const endpoint_id = c.req.param("id");
    const payload = { type: TEST_TYPE, timestamp: eventTime(platform.system.now()), data: {} };
    const sent = await client.send({ type: TEST_TYPE, payload, endpoint_id }, limits);
    return envelope(sent, { status: 202 });
  });
  app.post(`${base}/endpoints/:id/rotate`, edit, async (c) => {
    const input = await readJson(c, rotateInput, { optional: true, platform });
    return envelope(await (await outbound(c)).rotateSecret(c.req.param("id"), input));
  });
}

function sendRoute(app: Hono, base: string, { platform, edit, sender }: OwnRouteDeps): void {
  app.post(`${base}/send`, edit, async (c) => {
    const { json, payload: _, ...input } = await readSend(c, platform);
    const key = input.idempotency_key ?? c.req.header("idempotency-key");
    if (key !== undefined && (key === "" || key.length > KEY_LIMIT)) {
      throw invalidRequest(`An idempotency key has 1 to ${KEY_LIMIT} characters`);
    }
    const message = {
      ...input,
      json,
      idempotency_key: key,
      trace: traceparentOf(c.req.raw) ?? undefined,
    };
    const { client, limits } = await sender(c);
    const sent = await client.send(message, limits);
    return envelope(sent, { status: 202, made: { kind: "message", id: sent.id } });
  });
}

function deliveryRoutes(
  app: Hono,
  base: string,
  { platform, read, edit, sender }: OwnRouteDeps,
): void {
  const outbound = async (c: Context): Promise<ActorClient<OutboundMethods>> =>
    (await sender(c)).client;
  app.get(`${base}/deliveries`, read, async (c) =>
    envelope(await (await outbound(c)).listDeliveries(readQuery(c, deliveryQuery))),
  );
  app.post(`${base}/deliveries/replay`, edit, async (c) => {
    const filter = await readJson(c, deliveryReplayInput, { optional: true, platform });
    const { client, limits } = await sender(c);
    return envelope(await client.replayAll(filter, limits), { status: 202 });
  });
  app.get(`${base}/deliveries/:id`, read, async (c) =>
    envelope(await (await outbound(c)).getDelivery(c.req.param("id"))),
  );
  app.post(`${base}/deliveries/:id/replay`, edit, async (c) => {
    await readNothing(c, platform);
    const { client, limits } = await sender(c);
    return envelope(await client.replay(c.req.param("id"), limits), { status: 202 });
  });
}

/** Reads a message, and the text of its payload: the caller's own bytes are sent, so that no number loses digits. */
async function readSend(c: Context, platform: Platform): Promise<SendBody & { json: string }> {
  const request = await wholeRequest(c.req);
  return withBytes(request, JSON_BODY_LIMIT, platform, (bytes) => {
    const { output, unknown } = readJsonBytes(bytes, sendInput, { hasPayload: true });
    noteUnknownFields(c, unknown);
    return { ...output, json: jsonSource(new TextDecoder().decode(bytes), ["payload"]) ?? "null" };
  });
}

export function senderOf({ actor, ...rest }: SenderActor): OwnSender {
  return { client: actorClient(actor), ...rest };
}

/** The actor that sends for an account, or for that in the path. Throws 400 for an id that cannot be one. */
export function outboundOf(
  platform: Pick<Platform, "actors">,
  of: Context | string,
): ActorClient<OutboundMethods> {
  const account = typeof of === "string" ? of : accountOf(of);
  return actorClient(platform.actors.get(OUTBOUND_KIND, account));
}

function accountOf(c: Context): string {
  const account = c.req.param("account_id") ?? "";
  if (!/^[\w-]{1,64}$/.test(account)) {
    throw invalidRequest("account_id must be 1 to 64 of A-Z, a-z, 0-9, _ and -");
  }
  return account;
}
