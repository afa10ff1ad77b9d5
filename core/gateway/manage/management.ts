import { Hono } from "hono";
import { checkMountPath } from "../../http/mount-path.ts";
import { closeRoutes, onError } from "../../http/routes.ts";
import type { GatewayOptions } from "../options.ts";
import { withoutTokens } from "../entry/error-hygiene.ts";
import { INFERENCE_ROOT, inferenceRoutes } from "../entry/inference.ts";
import { virtualKeyRoutes } from "./key-routes.ts";
import { billingRoutes } from "./billing-routes.ts";
import { MANAGEMENT_ROOT, type ManagementDeps, type ManagementRoutes } from "./context.ts";
import { dynamicRouteRoutes } from "./dynamic-route-routes.ts";
import { evaluationRoutes } from "./evaluation-routes.ts";
import { gatewayRoutes, gatewayUrlRoutes } from "./gateway-routes.ts";
import { logRoutes } from "./log-routes.ts";
import { priceRoutes } from "./price-routes.ts";
import { customProviderRoutes, providerConfigRoutes } from "./providers/provider-routes.ts";
import { metricsRoutes } from "./metrics-routes.ts";
import { resumeRoutes } from "./resume-routes.ts";

/** In any order: no two of them have a path in common. */
const resources: readonly ManagementRoutes[] = [
  gatewayRoutes,
  gatewayUrlRoutes,
  providerConfigRoutes,
  customProviderRoutes,
  virtualKeyRoutes,
  dynamicRouteRoutes,
  priceRoutes,
  evaluationRoutes,
  logRoutes,
  billingRoutes,
  metricsRoutes,
  resumeRoutes,
  inferenceRoutes,
];

/** What the management API is given of an engine. */
export type ManagementEngine = Omit<
  ManagementDeps,
  "configured" | "declared" | "mountPath" | "safety"
>;

/**
 * The gateway's management API, to be mounted at the API root: every call of the
 * official SDK's `aiGateway` resource, a live tail of the log, and REST inference through the engine.
 */
export function managementApp(options: GatewayOptions, engine: ManagementEngine): Hono {
  const { platform, providers = {}, gateways = {}, accountId } = options;
  const app = new Hono();
  const deps: ManagementDeps = {
    ...engine,
    configured: providers,
    declared: { gateways, accountId },
    mountPath: checkMountPath(options.mountPath),
    safety: options,
  };
  for (const register of resources) register(app, deps);
  closeRoutes(app, [`${MANAGEMENT_ROOT}/*`, `${INFERENCE_ROOT}/*`], "api", platform);
  app.onError((error, c) => onError(withoutTokens(error, c.req.raw), c, "api", platform));
  return app;
}
