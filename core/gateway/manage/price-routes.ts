import { readJson } from "../../http/fields/body.ts";
import { invalidRequest } from "../../http/api-error.ts";
import { envelope } from "../../http/envelope.ts";
import { PRICES } from "../prices/account-prices.ts";
import { priceView } from "../prices/price-book.ts";
import { priceRow, rowKey } from "../prices/price-rows.ts";
import {
  checkProvider,
  gatewayNameOf,
  guards,
  idOf,
  listAnswer,
  MANAGEMENT_ROOT,
  type ManagementRoutes,
  pageOfQuery,
} from "./context.ts";
import { newRecord, type StoredRecord } from "../account/records/record.ts";

/**
 * The prices of an account, `…/prices` (ours; the hosted service has no such resource): what is used with its source,
 * and prices over those of the configuration.
 */
export const priceRoutes: ManagementRoutes = (app, deps) => {
  const { read, edit } = guards(deps.auth);
  const path = `${MANAGEMENT_ROOT}/prices`;
  const { system } = deps.platform;
  app.get(path, read, async (c) => {
    const { account } = gatewayNameOf(c);
    const book = await deps.prices.read(account);
    const [provider, model, origin] = ["provider", "model", "origin"].map((name) =>
      c.req.query(name),
    );
    if (model !== undefined) {
      if (provider === undefined) throw invalidRequest("model: name its provider, too");
      const found = book.find(model, provider, system.now());
      const page = pageOfQuery(c, ["provider", "model", "origin"]);
      const shown = found === null ? [] : [priceView(found)];
      return listAnswer(shown.slice(page.offset), page, shown.length);
    }
    const entries = book
      .entries()
      .filter((one) => provider === undefined || one.provider === provider)
      .filter((one) => origin === undefined || one.origin === origin);
    const page = pageOfQuery(c, ["provider", "model", "origin"]);
    const shown = entries.slice(page.offset, page.offset + page.perPage);
    return listAnswer(shown.map(priceView), page, entries.length);
  });
  app.put(path, edit, async (c) => {
    const { account } = gatewayNameOf(c);
    const body = await readJson(c, priceRow, { platform: deps.platform });
    await checkProvider(body.provider, account, deps);
    const records = deps.records.ofAccount(account);
    const key = rowKey(body);
    const former = await records.find("price", key);
    const made = newRecord({ collection: "price", parent: PRICES, key, body: { ...body } }, system);
    const record: StoredRecord =
      former === null ? made : { ...former, body: { ...body }, modifiedAt: system.now() };
    const write = former === null ? { creates: [record] } : { replaces: [record] };
    await deps.store.changePrices(account, () => records.write(write));
    return envelope({ id: record.id, ...body });
  });
  app.delete(`${path}/:id`, edit, async (c) => {
    const { account } = gatewayNameOf(c);
    const records = deps.records.ofAccount(account);
    const record = await records.get({ collection: "price", id: idOf(c) });
    await deps.store.changePrices(account, () => records.remove(record));
    return envelope({ id: record.id, ...record.body });
  });
};
