import { expecting } from "../http/fields/misfit.ts";
import type { Context, Hono, MiddlewareHandler } from "hono";
import * as v from "valibot";
import { readEventCounts } from "../entity/event-counts.ts";
import { agentKindName, kebab } from "../entity/kebab.ts";
import { checkName } from "../entity/name.ts";
import type { ReplayFilter } from "../entity/replay-filter.ts";
import { type IndexPage, type IndexQuery, webhookIndex } from "../entity/webhook-index.ts";
import { ApiError, notFound } from "../http/api-error.ts";
import { readJson, readNothing } from "../http/fields/body.ts";
import { envelope } from "../http/envelope.ts";
import { noteAnswer } from "../http/fields/unknown-fields.ts";
import { readQuery } from "../http/fields/query.ts";
import type { ActorRef, Platform } from "../ports.ts";
import { choiceHint } from "../text/nearest.ts";
import { instanceOf } from "./inbound/store-event.ts";
import { endLinks } from "./portal/portal-routes.ts";
import type { SourceRegistry, SourceSet } from "./sources/source-registry.ts";
import { sourceRoutes } from "./sources/source-routes.ts";
import { instantText, outboundOf, outboundRoutes } from "./outbound/outbound-routes.ts";

const limit = v.optional(
  v.pipe(v.string(), v.regex(/^\d{1,4}$/, expecting("a whole number")), v.transform(Number)),
);
const agentQuery = v.object({
  entity: v.string(),
  agent: v.optional(v.string()),
  source: v.optional(v.string()),
});
const eventQuery = v.object({
  ...agentQuery.entries,
  type: v.optional(v.string()),
  before: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^\d{1,15}$/, expecting("a position, which is a whole number")),
      v.transform(Number),
    ),
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
  const check = (c: Context): void => {
    checkAccount(c, deps);
  };
  sourceRoutes(app, base, { ...deps, check });
  inboundRoutes(app, base, deps);
  indexRoutes(app, base, deps);
  replayRoutes(app, base, deps);
  outboundRoutes(app, base, {
    ...deps,
    onDeleted: (account, application) => endLinks(deps.platform, account, application),
  });
  app.get(`${base}/stats`, deps.read, async (c) => {
    const stats = await outboundOf(deps.platform, c).stats();
    if (c.req.param("account_id") !== deps.inboundAccount) return envelope(stats);
    const inbound = await readEventCounts(deps.platform.actors, (await sourcesOf(deps)).keys());
    return envelope({ ...stats, inbound });
  });
}

function inboundRoutes(app: Hono, base: string, deps: ManagementDeps): void {
  app.get(`${base}/entities/state`, deps.read, async (c) => {
    checkAccount(c, deps);
    const agent = await entityAgent(c, deps, readQuery(c, agentQuery));
    return envelope(await agent.call("inspect"));
  });
  app.get(`${base}/events`, deps.read, async (c) => {
    checkAccount(c, deps);
    const query = readQuery(c, eventQuery);
    const agent = await entityAgent(c, deps, query);
    const { before, limit: most, source, type } = query;
    return envelope(await agent.call("listEvents", { before, limit: most, source, type }));
  });
  app.post(`${base}/events/:id/replay`, deps.edit, async (c) => {
    checkAccount(c, deps);
    await readNothing(c, deps.platform);
    const query = readQuery(c, eventQuery);
    const agent = await entityAgent(c, deps, query);
    const job = await agent.call("replayEvent", c.req.param("id"), query.source);
    if (job === null) throw notFound("event", c.req.param("id"));
    return envelope({ job }, { status: 202 });
  });
  app.post(`${base}/dead-letters/:id/replay`, deps.edit, async (c) => {
    checkAccount(c, deps);
    await readNothing(c, deps.platform);
    const agent = await entityAgent(c, deps, readQuery(c, eventQuery));
    const job = await agent.call("replay", c.req.param("id"));
    if (job === null) throw notFound("dead letter", c.req.param("id"));
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
    const query = await toIndexQuery(c, deps, readQuery(c, entityQuery));
    const owners = (await sourcesOf(deps)).get(query.source ?? "")?.space.owners;
    return asPage(await index().entities({ ...query, owners }));
  });
  app.get(`${base}/failures`, deps.read, async (c) => {
    checkAccount(c, deps);
    const query = await toIndexQuery(c, deps, readQuery(c, indexQuery));
    return asPage(await index().failures("failing", query));
  });
  app.get(`${base}/dead-letters`, deps.read, async (c) => {
    checkAccount(c, deps);
    const query = readQuery(c, indexQuery);
    const { cursor, entity, limit: most } = query;
    if (entity === undefined || cursor !== undefined)
      return asPage(await index().failures("dead", await toIndexQuery(c, deps, query)));
    const agent = await entityAgent(c, deps, { ...query, entity });
    return envelope(await agent.call("deadLetters", clampLimit(most, 1000)));
  });
}

