import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodePlatform } from "../../adapters/node/mod.ts";
import { platformApi, type PlatformApi } from "../../core/api.ts";
import * as route from "../../core/gateway/manage/dynamic-route.ts";
import { checkFields } from "../../core/http/fields/unknown-fields.ts";
import { bodies, fileOf, perNamespace } from "./sdk-bodies.ts";
import { sdkSamples } from "./sdk-params.ts";

/** What the official client can send, this API does not do, and says so: refused by name, or told in the answer. */
const unsupported = new Set(
  [
    "condition.request_ip",
    "summarization",
    "summarization_model",
    "system_prompt_ai_search",
    "system_prompt_index_summarization",
    "system_prompt_rewrite_query",
  ].map((name) => `Unknown field "${name}"`),
);
const unsupportedParameter = 'Unknown parameter \\"hostname\\" (ignored)';

const gateway = "/accounts/a/ai-gateway";
const search = "/accounts/a/ai-search";
const inNamespace = `${search}/namespaces/default/instances`;
const items = "aisearch/namespaces/instances/items";
const routes: readonly (readonly [string, string, carrier: "body" | "query", string])[] = [
  ["ai-gateway/ai-gateway", "AIGatewayListParams", "query", `GET ${gateway}/gateways`],
  [
    "ai-gateway/custom-providers",
    "CustomProviderListParams",
    "query",
    `GET ${gateway}/custom-providers`,
  ],
  [
    "ai-gateway/evaluation-types",
    "EvaluationTypeListParams",
    "query",
    `GET ${gateway}/evaluation-types`,
  ],
  ["ai-gateway/datasets", "DatasetListParams", "query", `GET ${gateway}/gateways/g/datasets`],
  [
    "ai-gateway/evaluations",
    "EvaluationListParams",
    "query",
    `GET ${gateway}/gateways/g/evaluations`,
  ],
  ["ai-gateway/logs", "LogListParams", "query", `GET ${gateway}/gateways/g/logs`],
  ["ai-gateway/logs", "LogDeleteParams", "query", `DELETE ${gateway}/gateways/g/logs`],
  [
    "ai-gateway/dynamic-routing",
    "DynamicRoutingListParams",
    "query",
    `GET ${gateway}/gateways/g/routes`,
  ],
  [
    "ai-gateway/provider-configs",
    "ProviderConfigListParams",
    "query",
    `GET ${gateway}/gateways/g/provider_configs`,
  ],
  ["aisearch/instances/instances", "InstanceListParams", "query", `GET ${search}/instances`],
  [perNamespace, "InstanceListParams", "query", `GET ${inNamespace}`],
  ["aisearch/namespaces/namespaces", "NamespaceListParams", "query", `GET ${search}/namespaces`],
  ["aisearch/namespaces/namespaces", "NamespaceCreateParams", "body", `POST ${search}/namespaces`],
  ["aisearch/namespaces/namespaces", "NamespaceUpdateParams", "body", `PUT ${search}/namespaces/x`],
  ["aisearch/namespaces/instances/jobs", "JobListParams", "query", `GET ${inNamespace}/i/jobs`],
  ["aisearch/namespaces/instances/jobs", "JobCreateParams", "body", `POST ${inNamespace}/i/jobs`],
  [
    "aisearch/namespaces/instances/jobs",
    "JobUpdateParams",
    "body",
    `PATCH ${inNamespace}/i/jobs/j`,
  ],
  [
    "aisearch/namespaces/instances/jobs",
    "JobLogsParams",
    "query",
    `GET ${inNamespace}/i/jobs/j/logs`,
  ],
  [items, "ItemListParams", "query", `GET ${inNamespace}/i/items`],
  [items, "ItemCreateOrUpdateParams", "body", `PUT ${inNamespace}/i/items`],
  [items, "ItemSyncParams", "body", `PATCH ${inNamespace}/i/items/j`],
  [items, "ItemChunksParams", "query", `GET ${inNamespace}/i/items/j/chunks`],
  [items, "ItemLogsParams", "query", `GET ${inNamespace}/i/items/j/logs`],
  ["user/tokens/tokens", "TokenListParams", "query", "GET /user/tokens"],
  [
    "user/tokens/permission-groups",
    "PermissionGroupListParams",
    "query",
    "GET /user/tokens/permission_groups",
  ],
  ["accounts/tokens/tokens", "TokenListParams", "query", "GET /accounts/a/tokens"],
  ["accounts/accounts", "AccountListParams", "query", "GET /accounts"],
  ["browser-rendering/pdf", "PDFCreateParams", "query", "POST /accounts/a/browser-rendering/pdf"],
];

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** A query as the official client writes it: dots for members, a repeated name for the items of a list. */
function queryOf(sample: unknown): URLSearchParams {
  const query = new URLSearchParams();
  const add = (name: string, value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) add(name, item);
    else if (isObject(value)) {
      for (const [key, inner] of Object.entries(value)) add(`${name}.${key}`, inner);
    } else query.append(name, String(value));
  };
  if (isObject(sample)) for (const [name, value] of Object.entries(sample)) add(name, value);
  return query;
}

describe("every field that the official client can send is known", () => {
  it.each(bodies)("%s %s", (file, type, schema) => {
    const samples = sdkSamples(fileOf(file), type, "body");
    expect(samples.length).toBeGreaterThan(0);
    for (const sample of samples) {
      const unknown = checkFields(schema, sample).filter((message) => !unsupported.has(message));
      expect(unknown, JSON.stringify(sample)).toEqual([]);
    }
  });

  it("is a comparison that finds what is missing", () => {
    const [sample] = sdkSamples(fileOf("ai-gateway/ai-gateway"), "AIGatewayCreateParams", "body");
    expect(sample).toHaveProperty("otel.0.url");
    expect(sample).toHaveProperty("spend_limits.rules.0.limit");
    expect(checkFields(route.routeRename, sample).length).toBeGreaterThan(20);
  });
});

describe("every parameter that the official client can send is known", () => {
  let app: PlatformApi;
  let dataDir: string;
  let close: () => Promise<void>;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "causey-sdk-fields-"));
    const platform = await nodePlatform({ dataDir });
    close = () => platform.close();
    app = platformApi({ platform, auth: "off" });
  });
  afterAll(async () => {
    await close();
    await rm(dataDir, { recursive: true, force: true });
  });

  it.each(routes)("%s %s (%s) at %s", async (file, type, carrier, at) => {
    const [method = "GET", path = ""] = at.split(" ");
    for (const sample of sdkSamples(fileOf(file), type, carrier)) {
      const isBody = carrier === "body";
      const query = isBody ? "" : `?${queryOf(sample).toString()}`;
      const body = isBody ? JSON.stringify(sample) : method === "POST" ? "{}" : null;
      const response = await app.request(`/client/v4${path}${query}`, { method, body });
      const text = (await response.text()).replace(unsupportedParameter, "");
      expect(text, query).not.toContain("Unknown ");
    }
  });

  it("is a comparison that finds what is missing", async () => {
    const response = await app.request("/client/v4/user/tokens?novelty=1");
    expect(await response.text()).toContain('Unknown parameter \\"novelty\\"');
  });
});
