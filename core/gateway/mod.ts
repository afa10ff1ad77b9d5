import { Hono } from "hono";
import type { ExpositionFormat } from "../http/metrics-format.ts";
import { onError } from "../http/routes.ts";
import { errorResponse } from "../http/envelope.ts";
import { allowOrigins, checkOrigins, refusedOrigin } from "../http/origins/cors.ts";
import { isWebSocketUpgrade } from "../http/origins/websocket-upgrade.ts";
import { type AiBinding, aiBinding } from "./entry/ai-binding.ts";
import { type Engine, gatewayEngine } from "./engine.ts";
import type { GatewayOptions } from "./entry/options.ts";
import { withoutTokens } from "./entry/error-hygiene.ts";
import { universalSockets } from "./realtime/connect.ts";
import { BARE_PATHS, gatewayFront } from "./entry/front.ts";
import { managementApp } from "./manage/management.ts";
import { exposition } from "./observe/metrics/exposition.ts";

export type { GatewayOptions } from "./entry/options.ts";
export { httpChecker, type HttpCheckerOptions } from "./guard/checkers/http-checker.ts";
export type { SemanticCacheFactory } from "./cache/similar-answers.ts";
export type { ResumableRunsFactory } from "./entry/resume-run.ts";
export type {
  EligibleModel,
  ModelRouter,
  RouteChoice,
  RouterCandidate,
  RouteRequest,
} from "./routing/router/model-router.ts";
export type { Ability } from "./chat/conversation.ts";
export type { AiBinding, AiRunOptions } from "./entry/ai-binding.ts";
export type {
  Checker,
  CheckAction,
  CheckPhase,
  CheckResult,
  Finding,
} from "./guard/detect/checker.ts";

/** The entries to one engine, see {@link gatewayParts}. */
export interface GatewayParts {
  /** The app of {@link gateway}. */
  readonly gateway: Hono;
  /** The app of {@link gatewayManagement}. */
  readonly management: Hono;
  /** Makes the binding of {@link createAiBinding}, for a gateway of the options' account. @default "default" */
  readonly aiBinding: (gateway?: string) => AiBinding;
  /** Returns an account's metrics for a scraper; null if metrics are off. */
  readonly metricsOf: (account: string, format: ExpositionFormat) => Promise<string | null>;
}

/**
 * Makes both apps, and bindings, over one engine: rows, limits, cache and settings are the same by whichever entry a request
 * takes. If you make them one by one, each has an engine of its own.
 *
 * @example
 * ```ts
 * import { gatewayParts } from "causey/gateway";
 * import { memoryPlatform } from "causey/memory";
 * import { Hono } from "hono";
 *
 * const platform = await memoryPlatform();
 * const parts = gatewayParts({ platform, demo: true });
 * const app = new Hono();
 * app.route("/", parts.gateway);
 * app.route("/client/v4", parts.management);
 * const binding = parts.aiBinding("default");
 * ```
 */
export function gatewayParts(options: GatewayOptions): GatewayParts {
  const engine = gatewayEngine(options);
  const account = options.accountId ?? "local";
  return {
    gateway: gatewayApp(options, engine),
    management: managementApp(options, engine),
    aiBinding: (id = "default") => aiBinding({ account, gateway: id }, engine),
    async metricsOf(owner, format) {
      const table = await engine.metrics?.read(owner);
      return table === undefined ? null : exposition(table, options.platform.runtime, format);
    },
  };
}

/**
 * Makes the gateway's management API. Mount it at the API root: every call of the
 * official SDK's `aiGateway` resource, a live tail of the log, and REST inference.
 *
 * @example
 * ```ts
 * import { gatewayManagement } from "causey/gateway";
 * import { memoryPlatform } from "causey/memory";
 * import { Hono } from "hono";
 *
 * const platform = await memoryPlatform();
 * const app = new Hono().route("/client/v4", gatewayManagement({ platform }));
 * ```
 */
export function gatewayManagement(options: GatewayOptions): Hono {
  return managementApp(options, gatewayEngine(options));
}

/**
 * Makes the gateway in front of model providers: `/v1/:account_id/:gateway_id/:provider/*` with any method and
 * path and its realtime WebSockets, the universal endpoint `/v1/:account_id/:gateway_id` (over HTTP and
 * WebSocket) and the unified one, `compat/chat/completions`.
 *
 * @example
 * ```ts
 * import { gateway } from "causey/gateway";
 * import { memoryPlatform } from "causey/memory";
 *
 * const platform = await memoryPlatform();
 * const app = gateway({ platform, demo: true, gateways: { open: { authentication: false } } });
 * const answer = await app.request("/v1/local/open/compat/chat/completions", {
 *   method: "POST",
 *   headers: { "Content-Type": "application/json" },
 *   body: '{"model":"echo/echo","messages":[{"role":"user","content":"Hello"}]}',
 * });
 * answer.status; // → 200
 * await platform.close();
 * ```
 */
export function gateway(options: GatewayOptions): Hono {
  return gatewayApp(options, gatewayEngine(options));
}

function gatewayApp({ platform, origins }: GatewayOptions, engine: Engine): Hono {
  const app = new Hono();
  if (origins !== undefined) allowPages(app, origins);
  const front = gatewayFront({ ...engine, sockets: universalSockets(engine) }, (error, c) =>
    onError(withoutTokens(error, c.req.raw), c, "gateway", platform),
  );
  // By method for the log, which names such a route; and for all, so that none is read as an account and its gateway.
  for (const [method, path] of BARE_PATHS) {
    app.on(method, `/v1/${path}`, front);
    app.all(`/v1/${path}`, front);
  }
  // One route, which catches its own errors: routers and middleware are a tenth of what a small request costs.
  app.all("/v1/:account_id/:gateway_id/*", front);
  return app;
}

/** Lets pages of these origins in, and no WebSocket of a page of any other. */
function allowPages(app: Hono, origins: readonly string[]): void {
  checkOrigins(origins);
  app.use("/v1/*", allowOrigins(origins), async (c, next) => {
    if (!isWebSocketUpgrade(c.req.raw)) return next();
    const refused = refusedOrigin(c.req.raw, origins);
    return refused === null ? next() : errorResponse(refused, "gateway");
  });
}

/** Options of {@link createAiBinding}. */
export interface AiBindingOptions extends GatewayOptions {
  /** The id of the gateway. @default "default" */
  readonly gateway?: string;
  /** The account of the gateway. @default "local" */
  readonly accountId?: string | undefined;
}

/**
 * Makes a gateway usable in process, without a network and without a gateway token: the caller is the
 * operator's own code. Pass it as `createAiGateway({ binding })` of `ai-gateway-provider`. It has an engine of its
 * own; where the gateway is served as well, take `aiBinding()` of `platformApi()` or `gatewayParts()`, which shares it.
 *
 * @example
 * ```ts
 * import { createAiBinding } from "causey/gateway";
 * import { memoryPlatform } from "causey/memory";
 *
 * const platform = await memoryPlatform();
 * const binding = createAiBinding({ platform, demo: true });
 * const query = { model: "echo", messages: [{ role: "user", content: "Hello" }] };
 * const answer = await binding.run({
 *   provider: "echo",
 *   endpoint: "chat/completions",
 *   headers: {},
 *   query,
 * });
 * answer.status; // → 200
 * await platform.close();
 * ```
 */
export function createAiBinding(options: AiBindingOptions): AiBinding {
  const name = { account: options.accountId ?? "local", gateway: options.gateway ?? "default" };
  return aiBinding(name, gatewayEngine(options));
}
