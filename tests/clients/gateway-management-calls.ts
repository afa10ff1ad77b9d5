import Cloudflare from "cloudflare";
import OpenAI from "openai";
import { randomUUID } from "node:crypto";
import { APIResource } from "cloudflare/core/resource";
import { expect, inject } from "vitest";
import { eventually } from "../cases/eventually.ts";

export const base = inject("baseUrl");
export const token = inject("token");
export const account_id = inject("accountId");

export const client = new Cloudflare({
  apiToken: token,
  baseURL: `${base}/client/v4`,
  maxRetries: 0,
});
export const ai = client.aiGateway;
export const gateway_id = `mgmt-${randomUUID().slice(0, 8)}`;
const inGateway = { account_id, gateway_id };
export const inAccount = { account_id };

export const settings = {
  cache_invalidate_on_update: false,
  cache_ttl: 0,
  collect_logs: true,
  rate_limiting_interval: null,
  rate_limiting_limit: null,
};
const elements = (model: string) => [
  { id: "start", type: "start" as const, outputs: { next: { elementId: "model" } } },
  {
    id: "model",
    type: "model" as const,
    properties: { provider: "echo", model, retries: 0, timeout: 0 },
    outputs: { success: { elementId: "end" }, fallback: { elementId: "end" } },
  },
  { id: "end", type: "end" as const, outputs: {} },
];
const unique = () => randomUUID().slice(0, 8);
export const chat = (model: string) =>
  new OpenAI({
    apiKey: token,
    baseURL: `${base}/v1/${account_id}/${gateway_id}/compat`,
    maxRetries: 0,
  }).chat.completions
    .create({ model, messages: [{ role: "user", content: "Is anybody there?" }] })
    .withResponse();

/** The methods of a resource of the client and of those below it, as `a.b.method`. */
export function methodsOf(resource: object, path: string = ""): string[] {
  const own = Object.getOwnPropertyNames(Object.getPrototypeOf(Object.getPrototypeOf(resource)));
  const methods = own.filter((name) => name !== "constructor").map((name) => `${path}${name}`);
  const below = Object.entries(resource)
    .filter(([, value]) => value instanceof APIResource)
    .flatMap(([name, value]) => methodsOf(value as object, `${path}${name}.`));
  return [...methods, ...below].toSorted();
}

/** The page after the last one must be empty, or the client would ask for ever. */
async function all<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of pages) {
    items.push(item);
    if (items.length > 1000) throw new Error("The listing does not end");
  }
  return items;
}

async function makeDataset() {
  const filters = [{ key: "provider" as const, operator: "eq" as const, value: ["echo"] }];
  return ai.datasets.create(gateway_id, { ...inAccount, name: unique(), enable: true, filters });
}
const makeEvaluation = async () =>
  ai.evaluations.create(gateway_id, {
    ...inAccount,
    name: unique(),
    dataset_ids: [(await makeDataset()).id],
    evaluation_type_ids: ["cost", "speed", "feedback"],
  });
const makeProvider = () =>
  ai.customProviders.create({
    ...inAccount,
    base_url: "https://llm.example.com/v1",
    name: "Mine",
    slug: unique(),
    enable: true,
  });
const makeRoute = () =>
  ai.dynamicRouting.create(gateway_id, { ...inAccount, name: unique(), elements: elements("one") });
export async function makeLog() {
  const { data, response } = await chat("echo/echo-demo");
  expect(data.choices[0]?.message.content).toBe("Is anybody there?");
  const id = response.headers.get("cf-aig-log-id") ?? "";
  const find = () => ai.logs.get(id, inGateway).catch(() => null);
  await eventually(async () => (await find()) !== null, "the log row arrives");
  return ai.logs.get(id, inGateway);
}

