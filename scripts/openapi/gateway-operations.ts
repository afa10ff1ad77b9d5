import { logParameters } from "../../core/gateway/observe/log/log-filters.ts";
import { spendParameters } from "../../core/gateway/manage/spend-routes.ts";
import { below, type Operations, paged } from "./operation.ts";
import { taskOperations } from "./task-operations.ts";

const message = { role: "user", content: "Hello" };
const logFilters = [...logParameters, "meta_info"];

const gateways: Operations = {
  "GET ": { results: "Gateway", summary: "List the gateways", query: [...paged, "search"] },
  "POST ": {
    result: "Gateway",
    summary: "Create a gateway",
    body: "GatewayCreate",
    example: {
      id: "docs",
      cache_invalidate_on_update: true,
      cache_ttl: 300,
      collect_logs: true,
      rate_limiting_interval: 60,
      rate_limiting_limit: 100,
      rate_limiting_technique: "sliding",
    },
  },
  "GET /:gateway_id": { result: "Gateway", summary: "Read a gateway" },
  "PUT /:gateway_id": { result: "Gateway", summary: "Change a gateway", body: "GatewayUpdate" },
  "DELETE /:gateway_id": { result: "Gateway", summary: "Delete a gateway, its logs and counters" },
  "GET /:gateway_id/url/:provider": {
    result: "GatewayUrl",
    summary: "Read the address of a provider behind a gateway",
  },
  "GET /:gateway_id/run/:run_id/resume": {
    summary: "Resume a stream that broke off",
    query: ["from"],
    answer: "events",
  },
  "GET /:gateway_id/logs": {
    results: "GatewayLog",
    summary: "List log rows",
    query: [...paged, ...logFilters],
  },
  "DELETE /:gateway_id/logs": {
    result: "Nothing",
    summary: "Delete log rows",
    query: ["limit", ...logFilters],
  },
  "GET /:gateway_id/logs/tail": {
    summary: "Follow log rows as they are written",
    query: logFilters,
    answer: "events",
  },
  "GET /:gateway_id/logs/:id": { result: "GatewayLogDetail", summary: "Read a log row" },
  "PATCH /:gateway_id/logs/:id": {
    result: "GatewayLogDetail",
    summary: "Add feedback, a score or metadata to a log row",
    body: "LogPatch",
    example: { feedback: 1, score: 90 },
  },
  "GET /:gateway_id/logs/:id/request": { summary: "Read the stored request", answer: "json" },
  "GET /:gateway_id/logs/:id/response": { summary: "Read the stored answer", answer: "json" },
  "GET /:gateway_id/datasets": {
    results: "StoredDataset",
    summary: "List the datasets",
    query: [...paged, "name", "search", "enable"],
  },
  "POST /:gateway_id/datasets": {
    result: "StoredDataset",
    summary: "Create a dataset",
    body: "Dataset",
    example: { name: "slow ones", enable: true, filters: [] },
  },
  "GET /:gateway_id/datasets/:id": { result: "StoredDataset", summary: "Read a dataset" },
  "PUT /:gateway_id/datasets/:id": {
    result: "StoredDataset",
    summary: "Change a dataset",
    body: "Dataset",
  },
  "DELETE /:gateway_id/datasets/:id": { result: "StoredDataset", summary: "Delete a dataset" },
  "GET /:gateway_id/evaluations": {
    results: "StoredEvaluation",
    summary: "List the evaluations",
    query: [...paged, "name", "search", "processed"],
  },
  "POST /:gateway_id/evaluations": {
    result: "StoredEvaluation",
    summary: "Run an evaluation over datasets",
    body: "Evaluation",
  },
  "GET /:gateway_id/evaluations/:id": { result: "StoredEvaluation", summary: "Read an evaluation" },
  "DELETE /:gateway_id/evaluations/:id": {
    result: "StoredEvaluation",
    summary: "Delete an evaluation",
  },
  "GET /:gateway_id/provider_configs": {
    results: "StoredProviderKey",
    summary: "List stored provider keys",
    query: [...paged],
  },
  "POST /:gateway_id/provider_configs": {
    result: "StoredProviderKey",
    summary: "Store a provider key",
    body: "ProviderConfig",
  },
  "GET /:gateway_id/provider_configs/:id": {
    result: "StoredProviderKey",
    summary: "Read a stored provider key, without the key",
  },
  "PUT /:gateway_id/provider_configs/:id": {
    result: "StoredProviderKey",
    summary: "Change a stored provider key",
    body: "ProviderConfigChange",
  },
  "PATCH /:gateway_id/provider_configs/:id": {
    result: "StoredProviderKey",
    summary: "Change parts of a stored provider key",
    body: "ProviderConfigChange",
  },
  "DELETE /:gateway_id/provider_configs/:id": {
    result: "StoredProviderKey",
    summary: "Delete a stored provider key",
  },
  "GET /:gateway_id/routes": {
    answer: "json",
    result: "RouteList",
    summary: "List the dynamic routes",
    query: [...paged],
  },
  "POST /:gateway_id/routes": {
    result: "StoredRoute",
    summary: "Create a dynamic route",
    body: "DynamicRoute",
  },
  "GET /:gateway_id/routes/:id": { result: "StoredRoute", summary: "Read a dynamic route" },
  "PATCH /:gateway_id/routes/:id": {
    answer: "json",
    result: "RouteRenamed",
    summary: "Rename a dynamic route",
    body: "DynamicRouteName",
    example: { name: "cheap-first" },
  },
  "DELETE /:gateway_id/routes/:id": {
    result: "StoredRouteSummary",
    summary: "Delete a dynamic route",
  },
  "GET /:gateway_id/routes/:id/versions": {
    answer: "json",
    result: "RouteVersionList",
    summary: "List the versions of a dynamic route",
  },
  "POST /:gateway_id/routes/:id/versions": {
    result: "StoredRouteVersion",
    summary: "Add a version to a dynamic route",
    body: "DynamicRouteVersion",
  },
  "GET /:gateway_id/routes/:id/versions/:version_id": {
    result: "StoredRouteVersion",
    summary: "Read a version of a dynamic route",
  },
  "GET /:gateway_id/routes/:id/deployments": {
    answer: "json",
    result: "RouteDeploymentList",
    summary: "List the deployments of a dynamic route",
  },
  "POST /:gateway_id/routes/:id/deployments": {
    result: "StoredRoute",
    summary: "Deploy a version of a dynamic route",
    body: "DynamicRouteDeployment",
  },
};

