import type { Context, Hono, MiddlewareHandler } from "hono";
import * as v from "valibot";
import { readEventCounts } from "../entity/event-counts.ts";
import { agentKindName, kebab } from "../entity/kebab.ts";
import { checkName } from "../entity/name.ts";
import type { ReplayFilter } from "../entity/replay-filter.ts";
import { type IndexPage, type IndexQuery, webhookIndex } from "../entity/webhook-index.ts";
import { ApiError } from "../http/api-error.ts";
import { readJson } from "../http/body.ts";
import { envelope } from "../http/envelope.ts";
import { readQuery } from "../http/query.ts";
import type { ActorRef, Platform } from "../ports.ts";
import type { WebhookSource } from "./inbound/source.ts";
import { instantText, outboundOf, outboundRoutes } from "./outbound/outbound-routes.ts";

const limit = v.optional(
  v.pipe(v.string(), v.regex(/^\d{1,4}$/, "Expected a whole number"), v.transform(Number)),
);
const agentQuery = v.object({
  entity: v.string('Say which: "?entity="'),
  agent: v.optional(v.string()),
  source: v.optional(v.string()),
});
const eventQuery = v.object({
  ...agentQuery.entries,
  type: v.optional(v.string()),
  before: v.optional(
    v.pipe(v.string(), v.regex(/^\d{1,15}$/, "Expected a position"), v.transform(Number)),
  ),
  limit,
});

const entityQuery = v.object({
  agent: v.optional(v.string()),
  source: v.optional(v.string()),
  cursor: v.optional(v.pipe(v.string(), v.maxLength(8192))),
  limit,
});
const indexQuery = v.object({ ...entityQuery.entries, entity: v.optional(v.string()) });

/** Adds the management routes below `base`. */
export function managementRoutes(app: Hono, base: string, deps: ManagementDeps): void {
  inboundRoutes(app, base, deps);
  indexRoutes(app, base, deps);
  replayRoutes(app, base, deps);
  outboundRoutes(app, base, deps);
  app.get(`${base}/stats`, deps.read, async (c) => {
    const stats = await outboundOf(deps.platform, c).stats();
    if (c.req.param("account_id") !== deps.inboundAccount) return envelope(stats);
    const inbound = await readEventCounts(deps.platform.actors, deps.sources.keys());
    return envelope({ ...stats, inbound });
  });
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
  app.get(`${base}/entities/state`, deps.read, async (c) => {
    checkAccount(c, deps);
    return envelope(await entityAgent(deps, readQuery(c, agentQuery)).call("inspect"));
  });
  app.get(`${base}/events`, deps.read, async (c) => {
    checkAccount(c, deps);
    const query = readQuery(c, eventQuery);
    const agent = entityAgent(deps, query);
    const { before, limit: most, source, type } = query;
    return envelope(await agent.call("listEvents", { before, limit: most, source, type }));
  });
  app.post(`${base}/events/:id/replay`, deps.edit, async (c) => {
    checkAccount(c, deps);
    const query = readQuery(c, eventQuery);
    const job = await entityAgent(deps, query).call("replayEvent", c.req.param("id"), query.source);
    if (job === null) throw new ApiError("not_found", { message: "No such event" });
    return envelope({ job }, { status: 202 });
  });
  app.post(`${base}/dead-letters/:id/replay`, deps.edit, async (c) => {
    checkAccount(c, deps);
    const agent = entityAgent(deps, readQuery(c, eventQuery));
    const job = await agent.call("replay", c.req.param("id"));
    if (job === null) throw new ApiError("not_found", { message: "No such dead letter" });
    return envelope({ job }, { status: 202 });
  });
}