/** Every method of the client's resource with the call that proves it. */
export const calls: Record<string, () => Promise<unknown>> = {
  create: async () => {
    const id = `mgmt-${unique()}`;
    expect((await ai.create({ ...inAccount, ...settings, id })).id).toBe(id);
    await ai.delete(id, inAccount);
  },
  update: async () => {
    const updated = await ai.update(gateway_id, { ...inAccount, ...settings, cache_ttl: 0 });
    expect(updated.id).toBe(gateway_id);
  },
  list: async () => {
    const ids = (await all(ai.list({ ...inAccount, per_page: 2 }))).map(({ id }) => id);
    expect(ids).toContain(gateway_id);
  },
  delete: async () => {
    const id = `mgmt-${unique()}`;
    await ai.create({ ...inAccount, ...settings, id });
    expect((await ai.delete(id, inAccount)).id).toBe(id);
  },
  get: async () => expect((await ai.get(gateway_id, inAccount)).id).toBe(gateway_id),

  "customProviders.create": async () => {
    expect(await makeProvider()).toMatchObject({ base_url: "https://llm.example.com/v1" });
    const http = { ...inAccount, base_url: "http://llm.example.com", name: "n", slug: unique() };
    await expect(ai.customProviders.create(http)).rejects.toBeInstanceOf(
      Cloudflare.BadRequestError,
    );
  },
  "customProviders.list": async () => {
    const { id } = await makeProvider();
    const found = await all(ai.customProviders.list({ ...inAccount, per_page: 1, search: id }));
    expect(found.map((provider) => provider.id)).toEqual([id]);
  },
  "customProviders.get": async () => {
    const { id } = await makeProvider();
    expect((await ai.customProviders.get(id, inAccount)).id).toBe(id);
  },
  "customProviders.delete": async () => {
    const { id } = await makeProvider();
    expect((await ai.customProviders.delete(id, inAccount)).id).toBe(id);
    const gone = ai.customProviders.get(id, inAccount);
    await expect(gone).rejects.toBeInstanceOf(Cloudflare.NotFoundError);
  },

  "datasets.create": async () => expect((await makeDataset()).gateway_id).toBe(gateway_id),
  "datasets.update": async () => {
    const { id, name } = await makeDataset();
    const changed = await ai.datasets.update(id, {
      ...inGateway,
      name,
      enable: false,
      filters: [],
    });
    expect(changed).toMatchObject({ id, enable: false, filters: [] });
  },
  "datasets.list": async () => {
    const { id, name } = await makeDataset();
    const found = await all(ai.datasets.list(gateway_id, { ...inAccount, name, per_page: 1 }));
    expect(found.map((dataset) => dataset.id)).toEqual([id]);
  },
  "datasets.get": async () => {
    const { id } = await makeDataset();
    expect((await ai.datasets.get(id, inGateway)).id).toBe(id);
  },
  "datasets.delete": async () => {
    const { id } = await makeDataset();
    expect((await ai.datasets.delete(id, inGateway)).id).toBe(id);
    await expect(ai.datasets.get(id, inGateway)).rejects.toBeInstanceOf(Cloudflare.NotFoundError);
  },

  "evaluationTypes.list": async () => {
    const types = await all(
      ai.evaluationTypes.list({ ...inAccount, order_by: "name", per_page: 2 }),
    );
    expect(types.map(({ type }) => type)).toEqual(["cost", "feedback", "speed"]);
  },
  "evaluations.create": async () => {
    await makeLog();
    const made = await makeEvaluation();
    expect(made.processed).toBe(true);
    expect(made.total_logs).toBeGreaterThan(0);
    expect(made.results.map((result) => result.evaluation_type_id)).toEqual([
      "cost",
      "speed",
      "feedback",
    ]);
  },
  "evaluations.list": async () => {
    const { id } = await makeEvaluation();
    const found = await all(
      ai.evaluations.list(gateway_id, { ...inAccount, processed: true, per_page: 1 }),
    );
    expect(found.map((evaluation) => evaluation.id)).toContain(id);
  },
  "evaluations.get": async () => {
    const made = await makeEvaluation();
    expect(await ai.evaluations.get(made.id, inGateway)).toEqual(made);
  },
  "evaluations.delete": async () => {
    const { id } = await makeEvaluation();
    expect((await ai.evaluations.delete(id, inGateway)).id).toBe(id);
  },

  "logs.list": async () => {
    const { id } = await makeLog();
    const filters = [{ key: "id" as const, operator: "eq" as const, value: [id] }];
    const found = await all(ai.logs.list(gateway_id, { ...inAccount, filters, per_page: 1 }));
    expect(found.map((row) => row.id)).toEqual([id]);
  },
  "logs.get": async () => expect((await makeLog()).provider).toBe("echo"),
  "logs.edit": async () => {
    const { id } = await makeLog();
    await ai.logs.edit(id, { ...inGateway, feedback: 1, score: 0.5, metadata: { a: true } });
    expect(await ai.logs.get(id, inGateway)).toMatchObject({ feedback: 1, score: 0.5 });
  },
  "logs.request": async () => {
    const { id } = await makeLog();
    expect(await ai.logs.request(id, inGateway)).toMatchObject({ model: "echo-demo" });
  },
  "logs.response": async () => {
    const { id } = await makeLog();
    expect(await ai.logs.response(id, inGateway)).toMatchObject({ object: "chat.completion" });
  },
  "logs.delete": async () => {
    const { id } = await makeLog();
    const filters = [{ key: "id" as const, operator: "eq" as const, value: [id] }];
    expect(await ai.logs.delete(gateway_id, { ...inAccount, filters })).toMatchObject({
      success: true,
    });
    await expect(ai.logs.get(id, inGateway)).rejects.toBeInstanceOf(Cloudflare.NotFoundError);
  },

  "providerConfigs.create": async () => {
    const secret = `sk-${randomUUID()}`;
    const made = await ai.providerConfigs.create(gateway_id, {
      ...inAccount,
      alias: unique(),
      default_config: false,
      provider_slug: "openai",
      secret,
    });
    expect(made.secret_preview).toBe(`sk-…${secret.slice(-4)}`);
    expect(JSON.stringify(made)).not.toContain(secret);
  },
  "providerConfigs.list": async () => {
    const found = await all(ai.providerConfigs.list(gateway_id, { ...inAccount, per_page: 1 }));
    expect(found.every((config) => config.gateway_id === gateway_id)).toBe(true);
  },

  "urls.get": async () => {
    const address = `${base}/v1/${account_id}/${gateway_id}`;
    expect(await ai.urls.get("openai", inGateway)).toBe(`${address}/openai`);
    expect(await ai.urls.get("universal", inGateway)).toBe(address);
    const nowhere = ai.urls.get("openai", { account_id, gateway_id: "none" });
    await expect(nowhere).rejects.toBeInstanceOf(Cloudflare.NotFoundError);
    const { slug } = await makeProvider();
    expect(await ai.urls.get(`custom-${slug}`, inGateway)).toBe(`${address}/custom-${slug}`);
  },

  "dynamicRouting.create": async () => {
    const made = await makeRoute();
    expect(made).toMatchObject({
      gateway_id,
      elements: elements("one"),
      version: { active: "true" },
    });
    const { data, response } = await chat(`dynamic/${made.name}`);
    expect(data.model).toBe("one");
    expect(response.headers.get("cf-aig-model")).toBe("one");
    expect(response.headers.get("cf-aig-provider")).toBe("echo");
  },
  "dynamicRouting.update": async () => {
    const { id } = await makeRoute();
    const name = unique();
    const { success, route } = await ai.dynamicRouting.update(id, { ...inGateway, name });
    expect([success, route.name, route.account_tag]).toEqual([true, name, account_id]);
  },
  "dynamicRouting.list": async () => {
    const { id } = await makeRoute();
    const { data } = await ai.dynamicRouting.list(gateway_id, { ...inAccount, per_page: 100 });
    expect(data.routes.find((route) => route.id === id)?.account_tag).toBe(account_id);
    const past = await ai.dynamicRouting.list(gateway_id, { ...inAccount, page: 99 });
    expect(past.data).toMatchObject({ routes: [], page: 99 });
  },
  "dynamicRouting.get": async () => {
    const made = await makeRoute();
    expect(await ai.dynamicRouting.get(made.id, inGateway)).toEqual(made);
  },
  "dynamicRouting.delete": async () => {
    const { id } = await makeRoute();
    expect((await ai.dynamicRouting.delete(id, inGateway)).id).toBe(id);
    await expect(ai.dynamicRouting.get(id, inGateway)).rejects.toBeInstanceOf(
      Cloudflare.NotFoundError,
    );
  },
  "dynamicRouting.createVersion": async () => {
    const { id } = await makeRoute();
    const made = await ai.dynamicRouting.createVersion(id, {
      ...inGateway,
      elements: elements("two"),
    });
    expect(made).toMatchObject({ id, elements: elements("two") });
  },
  "dynamicRouting.createDeployment": async () => {
    const { id, name, version } = await makeRoute();
    await ai.dynamicRouting.createVersion(id, { ...inGateway, elements: elements("two") });
    const { data } = await ai.dynamicRouting.listVersions(id, inGateway);
    const version_id = data.versions.find((one) => one.active === "false")?.version_id ?? "";
    await ai.dynamicRouting.createDeployment(id, { ...inGateway, version_id });
    expect((await chat(`dynamic/${name}`)).data.model).toBe("two");
    await ai.dynamicRouting.createDeployment(id, { ...inGateway, version_id: version.version_id });
    expect((await chat(`dynamic/${name}`)).data.model).toBe("one");
  },
  "dynamicRouting.getVersion": async () => {
    const { id, version } = await makeRoute();
    const shown = await ai.dynamicRouting.getVersion(version.version_id, { ...inGateway, id });
    expect(shown).toMatchObject({ id, version_id: version.version_id, active: "true" });
    expect(JSON.parse(shown.data)).toEqual(elements("one"));
  },
  "dynamicRouting.listVersions": async () => {
    const { id, version } = await makeRoute();
    const { data } = await ai.dynamicRouting.listVersions(id, inGateway);
    expect(data.versions.map((one) => one.version_id)).toEqual([version.version_id]);
  },
  "dynamicRouting.listDeployments": async () => {
    const { id, deployment } = await makeRoute();
    const { data } = await ai.dynamicRouting.listDeployments(id, inGateway);
    expect(data.deployments).toEqual([deployment]);
  },

  "billing.creditBalance": () => notPart(() => ai.billing.creditBalance(inAccount)),
  "billing.invoiceHistory": () => notPart(() => ai.billing.invoiceHistory(inAccount)),
  "billing.invoicePreview": () => notPart(() => ai.billing.invoicePreview(inAccount)),
  "billing.usageHistory": () =>
    notPart(() => ai.billing.usageHistory({ ...inAccount, value_grouping_window: "day" })),
  "billing.spendingLimit.create": () =>
    notPart(() =>
      ai.billing.spendingLimit.create({
        ...inAccount,
        amount: 1,
        duration: "daily",
        strategy: "fixed",
      }),
    ),
  "billing.spendingLimit.delete": () => notPart(() => ai.billing.spendingLimit.delete(inAccount)),
  "billing.spendingLimit.get": () => notPart(() => ai.billing.spendingLimit.get(inAccount)),
  "billing.topup.create": () => notPart(() => ai.billing.topup.create({ ...inAccount, amount: 1 })),
  "billing.topup.status": () =>
    notPart(() => ai.billing.topup.status({ ...inAccount, payment_intent_id: "x" })),
  "billing.topup.config.create": () =>
    notPart(() => ai.billing.topup.config.create({ ...inAccount, amount: 1, threshold: 1 })),
  "billing.topup.config.delete": () => notPart(() => ai.billing.topup.config.delete(inAccount)),
  "billing.topup.config.get": () => notPart(() => ai.billing.topup.config.get(inAccount)),
};

async function notPart(call: () => Promise<unknown>): Promise<void> {
  const error = await call().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ status: 501, errors: [{ code: 10501 }] });
}