const stored = (
  what: string,
  plural: string,
  body: "CustomProvider" | "VirtualKey",
): Operations => ({
  "GET ": {
    results: `Stored${body}`,
    summary: `List the ${plural}`,
    query:
      body === "CustomProvider"
        ? [...paged, "search", "enable", "beta"]
        : [...paged, "search", "owner", "team"],
  },
  "POST ": {
    result: body === "VirtualKey" ? "VirtualKeyWithSecret" : "StoredCustomProvider",
    summary: `Create a ${what}`,
    body,
    example:
      body === "VirtualKey"
        ? { name: "team-a" }
        : { name: "Local model", slug: "local-model", base_url: "https://models.example.com/v1" },
  },
  "GET /:id": { result: `Stored${body}`, summary: `Read a ${what}` },
  "PUT /:id": { result: `Stored${body}`, summary: `Change a ${what}`, body: `${body}Change` },
  "PATCH /:id": {
    result: `Stored${body}`,
    summary: `Change parts of a ${what}`,
    body: `${body}Change`,
  },
  "DELETE /:id": { result: `Stored${body}`, summary: `Delete a ${what}` },
});

/** The gateway: its management and the requests to models. */
export const gatewayOperations: Operations = {
  "GET /v1/models": {
    answer: "json",
    result: "ModelList",
    summary: "List the models of the default gateway that the caller may use, as OpenAI does",
  },
  "POST /v1/chat/completions": {
    result: "ChatCompletion",
    summary: "Ask any model by the default gateway, in OpenAI's format",
    freeBody: "json",
    answer: "completion",
    example: { model: "echo/echo", messages: [message] },
  },
  "POST /v1/responses": {
    summary: "Ask any model by the default gateway, in the format of OpenAI's responses",
    freeBody: "json",
    answer: "json",
    example: { model: "echo/echo", input: "Hello" },
  },
  "POST /v1/messages": {
    summary: "Ask any model by the default gateway, in Anthropic's format",
    freeBody: "json",
    answer: "json",
    example: { model: "echo/echo", max_tokens: 100, messages: [message] },
  },
  "POST /v1/messages/count_tokens": {
    summary: "Count the tokens of a message in Anthropic's format",
    freeBody: "json",
    answer: "json",
    example: { model: "echo/echo", messages: [message] },
  },
  ...below("/v1", taskOperations),
  "POST /v1/:account_id/:gateway_id/compat/chat/completions": {
    result: "ChatCompletion",
    summary: "Ask any model in OpenAI's format: the model is provider/model",
    freeBody: "json",
    answer: "completion",
    example: { model: "echo/echo", messages: [message] },
  },
  "POST /v1/:account_id/:gateway_id/:provider/:path": {
    summary: "Forward a request to a provider in the provider's own format",
    freeBody: "json",
    answer: "json",
    example: { model: "echo", messages: [message] },
  },
  "POST /v1/:account_id/:gateway_id": {
    summary: "Try several providers in turn: the universal endpoint",
    freeBody: "json",
    answer: "json",
    example: [
      {
        provider: "echo",
        endpoint: "chat/completions",
        headers: {},
        query: { model: "echo", messages: [message] },
      },
    ],
  },
  ...below("/client/v4/accounts/:account_id/ai/v1", taskOperations),
  ...below("/client/v4/accounts/:account_id/ai", {
    "POST /run": { summary: "Ask a model named in the body", freeBody: "json", answer: "json" },
    "POST /run/:model": {
      summary: "Ask a model named in the path",
      freeBody: "json",
      answer: "json",
    },
    "POST /v1/chat/completions": {
      result: "ChatCompletion",
      summary: "Ask a model in OpenAI's chat format",
      freeBody: "json",
      answer: "completion",
    },
    "POST /v1/responses": {
      summary: "Ask a model in OpenAI's responses format",
      freeBody: "json",
      answer: "json",
    },
    "POST /v1/messages": {
      summary: "Ask a model in Anthropic's format",
      freeBody: "json",
      answer: "json",
    },
    "POST /v1/messages/count_tokens": {
      summary: "Count the tokens of a message in Anthropic's format, or estimate them",
      freeBody: "json",
      answer: "json",
    },
  }),
  ...below("/client/v4/accounts/:account_id/ai-gateway", {
    ...below("/gateways", gateways),
    ...below("/custom-providers", stored("custom provider", "custom providers", "CustomProvider")),
    ...below("/virtual-keys", stored("virtual key", "virtual keys", "VirtualKey")),
    "POST /virtual-keys/:id/rotate": {
      result: "VirtualKeyWithSecret",
      summary: "Give a virtual key a new secret, shown once",
      body: "VirtualKeyRotation",
      bodyOptional: true,
    },
    ...below("/teams", {
      "GET ": { results: "Team", summary: "List the teams", query: [...paged, "search"] },
      "POST ": {
        result: "Team",
        summary: "Create a team, with budgets over all its virtual keys",
        body: "TeamCreate",
        example: { id: "research", limits: [{ limitType: "cost", limit: 50, window: "month" }] },
      },
      "GET /:id": { result: "Team", summary: "Read a team, with its use of each budget" },
      "PUT /:id": { result: "Team", summary: "Change a team", body: "TeamChange" },
      "PATCH /:id": { result: "Team", summary: "Change parts of a team", body: "TeamChange" },
      "DELETE /:id": { result: "Team", summary: "Delete a team that no virtual key names" },
    }),
    "GET /spend": {
      result: "Spend",
      summary: "Report the cost by day, model, key, team, tag or gateway",
      query: [...spendParameters],
    },
    "GET /evaluation-types": {
      results: "EvaluationType",
      summary: "List the kinds of evaluations",
      query: [...paged, "order_by", "order_by_direction"],
    },
    "GET /prices": {
      results: "ModelPrice",
      summary: "List prices with their source",
      query: [...paged, "provider", "model", "origin"],
    },
    "PUT /prices": {
      result: "StoredPrice",
      summary: "Set the price of a model, in US dollars per million tokens",
      body: "Price",
      example: { provider: "openai", model: "gpt-4o-mini", input: 0.15, output: 0.6 },
    },
    "DELETE /prices/:id": { result: "StoredPrice", summary: "Delete a price of the account" },
    "GET /metrics": { summary: "Read the gateway's metrics, for Prometheus", answer: "text" },
  }),
};
