import type { PlatformApiOptions } from "./config/platform-api-options.ts";
import { Hono, type MiddlewareHandler } from "hono";
import { agents, webhookAgent } from "./agents/mod.ts";
import { auth, storedTokens } from "./auth/mod.ts";
import { notesNearAccount } from "./auth/near-account.ts";
import { allows, type Viewer } from "./auth/principal.ts";
import { listingRoutes } from "./deprecations/listing.ts";
import { compiledMiddleware } from "./deprecations/middleware.ts";
import { compile } from "./deprecations/options.ts";
import { deprecationTable } from "./deprecations/table/table.ts";
import { liveSettings } from "./deprecations/settings/live-settings.ts";
import { settingsRoutes } from "./deprecations/settings/settings-routes.ts";
import { type GatewayParts, gatewayParts } from "./gateway/mod.ts";
import { resumableStreams } from "./gateway/resume/mod.ts";
import type { Handle } from "./console/forward.ts";
import { type AccountUsage, accountUsage } from "./console/usage.ts";
import { errorResponse } from "./http/envelope.ts";
import { prefixRouter } from "./http/prefix-router.ts";
import { closeRoutes, noRoute } from "./http/routes.ts";
import type { Platform } from "./ports.ts";
import { htmlToMarkdown } from "./rendering/html-to-markdown.ts";
import { type RenderingParts, renderingParts } from "./rendering/mod.ts";
import { type SearchOptions, searchParts } from "./search/mod.ts";
import { sharedSemanticCache, watchedModels, watchedRendering } from "./config/shared-models.ts";
import { NO_EXPORT, otlpExport, type OtlpExport } from "./signals/otlp/otlp-export.ts";
import type { PartName } from "./signals/requests/route-template.ts";
import { type Signals, signals, type SignalsOptions } from "./signals/mod.ts";
import { partLog, spanLog } from "./trace/part-log.ts";
import type { Tracer } from "./trace/trace-context.ts";
import {
  prepareRetention,
  webhooks,
  webhooksManagement,
  type WebhooksOptions,
} from "./webhooks/mod.ts";
import { webhookFamilies } from "./webhooks/webhook-families.ts";

/** The app of {@link platformApi}, and what a program in the same process can use of it without HTTP. */
export type PlatformApi = Hono &
  Pick<GatewayParts, "aiBinding"> & {
    /** `fetch` without a line in the access log and without being counted: for the program's own requests. */
    readonly quietFetch: Hono["fetch"];
  };

/** The path of the API root: its last segment is the version of the hosted API. */
const API_ROOT = "/client/v4";

/**
 * Makes the whole platform API as one Hono app: the API root at `/client/v4`, the gateway at `/v1`, webhooks at
 * `/webhooks`, agents at `/agents`, and `/healthz`, `/readyz`; where they are on also `/metrics`, `/openapi.json`, `/docs` and `/console`.
 *
 * @example
 * ```ts
 * import { platformApi } from "causey";
 * import { memoryPlatform } from "causey/memory";
 *
 * const platform = await memoryPlatform();
 * const token = "a-token-of-at-least-16-characters";
 * const app = platformApi({
 *   platform,
 *   accountId: "acme",
 *   tokens: [{ token, permissions: ["*"], accounts: ["acme"] }],
 * });
 * const headers = { Authorization: `Bearer ${token}` };
 * const answer = await app.request("/client/v4/accounts/acme/ai-gateway/gateways", { headers });
 * answer.status; // → 200
 * await platform.close();
 * ```
 */
