import { Hono } from "hono";
import { type Auth, authorize, principalOf, viewerOf } from "../auth/authorize.ts";
import { bearerToken } from "../auth/bearer.ts";
import type { Permission } from "../auth/permissions.ts";
import type { Viewer } from "../auth/principal.ts";
import { secretSearch } from "../auth/secret-search.ts";
import {
  acceptedFormat,
  type ExpositionFormat,
  type Family,
  mediaTypes,
} from "../http/metrics-format.ts";
import { closeRoutes } from "../http/routes.ts";
import { type ActorClient, actorClient } from "../actors/actor-client.ts";
import type { ActorNode, Platform } from "../ports.ts";
import { observedFetch, type Observer } from "./access-log.ts";
import { platformExposition, type PlatformFigures } from "./exposition.ts";
import { type Health, healthOf, healthRoutes } from "./health.ts";
import { modelHealth, type PartModels } from "./model-health.ts";
import { type RequestCounting, requestCounting } from "./request-counting.ts";
import type { OtlpExport } from "./otlp/otlp-export.ts";
import type { OtlpSpanPlace } from "./otlp/otlp-records.ts";
import { isProbe, type RequestRow } from "./requests/request-row.ts";
import { deprecatedUseLog } from "./deprecated-uses.ts";
import { usesRoutes } from "./uses-routes.ts";
import { signalsKind, type SignalsMethods } from "./signals-actor.ts";
import { type SeenMinute, visibilityOf } from "./visibility.ts";

/** Options of {@link signals}. */
export interface SignalsOptions {
  readonly platform: Platform;
  readonly accountId: string;
  readonly auth: Auth;
  /** Tokens of the configuration that `auth` does not know: those of gateways. @default none */
  readonly secrets?: readonly string[];
  /** Writes a line of the log for each request. @default false */
  readonly accessLog?: boolean;
  /** Serves `/metrics`. @default false */
  readonly metrics?: boolean;
  /** Counts requests, for `/metrics` and for the console. @default as `metrics` */
  readonly isCounted?: boolean;
  /** Also exports the signals to a collector. @default no export */
  readonly telemetry?: OtlpExport | undefined;
  /** Returns the gateway's metrics; null if they are off. */
  readonly gatewayMetrics: (account: string, format: ExpositionFormat) => Promise<string | null>;
  /** Families of other parts, as far as a viewer may see them. @default none */
  readonly families?: (viewer: Viewer) => Promise<readonly Family[]>;
}

/** The requests that the platform serves, and its health. */
export interface Signals {
  /** `/healthz`, `/readyz` and, where they are on, `/metrics`. */
  readonly routes: Hono;
  /** The uses of what is deprecated, below the API root; without a route where requests are not counted. */
  readonly uses: Hono;
  readonly models: PartModels;
  readonly health: () => Promise<Health>;
  /** Wraps the app's `fetch` so that its requests are observed; returns the app's own if nothing observes them. */
  readonly observed: (app: Hono) => Hono["fetch"];
  /** The permissions that a viewer lacks on the installation's account, by the part that is hidden without them. */
  readonly hidden: (viewer: Viewer) => Readonly<Record<string, Permission>>;
  /** The minutes since an instant in Unix ms, by part; null = the viewer may see none of them, now or later. */
  readonly history: (since: number, viewer: Viewer) => Promise<readonly SeenMinute[] | null>;
  /** The servers that share the database; null for a single one, or if the viewer may not see the account itself. */
  readonly nodes: (viewer: Viewer) => Promise<readonly ActorNode[] | null>;
  /** Requests after a position (-1 = the newest there are); waits up to `waitMs` for some. */
  readonly follow: (position: number, waitMs: number) => Promise<FollowedPage>;
}

/** Requests after a position, and the position after them. */
interface FollowedPage {
  readonly position: number;
  /** The requests that a viewer may see; null as for {@link Signals.history}. */
  readonly seenBy: (viewer: Viewer) => readonly RequestRow[] | null;
}

