import { readJson } from "../../http/fields/body.ts";
import { envelope } from "../../http/envelope.ts";
import { routedPath } from "../../http/mount-path.ts";
import { answerOrigin } from "../../net/public-url.ts";
import { type DeclaredGateway, declaredGateway } from "../account/settings/declared-gateways.ts";
import * as gateways from "./manage-gateways.ts";
import {
  DEFAULT_GATEWAY,
  gatewayCreate,
  type GatewaySettings,
  gatewayWrite,
  type GatewayWrite,
} from "../account/settings/settings.ts";
import { conflict } from "../../http/api-error.ts";
import {
  API_ROOT,
  checkProvider,
  gatewayNameOf,
  guards,
  listAnswer,
  MANAGEMENT_ROOT,
  type ManagementRoutes,
  pageOfQuery,
} from "./context.ts";
import { settingsView, storedChanges } from "./protections.ts";

/** Said to who creates a gateway without the setting, because the hosted service would have made an open one. */
const AUTHENTICATED = {
  code: 10000,
  message:
    'authentication was not given and is on: requests need a gateway token ("cf-aig-authorization: Bearer <GATEWAY_TOKEN>"). The hosted service would leave it off; send "authentication": false for a gateway that is open to everybody',
};

/** The gateways of an account: `…/gateways`. */
export const gatewayRoutes: ManagementRoutes = (app, deps) => {
  const { store } = deps;
  const { read, edit } = guards(deps.auth);
  const path = `${MANAGEMENT_ROOT}/gateways`;

  app.get(path, read, async (c) => {
    const page = pageOfQuery(c, ["search"]);
    const { account } = gatewayNameOf(c);
    const found = await gateways.listGateways(account, c.req.query("search") ?? "", page, store);
    return listAnswer(found.gateways.map(settingsView), page, found.total);
  });
  app.post(path, edit, async (c) => {
    const { id, ...body } = await readJson(c, gatewayCreate, { platform: deps.platform });
    const { account } = gatewayNameOf(c);
    const changes = await storedChanges({ account, gateway: id }, body, null, deps);
    const { system } = deps.platform;
    const created = await gateways.createGateway(account, { id, ...changes }, store, system);
    const messages = body.authentication === undefined ? [AUTHENTICATED] : [];
    return envelope(settingsView(created), { messages });
  });
  app.get(`${path}/:gateway_id`, read, async (c) =>
    envelope(settingsView(await gateways.getGateway(gatewayNameOf(c), store))),
  );
  app.put(`${path}/:gateway_id`, edit, async (c) => {
    const name = gatewayNameOf(c);
    const body = await readJson(c, gatewayWrite, { platform: deps.platform });
    const former = await gateways.getGateway(name, store);
    checkUnfixed(body, former, declaredGateway(name, deps.declared));
    const changes = await storedChanges(name, body, former, deps);
    return envelope(settingsView(await gateways.updateGateway(name, changes, store)));
  });
  app.delete(`${path}/:gateway_id`, edit, async (c) => {
    const name = gatewayNameOf(c);
    const isDeclared = declaredGateway(name, deps.declared) !== undefined;
    const deleted = await gateways.deleteGateway(name, isDeclared, store);
    await deps.metrics?.forget(name);
    return envelope(settingsView(deleted));
  });
};

/** Throws `conflict` for a change of what is declared: it would be undone by the next request. */
function checkUnfixed(
  body: GatewayWrite,
  former: GatewaySettings,
  declaration: DeclaredGateway | undefined,
): void {
  const given = new Map<string, unknown>(Object.entries(body));
  for (const [field, value] of Object.entries(declaration?.settings ?? {})) {
    const wanted = given.get(field);
    if (wanted === undefined || JSON.stringify(wanted) === JSON.stringify(value)) continue;
    throw conflict(
      `${field}: the configuration declares it for the gateway "${former.id}": change it there`,
    );
  }
}

/** The address that a client's base URL is set to, for a provider, `compat` or `universal`. */
export const gatewayUrlRoutes: ManagementRoutes = (app, deps) => {
  const { read } = guards(deps.auth);
  const path = `${MANAGEMENT_ROOT}/gateways/:gateway_id/url/:provider`;
  app.get(path, read, async (c) => {
    const name = gatewayNameOf(c);
    const { account, gateway } = name;
    const provider = c.req.param("provider");
    // The default gateway is made by its first request, which needs this address.
    if (gateway !== DEFAULT_GATEWAY) await gateways.getGateway(name, deps.store);
    const origin = answerOrigin(c.req.raw, deps.publicUrl);
    const told = origin === "" ? { messages: [PATH_ONLY] } : {};
    const root = `${origin}${deps.mountPath}${routedPath(c, `${API_ROOT}${path}`)}`;
    const base = `${root}/v1/${encodeURIComponent(account)}/${encodeURIComponent(gateway)}`;
    if (provider === "universal") return envelope(base, told);
    if (provider !== "compat") await checkProvider(provider, account, deps);
    return envelope(`${base}/${provider}`, told);
  });
};

/** Our own number for a note, as those of the deprecations are. */
const PATH_ONLY = {
  code: 10415,
  message: "This is a path: set publicUrl to the server's address to get a whole one",
};
