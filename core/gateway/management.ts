import { type Context, Hono } from "hono";
import { type Auth, authorize } from "../auth/authorize.ts";
import { storedTokens } from "../auth/mod.ts";
import { readJson } from "../http/body.ts";
import { envelope, json } from "../http/envelope.ts";
import { closeRoutes, onError } from "../http/routes.ts";
import type { GatewayDeps } from "./call.ts";
import { type GatewayOptions, gatewayVault } from "./deps.ts";
import { withoutTokens } from "./error-hygiene.ts";
import { INFERENCE_ROOT, inferenceRoutes } from "./inference.ts";
import * as gateways from "./manage-gateways.ts";
import * as logs from "./log/manage-logs.ts";
import { MANAGEMENT_ROOT, type ManagementRoutes } from "./manage/context.ts";
import { dynamicRouteRoutes } from "./manage/dynamic-route-routes.ts";
import { evaluationRoutes } from "./manage/evaluation-routes.ts";
import { billingRoutes, gatewayUrlRoutes, logTailRoutes } from "./manage/other-routes.ts";
import { customProviderRoutes, providerConfigRoutes } from "./manage/provider-routes.ts";
import { recordStore } from "./manage/records.ts";
import { metricsRoutes } from "./metrics/metrics-routes.ts";
import { pageOf, resultInfo } from "./paging.ts";
import { resumeRoutes } from "./resume/resume-run.ts";
import { type ProtectionDeps, settingsView, storedChanges } from "./protections.ts";
import { gatewayCreate, gatewayWrite } from "./settings.ts";
import type { GatewayName } from "./gateway-name.ts";
import type { GatewayStore } from "./store.ts";

const ROOT = MANAGEMENT_ROOT;

/** Before the routes of the log: `logs/tail` is not the id of a row. */
const resources: readonly ManagementRoutes[] = [
  providerConfigRoutes,
  customProviderRoutes,
  gatewayUrlRoutes,
  dynamicRouteRoutes,
  evaluationRoutes,
  logTailRoutes,
  billingRoutes,
];

/**
 * The gateway's management API (reference, section 1.6), to be mounted at the API root: every call of the
 * official SDK's `aiGateway` resource, a live tail of the log, and REST inference through the engine.
 */
export function managementApp(options: GatewayOptions, engine: GatewayDeps): Hono {
  const { platform, auth = storedTokens(platform) } = options;
  const { store } = engine;
  const app = new Hono();
  const records = recordStore(platform);
  const configured = options.providers ?? {};
  const deps = { platform, auth, store, records, vault: gatewayVault(options), configured };
  const protections = { records, vault: deps.vault, safety: options };
  gatewayRoutes(app, { options, auth, store, protections, metrics: engine.metrics });
  for (const register of resources) register(app, deps);
  logRoutes(app, auth, store);
  metricsRoutes(app, auth, engine);
  resumeRoutes(app, auth, engine);
  inferenceRoutes(app, auth, engine);
  closeRoutes(app, [`${ROOT}/*`, `${INFERENCE_ROOT}/*`], "api", platform);
  app.onError((error, c) => onError(withoutTokens(error, c.req.raw), c, "api", platform));
  return app;
}

function nameOf(c: Context): GatewayName {
  return { account: c.req.param("account_id") ?? "", gateway: c.req.param("gateway_id") ?? "" };
}

interface GatewayRouteDeps {
  readonly options: GatewayOptions;
  readonly auth: Auth;
  readonly store: GatewayStore;
  readonly protections: ProtectionDeps;
  readonly metrics: GatewayDeps["metrics"];
}

function gatewayRoutes(app: Hono, deps: GatewayRouteDeps): void {
  const { options, auth, store, protections } = deps;
  const read = authorize(auth, "AI Gateway Read");
  const edit = authorize(auth, "AI Gateway Edit");
  const { system } = options.platform;
  app.get(`${ROOT}/gateways`, read, async (c) => {
    const page = pageOf((name) => c.req.query(name));
    const { account } = nameOf(c);
    const found = await gateways.listGateways(account, c.req.query("search") ?? "", page, store);
    const info = resultInfo(page, found.gateways.length, found.total);
    return envelope(found.gateways.map(settingsView), { resultInfo: info });
  });
  app.post(`${ROOT}/gateways`, edit, async (c) => {
    const { id, ...body } = await readJson(c.req.raw, gatewayCreate);
    const { account } = nameOf(c);
    const changes = await storedChanges({ account, gateway: id }, body, null, protections);
    const created = await gateways.createGateway(account, { id, ...changes }, store, system);
    return envelope(settingsView(created));
  });
  app.get(`${ROOT}/gateways/:gateway_id`, read, async (c) =>
    envelope(settingsView(await gateways.getGateway(nameOf(c), store))),
  );
  app.put(`${ROOT}/gateways/:gateway_id`, edit, async (c) => {
    const body = await readJson(c.req.raw, gatewayWrite);
    const former = await gateways.getGateway(nameOf(c), store);
    const changes = await storedChanges(nameOf(c), body, former, protections);
    return envelope(settingsView(await gateways.updateGateway(nameOf(c), changes, store)));
  });
  app.delete(`${ROOT}/gateways/:gateway_id`, edit, async (c) => {
    const isDeclared = declaredIn(options, nameOf(c));
    const deleted = await gateways.deleteGateway(nameOf(c), isDeclared, store);
    await deps.metrics?.forget(nameOf(c));
    return envelope(settingsView(deleted));
  });
}

function declaredIn(
  { gateways: declared = {}, accountId }: GatewayOptions,
  name: GatewayName,
): boolean {
  return (
    (accountId === undefined || accountId === name.account) && Object.hasOwn(declared, name.gateway)
  );
}

function logRoutes(app: Hono, auth: Auth, store: GatewayStore): void {
  const read = authorize(auth, "AI Gateway Read");
  const edit = authorize(auth, "AI Gateway Edit");
  const path = `${ROOT}/gateways/:gateway_id/logs`;
  const search = (c: Context): string => new URL(c.req.url).search;
  const id = (c: Context): string => c.req.param("id") ?? "";
  app.get(path, read, async (c) => {
    const page = pageOf((name) => c.req.query(name));
    const found = await logs.listLogs(nameOf(c), search(c), page, store);
    return envelope(found.logs, { resultInfo: resultInfo(page, found.logs.length, found.total) });
  });
  app.delete(path, edit, async (c) => {
    await logs.deleteLogs(nameOf(c), search(c), c.req.query("limit"), store);
    return json({ success: true, result: null, errors: [], messages: [] });
  });
  app.get(`${path}/:id`, read, async (c) => envelope(await logs.getLog(nameOf(c), id(c), store)));
  app.patch(`${path}/:id`, edit, async (c) => {
    const body = await readJson(c.req.raw, logs.logPatch);
    return envelope(await logs.patchLog(nameOf(c), id(c), body, store));
  });
  app.get(`${path}/:id/request`, read, async (c) =>
    logs.logBody(nameOf(c), id(c), "request", store),
  );
  app.get(`${path}/:id/response`, read, async (c) =>
    logs.logBody(nameOf(c), id(c), "response", store),
  );
}