export function signals(options: SignalsOptions): Signals {
  const { platform, accessLog = false, metrics = false, isCounted = metrics } = options;
  const { actors, log, system } = platform;
  actors.define(signalsKind);
  const actor = actorClient<SignalsMethods>(actors.get(signalsKind.name, "all"));
  const models = { search: modelHealth(system), rendering: modelHealth(system) };
  const health = healthOf(platform, models);
  const counting = requestCounting(platform, (batch) => actor.add(batch));
  const { accountId, auth } = options;
  const searchSecrets = secretSearch(options.secrets ?? [], (length) => system.random(length));
  const isSecret = (text: string): boolean =>
    searchSecrets(text) || (auth !== "off" && auth.isIn?.(text) === true);
  const { telemetry } = options;
  const report = (row: RequestRow, span: OtlpSpanPlace | null): void => {
    telemetry?.request(row, span);
    if (isCounted) counting.add(row);
    if (accessLog) writeLine(row, log);
    if (accessLog) logUse(row);
  };
  const logUse = deprecatedUseLog(log);
  const routes = new Hono();
  if (metrics) routes.route("/", metricsRoutes(options, { actor, counting, health }));
  routes.route("/", healthRoutes(platform, health));
  return {
    routes,
    uses: isCounted ? usesRoutes({ ...options, actor, counting }) : new Hono(),
    models,
    health,
    observed: (app) =>
      accessLog || isCounted || telemetry !== undefined
        ? observedFetch(app, {
            platform,
            accountId,
            isSecret,
            identify: identifier(auth),
            report,
            begin: beginOf(telemetry),
          })
        : app.fetch,
    hidden: (viewer) => visibilityOf(viewer, accountId).hidden,
    history: async (since, viewer) =>
      visibilityOf(viewer, accountId).minutes(await actor.history(since)),
    nodes: async (viewer) =>
      visibilityOf(viewer, accountId).hidden["platform"] === undefined
        ? ((await actors.nodes?.list()) ?? null)
        : null,
    async follow(from, waitMs) {
      const { rows, position } = await actor.follow(from, waitMs);
      return { position, seenBy: (viewer) => visibilityOf(viewer, accountId).requests(rows) };
    },
  };
}

/** The caller of every request where the host authenticates. */
const HOST = { id: "host", grants: [{ permissions: ["*"], accounts: ["*"] }] } as const;

/** Finds a request's token. */
function identifier(auth: Auth): Observer["identify"] {
  if (auth === "off") return () => HOST;
  return ({ headers }) => {
    const token = bearerToken(headers.get("authorization"));
    return token === null ? null : principalOf(auth, token);
  };
}

/** The function that begins spans; undefined without tracing. */
function beginOf(
  telemetry: OtlpExport | undefined,
): ((traceparent: string | null) => OtlpSpanPlace | null) | undefined {
  return telemetry && ((traceparent) => telemetry.begin(traceparent));
}

interface MetricsDeps {
  readonly actor: ActorClient<SignalsMethods>;
  readonly counting: RequestCounting;
  readonly health: () => Promise<Health>;
}

/** `GET /metrics`: the whole platform, with the gateway's families of the account. */
function metricsRoutes(
  { platform, accountId, auth, families, gatewayMetrics }: SignalsOptions,
  { actor, counting, health }: MetricsDeps,
): Hono {
  const app = new Hono();
  const othersOf = async (viewer: Viewer): Promise<readonly Family[]> => {
    try {
      return (await families?.(viewer)) ?? [];
    } catch (error) {
      // A scraper must see the platform while one part of it fails.
      const why = error instanceof Error ? error.message : String(error);
      platform.log("warn", "Figures are missing in /metrics", { error: why });
      return [];
    }
  };
  app.get("/metrics", authorize(auth, "AI Gateway Read", accountId), async (c) => {
    const format = acceptedFormat(c.req.header("accept"));
    await counting.flush();
    const requests = await actor.totals();
    const deprecated = await actor.useTotals();
    const others = await othersOf(viewerOf(c));
    const figures = {
      requests,
      deprecated,
      parts: await health(),
      vitals: platform.vitals?.(),
      nodes: await nodesOf(platform),
      others,
    };
    const gateway = (await gatewayMetrics(accountId, format)) ?? "";
    const end = format === "openmetrics" ? "# EOF\n" : "";
    const text = `${platformExposition(figures, format)}${gateway.replace(/# EOF\n$/, "")}${end}`;
    return new Response(text, {
      headers: {
        "content-type": mediaTypes[format],
        "cache-control": "no-store",
        vary: "accept",
      },
    });
  });
  closeRoutes(app, [], "api", platform);
  return app;
}

async function nodesOf({ actors: { nodes } }: Platform): Promise<PlatformFigures["nodes"]> {
  return nodes === undefined ? null : { own: nodes.own, all: await nodes.list() };
}

/** Warns of faults of the platform itself; callers may cause the others. Probes come every few seconds. */
function writeLine(row: RequestRow, log: Platform["log"]): void {
  const { id, part, method, route, status, ms, firstMs, bytes, caller, error, reason } = row;
  const { deprecation } = row;
  // JSON leaves out undefined members.
  const level = status >= 500 ? "warn" : isProbe(row) ? "debug" : "info";
  log(level, "Request", {
    request_id: id,
    part,
    method,
    route,
    status,
    ms,
    first_ms: firstMs,
    bytes,
    caller,
    error,
    reason,
    deprecation,
  });
}
