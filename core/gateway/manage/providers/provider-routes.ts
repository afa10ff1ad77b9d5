import type { Context } from "hono";
import { readJson } from "../../../http/body.ts";
import { envelope } from "../../../http/envelope.ts";
import {
  checkProvider,
  flagOf,
  gatewayNameOf,
  gatewayRecords,
  guards,
  idOf,
  listAnswer,
  MANAGEMENT_ROOT,
  type GatewayManagementDeps,
  type ManagementRoutes,
  pageOfQuery,
} from "../context.ts";
import * as custom from "./custom-provider.ts";
import * as stored from "./provider-config.ts";
import type { StoredRecord } from "../../records/record.ts";

/** Stored keys: `…/gateways/{id}/provider_configs`. */
export const providerConfigRoutes: ManagementRoutes = (app, deps) => {
  const { read, edit } = guards(deps.auth);
  const path = `${MANAGEMENT_ROOT}/gateways/:gateway_id/provider_configs`;
  const show = (c: Context, record: StoredRecord): unknown =>
    stored.providerConfigView(gatewayNameOf(c).gateway, record);
  app.get(path, read, async (c) => {
    const page = pageOfQuery(c);
    const found = await stored.listProviderConfigs(page, await gatewayRecords(c, deps));
    return listAnswer(
      found.records.map((record) => show(c, record)),
      page,
      found.total,
    );
  });
  app.post(path, edit, async (c) => {
    const body = await readJson(c, stored.providerConfigCreate, { platform: deps.platform });
    return envelope(show(c, await stored.createProviderConfig(body, await configDeps(c, deps))));
  });
  app.get(`${path}/:id`, read, async (c) => {
    const records = await gatewayRecords(c, deps);
    return envelope(show(c, await records.get({ collection: "provider_config", id: idOf(c) })));
  });
  for (const method of ["put", "patch"] as const) {
    app[method](`${path}/:id`, edit, async (c) => {
      const body = await readJson(c, stored.providerConfigChange, { platform: deps.platform });
      const own = await configDeps(c, deps);
      return envelope(show(c, await stored.updateProviderConfig(idOf(c), body, own)));
    });
  }
  app.delete(`${path}/:id`, edit, async (c) =>
    envelope(show(c, await stored.deleteProviderConfig(idOf(c), await gatewayRecords(c, deps)))),
  );
};

async function configDeps(
  c: Context,
  deps: GatewayManagementDeps,
): Promise<stored.ProviderConfigDeps> {
  const { account } = gatewayNameOf(c);
  return {
    records: await gatewayRecords(c, deps),
    vault: deps.vault,
    system: deps.platform.system,
    checkProvider: (slug) => checkProvider(slug, account, deps),
  };
}

/** Custom providers of the account: `…/custom-providers`. */
export const customProviderRoutes: ManagementRoutes = (app, deps) => {
  const { read, edit } = guards(deps.auth);
  const path = `${MANAGEMENT_ROOT}/custom-providers`;
  const own = (c: Context): custom.CustomProviderDeps => ({
    records: deps.records.ofAccount(gatewayNameOf(c).account),
    vault: deps.vault,
    system: deps.platform.system,
    declared: (segment) => Object.hasOwn(deps.configured, segment),
  });
  app.get(path, read, async (c) => {
    const page = pageOfQuery(c, ["search", "enable", "beta"]);
    const where: Record<string, boolean> = {};
    for (const name of ["enable", "beta"]) {
      const flag = flagOf(c, name);
      if (flag !== undefined) where[name] = flag;
    }
    const search = (c.req.query("search") ?? "").slice(0, 128);
    const found = await custom.listCustomProviders({ search, where }, page, own(c).records);
    return listAnswer(found.records.map(custom.customProviderView), page, found.total);
  });
  app.post(path, edit, async (c) => {
    const body = await readJson(c, custom.customProviderCreate, { platform: deps.platform });
    return envelope(custom.customProviderView(await custom.createCustomProvider(body, own(c))));
  });
  app.get(`${path}/:id`, read, async (c) => {
    const record = await own(c).records.get({ collection: "custom_provider", id: idOf(c) });
    return envelope(custom.customProviderView(record));
  });
  for (const method of ["put", "patch"] as const) {
    app[method](`${path}/:id`, edit, async (c) => {
      const body = await readJson(c, custom.customProviderChange, { platform: deps.platform });
      const record = await custom.updateCustomProvider(idOf(c), body, own(c));
      return envelope(custom.customProviderView(record));
    });
  }
  app.delete(`${path}/:id`, edit, async (c) =>
    envelope(custom.customProviderView(await custom.deleteCustomProvider(idOf(c), own(c).records))),
  );
};
