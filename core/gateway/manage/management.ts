import { Hono } from "hono";
import { checkMountPath } from "../../http/mount-path.ts";
import { checkPublicUrl } from "../../net/public-url.ts";
import { closeRoutes, onError } from "../../http/routes.ts";
import type { GatewayOptions } from "../entry/options.ts";
import { withoutTokens } from "../entry/error-hygiene.ts";
import { callerByToken, INFERENCE_ROOT, inferenceRoutes } from "../entry/inference.ts";
import { virtualKeyRoutes } from "./key-routes.ts";
import { spendRoutes } from "./spend-routes.ts";
import { teamRoutes } from "./team-routes.ts";
import {
  MANAGEMENT_ROOT,
  type GatewayManagementDeps,
  type ManagementRoutes,
  guards,
  gatewayNameOf,
} from "./context.ts";
import { dynamicRouteRoutes } from "./dynamic-route-routes.ts";
import { datasets } from "./dataset.ts";
import { evaluations, evaluationTypeRoutes } from "./evaluation.ts";
import { gatewayRoutes, gatewayUrlRoutes } from "./gateway-routes.ts";
import { logRoutes } from "./log-routes.ts";
import { priceRoutes } from "./price-routes.ts";
import { customProviders } from "./custom-provider.ts";
import { providerConfigs } from "./provider-config.ts";
import { ApiError } from "../../http/api-error.ts";
import { acceptedFormat, mediaTypes } from "../../http/metrics-format.ts";
import { exposition } from "../observe/metrics/exposition.ts";
import { checkAccountId } from "../../auth/accounts.ts";
import type { GatewayCaller } from "../call/caller.ts";
import { tokenOf } from "../call/gateway-token.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import { resumeRun } from "../entry/resume-run.ts";

/** Billing belongs to the hosted service: who asks for it is told so (`not_part`). */
const billingRoutes: ManagementRoutes = (app, deps) => {
  const { read } = guards(deps.auth);
  app.all(`${MANAGEMENT_ROOT}/billing/*`, read, () => {
    throw new ApiError("not_part", {
      message:
        "Billing is not part of causey: providers bill you directly. See each gateway's log for costs",
    });
  });
};

const metricsRoutes: ManagementRoutes = (app, { auth, metrics, platform }) => {
  app.get(`${MANAGEMENT_ROOT}/metrics`, guards(auth).read, async (c) => {
    if (metrics === undefined) {
      throw new ApiError("not_found", {
        message: 'The gateway\'s metrics are off: set its option "metrics" to true',
      });
    }
    const table = await metrics.read(gatewayNameOf(c).account);
    const format = acceptedFormat(c.req.header("accept"));
    return new Response(exposition(table, platform.runtime, format), {
      headers: {
        "content-type": mediaTypes[format],
        "cache-control": "no-store",
        vary: "accept",
      },
    });
  });
};

/** Registers the resumption of streams, for callers of their gateway: tokens that may run models, and virtual keys. */
const resumeRoutes: ManagementRoutes = (app, deps) => {
  const path = `${MANAGEMENT_ROOT}/gateways/:gateway_id/run/:run_id/resume`;
  app.get(path, async (c) => {
    const name = gatewayNameOf(c);
    const caller = await resumingCaller(c.req.raw, name, deps);
    checkAccountId(name.account);
    // Hono answers HEAD as GET, without the body: it would take the run from its reader, and never read it.
    if (c.req.raw.method !== "GET") {
      throw new ApiError("method_not_allowed", { headers: { allow: "GET" } });
    }
    const runId = c.req.param("run_id");
    const from = c.req.query("from") ?? null;
    return resumeRun({ name, caller, runId, from, signal: c.req.raw.signal }, deps.resume);
  });
};

/** Finds the caller that takes a stream up again; throws 401 and 403. */
async function resumingCaller(
  request: Request,
  name: GatewayName,
  { access, auth }: GatewayManagementDeps,
): Promise<GatewayCaller> {
  const token = tokenOf(request.headers.get("authorization"));
  const caller = token === null ? null : await access.callerOf(token, name, false, request);
  return caller ?? callerByToken(auth, request, name);
}

/** In any order: no two of them have a path in common. */
const resources: readonly ManagementRoutes[] = [
  gatewayRoutes,
  gatewayUrlRoutes,
  providerConfigs.routes,
  customProviders.routes,
  virtualKeyRoutes,
  teamRoutes,
  spendRoutes,
  dynamicRouteRoutes,
  priceRoutes,
  datasets.routes,
  evaluations.routes,
  evaluationTypeRoutes,
  logRoutes,
  billingRoutes,
  metricsRoutes,
  resumeRoutes,
  inferenceRoutes,
];

export type ManagementEngine = Omit<
  GatewayManagementDeps,
  "configured" | "declared" | "mountPath" | "publicUrl" | "safety"
>;

/**
 * Makes the gateway's management API. Mount it at the API root: every call of the
 * official SDK's `aiGateway` resource, a live tail of the log, and REST inference through the engine.
 */
export function managementApp(options: GatewayOptions, engine: ManagementEngine): Hono {
  const { platform, providers = {}, gateways = {}, accountId } = options;
  const app = new Hono();
  const deps: GatewayManagementDeps = {
    ...engine,
    configured: providers,
    declared: { gateways, accountId },
    mountPath: checkMountPath(options.mountPath),
    publicUrl: checkPublicUrl(options.publicUrl),
    safety: options,
  };
  for (const register of resources) register(app, deps);
  closeRoutes(app, [`${MANAGEMENT_ROOT}/*`, `${INFERENCE_ROOT}/*`], "api", platform);
  app.onError((error, c) => onError(withoutTokens(error, c.req.raw), c, "api", platform));
  return app;
}
