/**
 * Webhooks: {@link webhooks} receives, verifies and stores them, one agent per entity;
 * {@link webhooksManagement} lists them and sends outbound ones.
 *
 * @module
 */
import { Hono, type Context } from "hono";
import { authorize, type Auth } from "../auth/authorize.ts";
import { storedTokens } from "../auth/mod.ts";
import { eventCountsKind, eventTally } from "../entity/event-counts.ts";
import { webhookIndexKind } from "../entity/webhook-index.ts";
import { decodeName } from "../entity/name.ts";
import { rawSegment } from "../entity/segments.ts";
import { ApiError } from "../http/api-error.ts";
import { withBytes } from "../http/fields/body.ts";
import { checkMountPath } from "../http/mount-path.ts";
import { closeRoutes, methodNotAllowed } from "../http/routes.ts";
import { wholeRequest } from "../http/whole-request.ts";
import { misspelling } from "../text/nearest.ts";
import type { Log, Platform } from "../ports.ts";
import { traceparentOf, type Tracer } from "../trace/trace-context.ts";
import type { Delivery } from "./inbound/delivery.ts";
import { receive } from "./inbound/receive.ts";
import { portalLinkRoutes, portalRoutes } from "./portal/portal-routes.ts";
import { managementRoutes } from "./management.ts";
import { outboundKind } from "./outbound/outbound-kind.ts";
import { sharedClasses } from "./inbound/name-space.ts";
import {
  prepareDeliveryRetention,
  prepareRetention,
  type WebhookSource,
} from "./inbound/source.ts";
import type { RetentionOptions, SourceOptions } from "./inbound/source-options.ts";
import { FALLBACK, type SourceRegistry, sourceRegistry } from "./sources/source-registry.ts";

export {
  defineScheme,
  type Handshake,
  type HandshakeAnswer,
  type HandshakeValue,
  type RequestSource,
  type Scheme,
} from "./signing/scheme.ts";
export { schemes, type SchemeName } from "./signing/schemes.ts";
export type { Secret } from "./signing/keys.ts";
export { signLike, type UnsignedRequest } from "./signing/sign.ts";
export { prepareRetention } from "./inbound/source.ts";
export {
  verifyWebhook,
  type VerifyWebhookOptions,
  type WebhookVerdict,
} from "./inbound/verify-webhook.ts";
export { simulate } from "./signing/simulate.ts";
export type {
  EntitySource,
  FixedAnswer,
  RetentionOptions,
  SourceOptions,
} from "./inbound/source-options.ts";

/** The path, below that of the API, at which customers reach what is theirs. */
const PORTAL = "/webhook-portal";

/** Options of {@link webhooks} and {@link webhooksManagement}. */
export interface WebhooksOptions {
  readonly platform: Platform;
  /** The account that inbound events belong to. @default "local" */
  readonly accountId?: string;
  /** Guards the management routes; inbound webhooks are verified by signature. @default the stored tokens */
  readonly auth?: Auth;
  /**
   * The senders, by name, which is the first path segment. The source `default` receives at `/webhooks/{entity_id}`. More
   * sources can be made by the API while the server runs.
   */
  readonly sources: Readonly<Record<string, SourceOptions>>;
  /**
   * The path forms of the agent classes that the platform serves: a source or an endpoint that names another class is
   * refused. @default any class is accepted
   */
  readonly agentClasses?: readonly string[] | undefined;
  /** How long and how many events and deliveries are kept. @default events 30 days, any number; deliveries 30 days, dead ones 90 */
  readonly retention?: RetentionOptions;
  /**
   * The path prefix that a host or a proxy removes before this app sees the request: some schemes sign the whole
   * address. @default ""
   */
  readonly mountPath?: string | undefined;
  /** Largest body in bytes; a larger one is a 413. @default 1 MiB */
  readonly maxBodyBytes?: number;
  /**
   * Seals the secrets of outbound endpoints in the database. Values that the database's own key sealed stay readable.
   * @default a key kept in the same database: then sealing guards copies of single rows, not of the whole file
   */
  readonly masterSecret?: string;
  /** Receives a span for each delivery attempt, whose `traceparent` is sent to the endpoint. @default no tracing */
  readonly tracer?: Tracer | undefined;
  /** The path of the page that customers open with a link. @default no page: a link is then only a token */
  readonly portalPath?: string | undefined;
  /** The origin under which clients reach the server, for the links. @default not known */
  readonly publicUrl?: string | undefined;
  /** Former master secrets, which still open the values that they sealed. @default [] */
  readonly formerMasterSecrets?: readonly string[];
}

/**
 * Receives webhooks at `/:provider`, `/:provider/:entity_id` and `/:entity_id`. The agent classes of its sources
 * must be served by `agents()` on the same platform. Throws `TypeError` on a source that cannot be verified.
 *
 * @example
 * ```ts
 * import { memoryPlatform } from "causey/memory";
 * import { webhooks } from "causey/webhooks";
 *
 * const platform = await memoryPlatform();
 * const github = { scheme: "github", secret: "at least 16 characters" } as const;
 * const app = webhooks({ platform, sources: { github } });
 * ```
 */