export function platformApi(options: PlatformApiOptions): PlatformApi {
  const { accountId = "local", mountPath, publicUrl } = options;
  const telemetry = telemetryOf(options);
  const tracer = telemetry?.tracer;
  const platform = withTelemetry(options.platform, telemetry);
  const authenticate = options.auth ?? storedTokens(platform, options);
  const shared = { platform, accountId, auth: authenticate, publicUrl };
  const { parts, seen } = watchedGateway(options, shared, telemetry);
  const pages = renderingParts({
    ...watchedRendering(options, seen, parts),
    ...asPart(shared, "rendering"),
    sendsWebhooks: true,
    tracer,
  });
  const instances = searchParts({
    ...renderedForSearch(options, pages),
    ...watchedModels(options, seen, parts),
    ...asPart(shared, "search"),
    proxies: options.proxies,
    tracer,
  });
  const webhookOptions = webhookOptionsOf(options, asPart(shared, "webhooks"), tracer);
  const retired = deprecationParts(options, shared);

  const api = mergedRoutes([
    auth(shared),
    parts.management,
    pages.routes,
    instances.routes,
    webhooksManagement(webhookOptions),
    ...retired.routes,
    seen.uses,
  ]);

  const app = new Hono({ router: prefixRouter() });
  app.use(`${API_ROOT}/*`, retired.middleware);
  app.use(`${API_ROOT}/*`, notesNearAccount(accountId));
  app.route(API_ROOT, api);
  app.route("/", parts.gateway);
  app.route("/", instances.publicRoutes);
  app.route("/webhooks", webhooks(webhookOptions));
  app.route(
    "/agents",
    agents({
      ...options.agentAccess,
      ...asPart(shared, "agents"),
      agents: options.agents ?? [],
      retention: prepareRetention(options.webhooks?.retention),
      sendsWebhooks: true,
      gateway: parts.aiBinding,
      search: instances.binding,
      render: pages.binding,
      tracer,
    }),
  );
  app.route("/", seen.routes);
  if (options.openApi) app.route("/", options.openApi({ platform, mountPath }));
  const reach: Reach = { handle: (request) => app.fetch(request) };
  mountConsole(app, options, { shared, parts, seen, reach });
  closeApp(app, platform);
  return observedApp(app, { parts, seen, reach });
}

/** The options of webhooks; customers find the page of their links with the console. */
function webhookOptionsOf(
  { agents: classes = [], console: pages, mountPath, webhooks: own }: PlatformApiOptions,
  shared: Shared,
  tracer: Tracer | undefined,
): WebhooksOptions {
  const page = pages ? { portalPath: `${mountPath ?? ""}/console/portal` } : {};
  const agentClasses = [webhookAgent, ...classes].map(({ name }) => name);
  return { sources: {}, ...own, ...shared, ...page, agentClasses, mountPath, tracer };
}

/** Answers what no route takes. */
function closeApp(app: Hono, platform: Platform): void {
  closeRoutes(app, [`${API_ROOT}/*`], "api", platform);
  let templates: readonly string[] | undefined;
  // Takes effect only where this app is the whole host: below `route()` the host's own 404 stays.
  app.notFound((c) => {
    templates ??= app.routes.map(({ path }) => path).filter((path) => !path.includes("*"));
    return errorResponse(noRoute(c, templates), "api");
  });
}

/** The app with its requests observed, those of the console too unless they only read. */
function observedApp(
  app: Hono,
  {
    parts,
    seen,
    reach,
  }: { readonly parts: GatewayParts; readonly seen: Signals; readonly reach: Reach },
): PlatformApi {
  const { fetch: quietFetch } = app;
  const fetch = seen.observed(app);
  reach.handle = (request) => (isRead(request) ? quietFetch(request) : fetch(request));
  return Object.assign(app, { aiBinding: parts.aiBinding, quietFetch, fetch });
}

/** The features of the rendering part that search uses. */
function renderedForSearch(
  { platform: { background }, rendering }: PlatformApiOptions,
  { crawler }: RenderingParts,
): Pick<SearchOptions, "crawler" | "htmlToMarkdown"> {
  const deps = { background, extract: rendering?.extract };
  return { crawler, htmlToMarkdown: (html, owner) => htmlToMarkdown(html, deps, owner) };
}

/** The routes of several parts, one app. */
function mergedRoutes(parts: readonly Hono[]): Hono {
  const api = new Hono();
  for (const part of parts) api.route("/", part);
  return api;
}

