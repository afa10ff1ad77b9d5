import type { Context, Hono, MiddlewareHandler } from "hono";
import { requesterId } from "../../auth/authorize.ts";
import { envelope } from "../../http/envelope.ts";
import { readJson } from "../../http/fields/body.ts";
import { formatInstant } from "../../http/fields/instant.ts";
import type { Plain, Platform } from "../../ports.ts";
import type { EntityRule, WebhookSource } from "../inbound/source.ts";
import { sourceInput, sourceReplacement, sourceRotation } from "../inbound/source-schema.ts";
import { sourceChanges, unknownSource } from "./change-sources.ts";
import type { SourceRegistry, SourceSet } from "./source-registry.ts";
import type { StoredSource } from "./stored-sources.ts";

/** A source as the API shows it: without its secrets. */
export type SourceView = {
  readonly name: string;
  /** Null for a scheme of the program's own. */
  readonly scheme: string | null;
  /** Whether it is one of the configuration, which the API does not change. */
  readonly declared: boolean;
  /** Why it cannot receive; null if it does. */
  readonly error: string | null;
  readonly agent: string | null;
  readonly entity: EntityRule | null;
  readonly respond: "processed" | "queued" | null;
  readonly forward: boolean;
  /** The settings of a source of the API, but for its secrets. */
  readonly settings: { readonly [member: string]: Plain } | null;
  /** The ends of the secrets of a source of the API; null = without an end. */
  readonly secrets: readonly { readonly expires_at: string | null }[];
  readonly created_at: string | null;
  readonly modified_at: string | null;
  /** The id of the token that changed it last. */
  readonly modified_by: string | null;
};

interface SourceRouteDeps {
  readonly platform: Platform;
  readonly registry: SourceRegistry;
  readonly read: MiddlewareHandler;
  readonly edit: MiddlewareHandler;
  /** Throws 404 for an account that inbound events do not belong to. */
  readonly check: (c: Context) => void;
}

/** Adds the routes of the sources below `base`: those of the API are made, changed and deleted while servers run. */
export function sourceRoutes(app: Hono, base: string, deps: SourceRouteDeps): void {
  const { check, edit, platform, read, registry } = deps;
  const changes = sourceChanges(registry, platform.system);
  const nameOf = (c: Context): string => c.req.param("name") ?? "";
  const audit = (c: Context, source: string, change: string): void => {
    platform.log("info", "A webhook source was changed", { source, change, by: requesterId(c) });
  };
  const shown = async (name: string): Promise<SourceView> => {
    const found = sourceViews(registry, await registry.present()).find((one) => one.name === name);
    if (found === undefined) throw await unknownSource(registry, name);
    return found;
  };
  app.get(`${base}/sources`, read, async (c) => {
    check(c);
    return envelope(sourceViews(registry, await registry.present()));
  });
  app.post(`${base}/sources`, edit, async (c) => {
    check(c);
    const { name, ...given } = await readJson(c, sourceInput, { platform });
    await changes.create(name, given, requesterId(c));
    audit(c, name, "created");
    return envelope(await shown(name), { status: 201 });
  });
  app.get(`${base}/sources/:name`, read, async (c) => {
    check(c);
    return envelope(await shown(nameOf(c)));
  });
  app.put(`${base}/sources/:name`, edit, async (c) => {
    check(c);
    const given = await readJson(c, sourceReplacement, { platform });
    await changes.replace(nameOf(c), given, requesterId(c));
    audit(c, nameOf(c), "replaced");
    return envelope(await shown(nameOf(c)));
  });
  app.post(`${base}/sources/:name/rotate`, edit, async (c) => {
    check(c);
    const rotation = await readJson(c, sourceRotation, { platform });
    await changes.rotate(nameOf(c), rotation, requesterId(c));
    audit(c, nameOf(c), "rotated");
    return envelope(await shown(nameOf(c)));
  });
  app.delete(`${base}/sources/:name`, edit, async (c) => {
    check(c);
    await changes.remove(nameOf(c));
    audit(c, nameOf(c), "deleted");
    return envelope({ name: nameOf(c) });
  });
}

function sourceViews({ declared }: SourceRegistry, set: SourceSet): SourceView[] {
  const own = [...declared.keys()].map((name) => viewOf(set, name, true, undefined));
  const stored = set.stored
    .filter(({ name }) => !declared.has(name))
    .map((one) => viewOf(set, one.name, false, one));
  return [...own, ...stored];
}

function viewOf(
  { broken, options, ready }: SourceSet,
  name: string,
  declared: boolean,
  stored: StoredSource | undefined,
): SourceView {
  const source = ready.get(name);
  const scheme = stored?.settings["scheme"] ?? options[name]?.scheme;
  return {
    name,
    scheme: typeof scheme === "string" ? scheme : null,
    declared,
    error: source === undefined ? (broken.get(name) ?? null) : null,
    ...(source === undefined ? NOT_READY : receiving(source)),
    ...(stored === undefined ? NOT_STORED : kept(stored)),
  };
}

const NOT_READY = { agent: null, entity: null, respond: null, forward: false } as const;
const NOT_STORED = {
  settings: null,
  secrets: [],
  created_at: null,
  modified_at: null,
  modified_by: null,
} as const;

function receiving({
  agentClass,
  entity,
  forward,
  respond,
}: WebhookSource): Pick<SourceView, keyof typeof NOT_READY> {
  return { agent: agentClass, entity, respond, forward: forward !== null };
}

function kept(stored: StoredSource): Pick<SourceView, keyof typeof NOT_STORED> {
  return {
    settings: stored.settings,
    secrets: stored.expiries.map((end) => ({
      expires_at: end === null ? null : formatInstant(end),
    })),
    created_at: formatInstant(stored.createdAt),
    modified_at: formatInstant(stored.modifiedAt),
    modified_by: stored.modifiedBy,
  };
}
