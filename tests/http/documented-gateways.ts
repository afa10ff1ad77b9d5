import { eventually } from "../cases/eventually.ts";
import { ACCOUNT, type Caller, type Result } from "./documented.ts";

const GATEWAY = `${ACCOUNT}/ai-gateway/gateways/{gateway_id}`;

/** Gateways, their log and what it is evaluated by; `site` is an address that the gateway may reach. */
export async function callGateways(call: Caller, site: string): Promise<void> {
  const path = { gateway_id: "documented", provider: "openai" };
  const body = {
    id: "documented",
    authentication: false,
    cache_invalidate_on_update: true,
    cache_ttl: 60,
    collect_logs: true,
    rate_limiting_interval: 60,
    rate_limiting_limit: 1000,
    rate_limiting_technique: "sliding",
    otel: [{ url: site, authorization: "Bearer x", headers: { "x-key": "y" } }],
    spend_limits: { rules: [{ limit: 5, limitType: "cost", window: 60 }] },
    guardrails: { prompt: {}, response: {} },
    dlp: { enabled: false },
    stripe: { authorization: "Bearer x", usage_events: [{ payload: "{}" }] },
  };
  await call(`POST ${GATEWAY.replace("/{gateway_id}", "")}`, { body });
  await call(`GET ${GATEWAY.replace("/{gateway_id}", "")}`);
  await call(`GET ${GATEWAY}`, { path });
  await call(`PUT ${GATEWAY}`, { path, body: { ...body, cache_ttl: 0 } });
  await call(`GET ${GATEWAY}/url/{provider}`, { path });
  const chat = { model: "openai/gpt-4o-mini", messages: [{ role: "user", content: "Hello" }] };
  await call("POST /v1/{account_id}/{gateway_id}/compat/chat/completions", { path, body: chat });
  await call("POST /v1/chat/completions", { body: chat });
  await call("GET /v1/models");
  await call(`POST ${ACCOUNT}/ai/v1/chat/completions`, { body: chat });
  let rows: readonly Result[] = [];
  await eventually(async () => {
    rows = await call.list(`GET ${GATEWAY}/logs`, { path });
    return rows.length > 0;
  }, "a row of the log");
  const row = { ...path, id: rows[0]?.["id"] ?? "" };
  await call(`PATCH ${GATEWAY}/logs/{id}`, {
    path: row,
    body: { feedback: 1, score: 90, metadata: { team: "a" } },
  });
  await call(`GET ${GATEWAY}/logs/{id}`, { path: row });
  const filters = [{ key: "cost", operator: "gt", value: [0] }];
  const dataset = { name: "documented", enable: true, filters };
  const { id: datasetId = "" } = await call(`POST ${GATEWAY}/datasets`, { path, body: dataset });
  const types = await call.list(`GET ${ACCOUNT}/ai-gateway/evaluation-types`);
  const evaluation = {
    name: "documented",
    dataset_ids: [datasetId],
    evaluation_type_ids: types.map(({ id }) => id),
  };
  const made = await call(`POST ${GATEWAY}/evaluations`, { path, body: evaluation });
  await call(`GET ${GATEWAY}/evaluations`, { path });
  for (const method of ["GET", "DELETE"])
    await call(`${method} ${GATEWAY}/evaluations/{id}`, {
      path: { ...path, id: made["id"] ?? "" },
    });
  await call(`GET ${GATEWAY}/datasets`, { path });
  for (const method of ["GET", "PUT", "DELETE"])
    await call(`${method} ${GATEWAY}/datasets/{id}`, {
      path: { ...path, id: datasetId },
      ...(method === "PUT" && { body: dataset }),
    });
  await call(`DELETE ${GATEWAY}/logs`, { path });
}