export function webhooks(options: WebhooksOptions): Hono {
  const { platform, maxBodyBytes = 1024 * 1024 } = options;
  const mountPath = checkMountPath(options.mountPath);
  const sources = registryOf(options);
  logSources(sources.declared.values(), options.sources, platform.log);
  for (const kind of [eventCountsKind, webhookIndexKind]) platform.actors.define(kind);
  const tally = eventTally(platform.actors, platform.system);
  const app = new Hono();

  // A sender has no token, so only the name that was surely meant is offered.
  function noSource(c: Context): ApiError {
    const name = decodeName(rawSegment(c, "provider")).slice(0, 64);
    const meant = misspelling(name, [...sources.declared.keys()]);
    const hint = meant === undefined ? "" : `: did you mean "${meant}"?`;
    return new ApiError("no_route", { message: `No webhook source "${name}"${hint}` });
  }

  async function handle(
    c: Context,
    named: WebhookSource | undefined,
    path: string | null,
  ): Promise<Response> {
    const source = named ?? (path === null ? undefined : await sources.find(FALLBACK));
    if (source === undefined) throw noSource(c);
    const note = tally.of(source.name);
    note("received");
    try {
      const trace = traceparentOf(c.req.raw) ?? undefined;
      return await take({ request: await wholeRequest(c.req), trace, source, note }, path);
    } catch (error) {
      note(`refused.${reasonOf(error)}`);
      throw error;
    }
  }

  async function take(
    taken: Pick<Delivery, "request" | "source" | "note" | "trace">,
    path: string | null,
  ): Promise<Response> {
    const { request, source } = taken;
    const pathName = path === null ? null : decodeName(path);
    const given = { ...taken, pathName, mountPath, maxBodyBytes };
    if (request.method === "POST")
      return withBytes(request, maxBodyBytes, platform, (body) =>
        receive({ ...given, body }, platform),
      );
    if (!["GET", "HEAD", "OPTIONS"].includes(request.method))
      throw methodNotAllowed([source.handshakes.allow], request.method);
    return receive({ ...given, body: new Uint8Array(0) }, platform);
  }

  app.all("/:provider", async (c) => {
    const segment = rawSegment(c, "provider");
    const named = await sources.find(decodeName(segment));
    return handle(c, named, named === undefined ? segment : null);
  });
  app.all("/:provider/:entity_id", async (c) => {
    const named = await sources.find(decodeName(rawSegment(c, "provider")));
    if (named === undefined) throw noSource(c);
    return handle(c, named, rawSegment(c, "entity_id"));
  });
  closeRoutes(app, ["/*"], "api", platform);
  return app;
}

/**
 * Serves `/accounts/:account_id/webhooks/…`: events, endpoints, deliveries, sending, replay. Mount it once per platform.
 *
 * @example
 * ```ts
 * import { memoryPlatform } from "causey/memory";
 * import { webhooksManagement } from "causey/webhooks";
 *
 * const platform = await memoryPlatform();
 * const github = { scheme: "github", secret: "at least 16 characters" } as const;
 * const app = webhooksManagement({ platform, sources: { github } });
 * ```
 */
export function webhooksManagement(options: WebhooksOptions): Hono {
  const { platform } = options;
  const auth = options.auth ?? storedTokens(platform);
  platform.actors.define(eventCountsKind);
  platform.actors.define(webhookIndexKind);
  platform.actors.define(
    outboundKind({
      egress: platform.egress,
      masterSecret: options.masterSecret,
      formerMasterSecrets: options.formerMasterSecrets ?? [],
      log: platform.log,
      retention: prepareDeliveryRetention(options.retention),
      agents: {
        account: options.accountId ?? "local",
        retention: prepareRetention(options.retention),
        classes: options.agentClasses,
      },
      tracer: options.tracer,
    }),
  );
  const app = new Hono();
  const base = "/accounts/:account_id/webhooks";
  const edit = authorize(auth, "Webhooks Edit");
  managementRoutes(app, base, {
    platform,
    inboundAccount: options.accountId ?? "local",
    registry: registryOf(options),
    read: authorize(auth, "Webhooks Read"),
    edit,
  });
  const { portalPath, publicUrl } = options;
  const page = portalPath === undefined ? null : { path: portalPath, publicUrl };
  portalLinkRoutes(app, base, { platform, auth, edit, page });
  portalRoutes(app, PORTAL, { platform, auth, edit, page });
  closeRoutes(app, [base, `${base}/*`, PORTAL, `${PORTAL}/*`], "api", platform);
  return app;
}

function registryOf(options: WebhooksOptions): SourceRegistry {
  const { accountId: account = "local" } = options;
  return sourceRegistry({ ...options, account, retention: prepareRetention(options.retention) });
}

/**
 * Logs sources whose signatures do not cover the entity, and sources that feed one class with equally named entities.
 */
function logSources(
  sources: Iterable<WebhookSource>,
  configured: WebhooksOptions["sources"],
  log: Log,
): void {
  for (const { entity, name } of sources) {
    if (entity.from !== "header") continue;
    const message = "A webhook source takes its entity from an unsigned header";
    log("warn", message, { source: name, header: entity.name });
  }
  for (const [agent, spaces] of sharedClasses(configured)) {
    const message = "Webhook sources meet in an agent class: each has entities of its own";
    log("info", message, { agent, sources: spaces.join(", ") });
  }
}

/** The reason of a refusal, for the counters: one of a few fixed words, never the sender's. */
function reasonOf(error: unknown): string {
  if (!(error instanceof ApiError)) return "internal";
  return error.kind === "signature_invalid" && typeof error.cause === "string"
    ? error.cause
    : error.kind;
}