/** The lists across entities. Those of one entity come from its agent: they are newer, and hold the payloads. */
function indexRoutes(app: Hono, base: string, deps: ManagementDeps): void {
  const index = (): ReturnType<typeof webhookIndex> => webhookIndex(deps.platform.actors);
  const asPage = ({ cursor, rows }: IndexPage): Response => {
    return envelope(rows, { resultInfo: { count: rows.length, cursor } });
  };
  app.get(`${base}/entities`, deps.read, async (c) => {
    checkAccount(c, deps);
    return asPage(await index().entities(toIndexQuery(readQuery(c, entityQuery))));
  });
  app.get(`${base}/failures`, deps.read, async (c) => {
    checkAccount(c, deps);
    return asPage(await index().failures("failing", toIndexQuery(readQuery(c, indexQuery))));
  });
  app.get(`${base}/dead-letters`, deps.read, async (c) => {
    checkAccount(c, deps);
    const query = readQuery(c, indexQuery);
    const { cursor, entity, limit: most } = query;
    if (entity === undefined || cursor !== undefined)
      return asPage(await index().failures("dead", toIndexQuery(query)));
    const agent = entityAgent(deps, { ...query, entity });
    return envelope(await agent.call("deadLetters", clampLimit(most, 1000)));
  });
}

/** A class is named in either form, as everywhere. */
function toIndexQuery(query: v.InferOutput<typeof indexQuery>): IndexQuery {
  const { agent, limit: most } = query;
  const limited = { ...query, limit: clampLimit(most, 100) };
  return agent === undefined ? limited : { ...limited, agent: kebab(agent) };
}

function clampLimit(most: number | undefined, max: number): number {
  return Math.min(Math.max(most ?? 20, 1), max);
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
  const named = query.agent === undefined ? undefined : kebab(query.agent);
  const className = named ?? sources.get(query.source ?? "")?.agentClass ?? "webhook-agent";
  if (!known.has(className))
    throw new ApiError("not_found", { message: "No source feeds an agent of that class" });
  return platform.actors.get(agentKindName(className), checkName(query.entity));
}

const instant = v.optional(instantText);
const text = v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(1024)));
/** Body of `POST …/replays`. An unknown filter would have meant fewer. */
export const entityReplayInput: v.GenericSchema<unknown, ReplayFilter> = v.pipe(
  v.strictObject({
    of: v.picklist(["events", "dead-letters"]),
    agent: text,
    entity: text,
    source: text,
    type: text,
    since: instant,
    until: instant,
  }),
  v.check(
    ({ since = "", until }) => until === undefined || since <= until,
    'since: Expected a time that is not after "until"',
  ),
);

/** Adds the routes of replays over many entities below `base`. */
function replayRoutes(app: Hono, base: string, deps: ManagementDeps): void {
  const { edit, platform, read, sources } = deps;
  const index = (): ReturnType<typeof webhookIndex> => webhookIndex(platform.actors);
  app.post(`${base}/replays`, edit, async (c) => {
    checkAccount(c, deps);
    const { agent, ...input } = await readJson(c, entityReplayInput, { platform });
    const filter = agent === undefined ? input : { ...input, agent: kebab(agent) };
    const { source } = filter;
    const owners =
      source === undefined ? null : (sources.get(source)?.ownership.owners ?? [source]);
    return envelope(await index().createReplay(filter, owners), { status: 202 });
  });
  app.get(`${base}/replays`, read, async (c) => {
    checkAccount(c, deps);
    return envelope(await index().listReplays());
  });
  app.get(`${base}/replays/:id`, read, async (c) => {
    checkAccount(c, deps);
    return envelope(await index().getReplay(c.req.param("id")));
  });
  app.post(`${base}/replays/:id/cancel`, edit, async (c) => {
    checkAccount(c, deps);
    return envelope(await index().cancelReplay(c.req.param("id")));
  });
}

/** What the management routes work with. */
interface ManagementDeps {
  readonly platform: Platform;
  /** The account that inbound events belong to. */
  readonly inboundAccount: string;
  readonly sources: ReadonlyMap<string, WebhookSource>;
  readonly read: MiddlewareHandler;
  readonly edit: MiddlewareHandler;
}

/** Throws 404 for an account that inbound events do not belong to. */
function checkAccount(c: Context, deps: ManagementDeps): void {
  if (c.req.param("account_id") === deps.inboundAccount) return;
  throw new ApiError("not_found", { message: "This account receives no webhooks" });
}