/** The middleware of the deprecations, and its routes below the API root. */
function deprecationParts(
  { deprecations: own = {}, mountPath }: PlatformApiOptions,
  shared: Shared,
): { readonly middleware: MiddlewareHandler; readonly routes: readonly Hono[] } {
  const part = asPart(shared, "deprecations");
  const table = own.entries ?? deprecationTable;
  const live = liveSettings(part.platform, table, own.settings ?? {});
  const known = compile({ ...own, ...part, mountPath, settings: live.present });
  return {
    middleware: compiledMiddleware(known),
    routes: [settingsRoutes({ ...part, table, live }), listingRoutes(known, part.platform)],
  };
}

/** Whether a request only reads: the console's page polls while it is open, which should not fill the log. */
function isRead({ method }: Request): boolean {
  return method === "GET" || method === "HEAD";
}

/** The app, as the console reaches it although it is a part of the app. */
interface Reach {
  handle: Handle;
}

/** Mounts the console if the options ask for it. */
function mountConsole(
  app: Hono,
  options: PlatformApiOptions,
  {
    shared,
    parts,
    seen,
    reach,
  }: {
    readonly shared: Shared;
    readonly parts: GatewayParts;
    readonly seen: Signals;
    readonly reach: Reach;
  },
): void {
  if (!options.console) return;
  const { accountId } = shared;
  // The tokens and cost that `/metrics` reports.
  const usage = async (viewer: Viewer): Promise<AccountUsage | null> => {
    if (viewer !== "host" && !allows(viewer, "AI Gateway Read", accountId)) return null;
    const text = await parts.metricsOf(accountId, "text");
    return text === null ? null : accountUsage(text);
  };
  const { hidden, history, health, follow, nodes } = seen;
  app.route(
    "/",
    options.console({
      ...asPart(shared, "console"),
      mountPath: options.mountPath,
      source: { hidden, history, health, follow, nodes, usage },
      handle: (request) => reach.handle(request),
    }),
  );
}

/** The export of signals to a collector, and of the spans of chosen parts to the log. */
function telemetryOf({
  platform,
  telemetry,
  debug = [],
}: PlatformApiOptions): OtlpExport | undefined {
  if (!telemetry && debug.length === 0) return undefined;
  const onSpan = debug.length === 0 ? undefined : spanLog(platform.log, debug);
  return otlpExport(platform, telemetry ?? NO_EXPORT, onSpan);
}

/** Gives a part the shared options, with a log that names the part. */
function asPart<S extends Shared>(shared: S, part: PartName): S {
  const { platform } = shared;
  return { ...shared, platform: { ...platform, log: partLog(platform.log, part) } };
}

/** The platform with a log that the collector receives as well. */
function withTelemetry(platform: Platform, telemetry: OtlpExport | undefined): Platform {
  return telemetry === undefined ? platform : { ...platform, log: telemetry.log(platform.log) };
}

type Shared = Pick<SignalsOptions, "platform" | "accountId" | "auth">;

/** The gateway, and the signals of it and of all other parts. */
function watchedGateway(
  options: PlatformApiOptions,
  shared: Shared,
  telemetry: OtlpExport | undefined,
): { readonly parts: GatewayParts; readonly seen: Signals } {
  const { accessLog = false, metrics = false } = options;
  const isCounted = metrics || Boolean(options.console);
  const parts = gatewayParts({
    ...options.gateway,
    ...asPart(shared, "gateway"),
    mountPath: options.mountPath,
    publicUrl: options.publicUrl,
    sendsWebhooks: true,
    demo: options.demo ?? false,
    accessLog: accessLog || isCounted || telemetry !== undefined,
    spans: telemetry?.spans,
    semanticCache: sharedSemanticCache(options),
    resume: options.gateway?.resume && resumableStreams(options.gateway.resume),
  });
  return {
    parts,
    seen: signals({
      ...shared,
      accessLog,
      metrics,
      isCounted,
      telemetry,
      gatewayMetrics: parts.metricsOf,
      families: async (viewer) =>
        viewer === "host" || allows(viewer, "Webhooks Read", shared.accountId)
          ? webhookFamilies(shared.platform, shared.accountId)
          : [],
      secrets: Object.values(options.gateway?.gateways ?? {}).flatMap(({ tokens = [] }) =>
        tokens.filter(Boolean),
      ),
    }),
  };
}