/** A class is named in either form, as everywhere. */
async function toIndexQuery(
  c: Context,
  deps: ManagementDeps,
  query: v.InferOutput<typeof indexQuery>,
): Promise<IndexQuery> {
  const { limit: most } = query;
  return { ...query, ...(await placeOf(c, deps, query)), limit: clampLimit(most, 100) };
}

function clampLimit(most: number | undefined, max: number): number {
  return Math.min(Math.max(most ?? 20, 1), max);
}

/** The parameters with which a caller names an entity. */
interface NamedEntity {
  readonly entity?: string | undefined;
  readonly agent?: string | undefined;
  readonly source?: string | undefined;
}

/**
 * The instance that a caller means: with a class the one of that name, as lists show it; with a source alone the one that
 * has that source's events of the entity.
 */
async function placeOf(
  c: Context,
  deps: ManagementDeps,
  { agent, entity, source }: NamedEntity,
): Promise<{ readonly agent?: string; readonly entity?: string }> {
  const sources = await sourcesOf(deps);
  if (source !== undefined && !sources.has(source)) noteAnswer(c, [unknownSource(source, sources)]);
  if (agent !== undefined)
    return { agent: kebab(agent), ...(entity === undefined ? {} : { entity }) };
  if (entity === undefined) return {};
  const found = sources.get(source ?? "");
  if (found === undefined) return { entity };
  const name = await instanceOf(found, checkName(entity), deps.platform);
  return { agent: found.agentClass, entity: name };
}

/** A note, not a refusal: a source that was deleted has left its events. */
function unknownSource(source: string, sources: SourceSet["ready"]): string {
  const shown = source.slice(0, 64);
  const hint = sources.size === 0 ? "" : choiceHint(shown, [...sources.keys()].slice(0, 20));
  return `There is no webhook source "${shown}" now${hint}`;
}

/** The agent that holds an entity's events: of the source, of the class, or the built-in one. */
async function entityAgent(
  c: Context,
  deps: ManagementDeps,
  query: NamedEntity & { readonly entity: string },
): Promise<ActorRef> {
  const { platform } = deps;
  const known = new Set([
    "webhook-agent",
    ...[...(await sourcesOf(deps)).values()].map(({ agentClass }) => agentClass),
  ]);
  const { agent: className = "webhook-agent", entity = query.entity } = await placeOf(
    c,
    deps,
    query,
  );
  if (!known.has(className))
    throw new ApiError("not_found", {
      message: `No source feeds an agent of the class "${className.slice(0, 64)}"${choiceHint(className.slice(0, 64), [...known].slice(0, 20))}`,
    });
  return platform.actors.get(agentKindName(className), checkName(entity));
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
    'since: expected a time that is not after "until"',
  ),
);

/** Adds the routes of replays over many entities below `base`. */
function replayRoutes(app: Hono, base: string, deps: ManagementDeps): void {
  const { edit, platform, read } = deps;
  const index = (): ReturnType<typeof webhookIndex> => webhookIndex(platform.actors);
  app.post(`${base}/replays`, edit, async (c) => {
    checkAccount(c, deps);
    const input = await readJson(c, entityReplayInput, { platform });
    const filter = { ...input, ...(await placeOf(c, deps, input)) };
    const { source } = filter;
    const owners =
      source === undefined ? null : ((await sourcesOf(deps)).get(source)?.space.owners ?? [source]);
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
    await readNothing(c, platform);
    return envelope(await index().cancelReplay(c.req.param("id")));
  });
}

interface ManagementDeps {
  readonly platform: Platform;
  /** The account that inbound events belong to. */
  readonly inboundAccount: string;
  readonly registry: SourceRegistry;
  readonly read: MiddlewareHandler;
  readonly edit: MiddlewareHandler;
}

/** The sources of now. */
async function sourcesOf({ registry }: ManagementDeps): Promise<SourceSet["ready"]> {
  return (await registry.present()).ready;
}

/** Throws 404 for an account that inbound events do not belong to. */
function checkAccount(c: Context, deps: ManagementDeps): void {
  if (c.req.param("account_id") === deps.inboundAccount) return;
  throw new ApiError("not_found", { message: "This account receives no webhooks" });
}
