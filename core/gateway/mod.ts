import { type Context, Hono } from "hono";
import { routePath } from "hono/route";
import { json } from "../http/envelope.ts";
import { checkAccountId } from "../auth/account-id.ts";
import { closeRoutes } from "../http/routes.ts";
import { admit, type AdmitOptions } from "./admit.ts";
import type { Call, GatewayDeps, Step } from "./call.ts";
import { compatStep } from "./compat.ts";
import { gatewayDeps, type GatewayOptions } from "./deps.ts";
import { forwardAny } from "./dynamic/forward-route.ts";
import { forward } from "./forward.ts";
import { headerPairs } from "./header-hygiene.ts";
import { managementApp } from "./management.ts";
import { modelList } from "./model-list.ts";
import { rawTail } from "./raw-path.ts";
import { isUpgrade, universalSockets } from "./realtime/connect.ts";
import { providerSocket } from "./realtime/provider-socket.ts";
import { requestBody } from "./request-body.ts";
import { respond } from "./respond.ts";
import { forwardSteps, readSteps } from "./universal.ts";

export type { GatewayOptions } from "./deps.ts";
export { type AiBinding, type AiBindingOptions, createAiBinding } from "./ai-binding.ts";
export type { Checker, CheckAction, CheckPhase, CheckResult, Finding } from "./checkers/checker.ts";

/** The two apps of {@link gatewayParts}. */
export interface GatewayParts {
  /** What {@link gateway} returns. */
  readonly gateway: Hono;
  /** What {@link gatewayManagement} returns. */
  readonly management: Hono;
}

/** Both apps over one engine: one cache, one log queue. Mounted one by one, each has its own. */
export function gatewayParts(options: GatewayOptions): GatewayParts {
  const engine = gatewayDeps(options);
  return { gateway: gatewayApp(options, engine), management: managementApp(options, engine) };
}

/**
 * The gateway's management API (reference, section 1.6), to be mounted at the API root: every call of the
 * official SDK's `aiGateway` resource, a live tail of the log, and REST inference.
 */
export function gatewayManagement(options: GatewayOptions): Hono {
  return managementApp(options, gatewayDeps(options));
}

/**
 * The gateway in front of model providers: `/v1/:account_id/:gateway_id/:provider/*` with any method and
 * path (spec, Gateway provider request) and its realtime WebSockets, the universal endpoint `/v1/:account_id/:gateway_id` (over HTTP and
 * WebSocket) and the unified one, `compat/chat/completions` (reference, section 1.1).
 */
export function gateway(options: GatewayOptions): Hono {
  return gatewayApp(options, gatewayDeps(options));
}

function gatewayApp({ platform }: GatewayOptions, deps: GatewayDeps): Hono {
  const app = new Hono();
  const sockets = universalSockets(deps);
  const connect = (c: Context): Promise<Response> => sockets.connect(c.req.raw, gatewayName(c));
  const universal = async (c: Context): Promise<Response> => {
    const { raw } = c.req;
    const call = await admit(gatewayName(c), headerPairs(raw), raw.signal, deps);
    return respond(await forwardSteps(await readSteps(raw), call, deps), true);
  };
  app.post("/v1/:account_id/:gateway_id", universal);
  app.post("/v1/:account_id/:gateway_id/", universal);
  app.get("/v1/:account_id/:gateway_id", connect);
  app.get("/v1/:account_id/:gateway_id/", connect);
  for (const path of ["compat/models", "compat/v1/models"]) {
    app.get(`/v1/:account_id/:gateway_id/${path}`, async (c) => {
      const { raw } = c.req;
      const how = { tokenInAuthorization: true };
      await admit(gatewayName(c), headerPairs(raw), raw.signal, deps, how);
      return json(modelList(deps.targets.demo));
    });
  }
  app.post("/v1/:account_id/:gateway_id/compat/*", async (c) => {
    const { call, step } = await accept(c, "compat", { tokenInAuthorization: true });
    return respond(await forwardAny(compatStep(step), 0, true, call, deps));
  });
  app.get("/v1/:account_id/:gateway_id/:provider/*", async (c, next) => {
    const { raw } = c.req;
    if (!isUpgrade(raw)) return next();
    const tail = rawTail(raw.url, segmentsBeforeTail(routePath(c)));
    const segment = c.req.param("provider");
    return providerSocket({ request: raw, name: gatewayName(c), segment, ...tail }, deps);
  });
  app.all("/v1/:account_id/:gateway_id/:provider/*", async (c) => {
    const { call, step } = await accept(c, c.req.param("provider"), {});
    return respond(await forward(step, 0, true, call, deps));
  });
  closeRoutes(app, ["/v1/:account_id/:gateway_id/*"], "gateway", platform);
  return app;

  async function accept(
    c: Context,
    slug: string,
    how: AdmitOptions,
  ): Promise<{ call: Call; step: Step }> {
    const { raw } = c.req;
    const received = deps.platform.received?.(raw) ?? null;
    const headers = received?.headers ?? headerPairs(raw);
    const call = await admit(gatewayName(c), headers, raw.signal, deps, how);
    const { rest, query } = rawTail(raw.url, segmentsBeforeTail(routePath(c)));
    const body = await requestBody(raw, headers, received);
    return { call, step: { slug, rest, query, method: raw.method, headers, body } };
  }
}

function gatewayName(c: Context): { account: string; gateway: string } {
  const account = c.req.param("account_id") ?? "";
  checkAccountId(account);
  return { account, gateway: c.req.param("gateway_id") ?? "" };
}

/** The tail's place in the raw URL, also when a host app mounted this one below a prefix. */
function segmentsBeforeTail(path: string): number {
  let slashes = 0;
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) slashes++;
  return slashes - 1;
}
