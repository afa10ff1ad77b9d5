import type { Context, Hono, MiddlewareHandler } from "hono";
import * as v from "valibot";
import { agentKindName } from "../entity/kebab.ts";
import { checkName } from "../entity/name.ts";
import { ApiError } from "../http/api-error.ts";
import { parse, readJson } from "../http/body.ts";
import { envelope } from "../http/envelope.ts";
import type { ActorRef, Plain, Platform } from "../ports.ts";
import { endpointInput, endpointPatch, OUTBOUND_KIND, sendInput } from "./outbound-schema.ts";
import type { WebhookSource } from "./source.ts";

/** What the management routes work with. */
export interface ManagementDeps {
  readonly platform: Platform;
  /** The account that inbound events belong to. */
  readonly inboundAccount: string;
  readonly sources: ReadonlyMap<string, WebhookSource>;
  readonly read: MiddlewareHandler;
  readonly edit: MiddlewareHandler;
}

const limit = v.optional(
  v.pipe(v.string(), v.regex(/^\d{1,4}$/, "Expected a whole number"), v.transform(Number)),
);
const deliveryQuery = v.object({
  status: v.optional(v.picklist(["pending", "delivered", "dead", "replayed", "canceled"])),
  endpoint_id: v.optional(v.string()),
  limit,
});
const eventQuery = v.object({
  entity: v.string('Say which: "?entity="'),
  agent: v.optional(v.string()),
  source: v.optional(v.string()),
  type: v.optional(v.string()),
  limit,
});
const replayInput = v.strictObject({ endpoint_id: v.optional(v.string()) });

/** Adds the management routes below `base`. */
export function managementRoutes(app: Hono, base: string, deps: ManagementDeps): void {
  inboundRoutes(app, base, deps);
  endpointRoutes(app, base, deps);
  deliveryRoutes(app, base, deps);
}

function inboundRoutes(app: Hono, base: string, deps: ManagementDeps): void {
  app.get(`${base}/sources`, deps.read, (c) => {
    checkAccount(c, deps);
    const sources = [...deps.sources.values()].map(({ name, agentClass, entity, respond }) => ({
      name,
      agent: agentClass,
      entity,
      respond,
    }));
    return envelope(sources);
  });
  app.get(`${base}/events`, deps.read, async (c) => {
    checkAccount(c, deps);
    const query = parse(eventQuery, c.req.query());
    const agent = entityAgent(deps, query);
    const events =
      query.type === undefined
        ? agent.call("getEvents", query.limit)
        : agent.call("getEventsByType", query.type, query.limit);
    return envelope(await events);
  });
  app.get(`${base}/dead-letters`, deps.read, async (c) => {
    checkAccount(c, deps);
    const query = parse(eventQuery, c.req.query());
    return envelope(
      await entityAgent(deps, query).call("deadLetters", Math.min(query.limit ?? 20, 1000)),
    );
  });
  app.post(`${base}/dead-letters/:id/replay`, deps.edit, async (c) => {
    checkAccount(c, deps);
    const agent = entityAgent(deps, parse(eventQuery, c.req.query()));
    const job = await agent.call("replay", c.req.param("id"));
    if (job === null) throw new ApiError("not_found", { message: "No such dead letter" });
    return envelope({ job }, { status: 202 });
  });
}

function endpointRoutes(app: Hono, base: string, { platform, read, edit }: ManagementDeps): void {
  const outbound = (c: Context): ActorRef => outboundOf(platform, c);
  app.get(`${base}/endpoints`, read, async (c) =>
    envelope(await outbound(c).call("listEndpoints")),
  );
  app.post(`${base}/endpoints`, edit, async (c) => {
    const input = await readJson(c.req.raw, endpointInput);
    return envelope(await outbound(c).call("createEndpoint", input), { status: 201 });
  });
  app.get(`${base}/endpoints/:id`, read, async (c) =>
    envelope(await outbound(c).call("getEndpoint", c.req.param("id"))),
  );
  app.patch(`${base}/endpoints/:id`, edit, async (c) => {
    const patch = await readJson(c.req.raw, endpointPatch);
    return envelope(await outbound(c).call("updateEndpoint", c.req.param("id"), patch));
  });
  app.delete(`${base}/endpoints/:id`, edit, async (c) =>
    envelope(await outbound(c).call("deleteEndpoint", c.req.param("id"))),
  );
  app.post(`${base}/endpoints/:id/rotate`, edit, async (c) =>
    envelope(await outbound(c).call("rotateSecret", c.req.param("id"))),
  );
}

function deliveryRoutes(app: Hono, base: string, { platform, read, edit }: ManagementDeps): void {
  const outbound = (c: Context): ActorRef => outboundOf(platform, c);
  app.post(`${base}/send`, edit, async (c) => {
    const input = await readJson(c.req.raw, sendInput);
    const key = input.idempotency_key ?? c.req.header("idempotency-key");
    // What came as JSON is plain data.
    const message = {
      ...input,
      payload: input.payload as Plain,
      idempotency_key: key?.slice(0, 256),
    };
    return envelope(await outbound(c).call("send", message), { status: 202 });
  });
  app.get(`${base}/deliveries`, read, async (c) =>
    envelope(await outbound(c).call("listDeliveries", parse(deliveryQuery, c.req.query()))),
  );
  app.post(`${base}/deliveries/replay`, edit, async (c) => {
    const { endpoint_id: endpoint } = await readJson(c.req.raw, replayInput);
    return envelope(await outbound(c).call("replayDead", endpoint), { status: 202 });
  });
  app.get(`${base}/deliveries/:id`, read, async (c) =>
    envelope(await outbound(c).call("getDelivery", c.req.param("id"))),
  );
  app.post(`${base}/deliveries/:id/replay`, edit, async (c) =>
    envelope(await outbound(c).call("replay", c.req.param("id")), { status: 202 }),
  );
}

function outboundOf(platform: Platform, c: Context): ActorRef {
  const account = c.req.param("account_id") ?? "";
  if (!/^[\w-]{1,64}$/.test(account)) {
    throw new ApiError("invalid_request", {
      message: "account_id must be 1 to 64 of A-Z, a-z, 0-9, _ and -",
    });
  }
  return platform.actors.get(OUTBOUND_KIND, account);
}

function checkAccount(c: Context, deps: ManagementDeps): void {
  if (c.req.param("account_id") === deps.inboundAccount) return;
  throw new ApiError("not_found", { message: "This account receives no webhooks" });
}

/** The agent that holds an entity's events: of the source, of the class, or the built-in one. */
function entityAgent(
  { platform, sources }: ManagementDeps,
  query: {
    readonly entity: string;
    readonly agent?: string | undefined;
    readonly source?: string | undefined;
  },
): ActorRef {
  const known = new Set([
    "webhook-agent",
    ...[...sources.values()].map(({ agentClass }) => agentClass),
  ]);
  const className = query.agent ?? sources.get(query.source ?? "")?.agentClass ?? "webhook-agent";
  if (!known.has(className))
    throw new ApiError("not_found", { message: "No source feeds an agent of that class" });
  return platform.actors.get(agentKindName(className), checkName(query.entity));
}