/** What gateways and accounts keep: keys, providers, prices, routes. */
export async function callKeptRecords(call: Caller): Promise<void> {
  const path = { gateway_id: "kept" };
  const root = GATEWAY.replace("/{gateway_id}", "");
  const settings = {
    cache_invalidate_on_update: false,
    cache_ttl: null,
    collect_logs: true,
    rate_limiting_interval: null,
    rate_limiting_limit: null,
    rate_limiting_technique: null,
  };
  await call(`POST ${root}`, { body: { id: "kept", ...settings } });
  const key = { alias: "main", default_config: true, provider_slug: "openai", secret: "sk-1234" };
  const limited = { ...key, rate_limit: 10, rate_limit_period: 60 };
  await every(call, `${GATEWAY}/provider_configs`, limited, { alias: "other" }, path);
  const slug = { name: "Lab", slug: "lab", base_url: "https://lab.example.com/v1" };
  const headers = { headers: JSON.stringify({ "x-team": "a" }), position: 1, link: "x" };
  const account = `${ACCOUNT}/ai-gateway`;
  await every(call, `${account}/custom-providers`, { ...slug, ...headers }, { name: "Lab 2" });
  const limits = [{ limitType: "cost", limit: 5, window: 3600 }];
  const again = await every(
    call,
    `${account}/virtual-keys`,
    { name: "team", limits },
    { tags: ["a"] },
  );
  const team = { id: "research", name: "Research", limits };
  await every(call, `${account}/teams`, team, { limits });
  await call(`GET ${account}/spend`, { query: { by: "team" } });
  await call(`POST ${account}/virtual-keys/{id}/rotate`, { path: { id: again } });
  await call(`DELETE ${account}/virtual-keys/{id}`, { path: { id: again } });
  const price = { provider: "openai", model: "own", input: 1, output: 2, source: "a contract" };
  const { id = "" } = await call(`PUT ${account}/prices`, { body: price });
  for (const query of [{}, { page: "2", per_page: "100" }, { provider: "openai", model: "own" }])
    await call(`GET ${account}/prices`, { query });
  await call(`DELETE ${account}/prices/{id}`, { path: { id } });

  const elements = [
    { id: "start", type: "start", outputs: { next: { elementId: "model" } } },
    {
      id: "model",
      type: "model",
      properties: { provider: "openai", model: "gpt-4o-mini", timeout: 1000, retries: 0 },
      outputs: { success: { elementId: "end" }, fallback: { elementId: "end" } },
    },
    { id: "end", type: "end", outputs: {} },
  ];
  const routes = `${GATEWAY}/routes`;
  const made = await call(`POST ${routes}`, { path, body: { name: "documented", elements } });
  const route = { ...path, id: made["id"] ?? "" };
  await call(`GET ${routes}`, { path });
  await call(`GET ${routes}/{id}`, { path: route });
  await call(`PATCH ${routes}/{id}`, { path: route, body: { name: "renamed" } });
  const version = await call(`POST ${routes}/{id}/versions`, { path: route, body: { elements } });
  const one = { version_id: version["version_id"] ?? "" };
  await call(`GET ${routes}/{id}/versions`, { path: route });
  await call(`GET ${routes}/{id}/versions/{version_id}`, { path: { ...route, ...one } });
  await call(`POST ${routes}/{id}/deployments`, { path: route, body: one });
  await call(`GET ${routes}/{id}/deployments`, { path: route });
  await call(`DELETE ${routes}/{id}`, { path: route });
  await call(`DELETE ${GATEWAY}`, { path });
}

/** Does all that can be done with a resource, and leaves one of it behind, whose id it gives. */
async function every(
  call: Caller,
  root: string,
  body: object,
  change: object,
  path: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { id = "" } = await call(`POST ${root}`, { path, body });
  await call(`GET ${root}`, { path });
  for (const method of ["GET", "PUT", "PATCH"])
    await call(`${method} ${root}/{id}`, {
      path: { ...path, id },
      ...(method !== "GET" && { body: change }),
    });
  await call(`DELETE ${root}/{id}`, { path: { ...path, id } });
  return (await call(`POST ${root}`, { path, body }))["id"] ?? "";
}
