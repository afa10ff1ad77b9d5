import { expect, it } from "vitest";
import type { AnswerName } from "../../scripts/openapi/answers.ts";
import { answers } from "../../scripts/openapi/document.ts";
import { operations } from "../../scripts/openapi/operations.ts";
import { fileOf } from "./sdk-bodies.ts";
import { sdkSamples } from "./sdk-params.ts";
import { unnamed } from "./unnamed-fields.ts";

it("says of every operation that answers JSON what it answers", () => {
  // What a provider answers, what is stored of that, and what an agent's own code answers.
  const free =
    /^POST \/v1\/|\/ai\/|\/logs\/:id\/(?:request|response)$|^GET \/agents\/:class\/:name$/;
  const silent = Object.entries(operations).filter(
    ([key, { answer = "envelope", result, results }]) =>
      /^(?:envelope|rendering|json|completion)$/.test(answer) &&
      (result ?? results) === undefined &&
      !free.test(key),
  );
  expect(silent.map(([key]) => key)).toEqual([]);
});

/** What the official client reads of an answer, and the schema that says what the answer is. */
const read: readonly (readonly [file: string, type: string, name: AnswerName])[] = [
  ["ai-gateway/ai-gateway", "AIGatewayGetResponse", "Gateway"],
  ["ai-gateway/custom-providers", "CustomProviderGetResponse", "StoredCustomProvider"],
  ["ai-gateway/datasets", "DatasetGetResponse", "StoredDataset"],
  ["ai-gateway/dynamic-routing", "DynamicRoutingCreateResponse", "StoredRoute"],
  ["ai-gateway/dynamic-routing", "DynamicRoutingGetResponse", "StoredRoute"],
  ["ai-gateway/dynamic-routing", "DynamicRoutingDeleteResponse", "StoredRouteSummary"],
  ["ai-gateway/dynamic-routing", "DynamicRoutingCreateVersionResponse", "StoredRouteVersion"],
  ["ai-gateway/dynamic-routing", "DynamicRoutingGetVersionResponse", "StoredRouteVersion"],
  ["ai-gateway/dynamic-routing", "DynamicRoutingCreateDeploymentResponse", "StoredRoute"],
  ["ai-gateway/evaluation-types", "EvaluationTypeListResponse", "EvaluationType"],
  ["ai-gateway/evaluations", "EvaluationGetResponse", "StoredEvaluation"],
  ["ai-gateway/logs", "LogListResponse", "GatewayLog"],
  ["ai-gateway/logs", "LogGetResponse", "GatewayLogDetail"],
  ["ai-gateway/provider-configs", "ProviderConfigListResponse", "StoredProviderKey"],
  ["aisearch/instances/instances", "InstanceReadResponse", "SearchInstance"],
  ["aisearch/instances/instances", "InstanceStatsResponse", "SearchInstanceStats"],
  ["aisearch/instances/instances", "InstanceSearchResponse", "SearchResult"],
  ["aisearch/instances/instances", "InstanceChatCompletionsResponse", "SearchCompletion"],
  ["aisearch/instances/jobs", "JobGetResponse", "SearchJob"],
  ["aisearch/namespaces/instances/items", "ItemGetResponse", "SearchItem"],
  ["aisearch/namespaces/instances/items", "ItemChunksResponse", "SearchItemChunk"],
  ["aisearch/namespaces/instances/items", "ItemLogsResponse", "SearchItemLog"],
  ["aisearch/namespaces/namespaces", "NamespaceReadResponse", "SearchNamespace"],
  ["aisearch/namespaces/namespaces", "NamespaceSearchResponse", "SearchAcrossResult"],
  ["browser-rendering/crawl", "CrawlGetResponse", "CrawlState"],
  ["browser-rendering/accessibility-tree", "AccessibilityTreeCreateResponse", "RenderedTree"],
  ["accounts/tokens/tokens", "TokenCreateResponse", "ApiTokenWithValue"],
  ["accounts/tokens/tokens", "TokenVerifyResponse", "ApiTokenVerification"],
];

/** What only the hosted service has, all of it optional for the client: people, addresses of its own, pictures. */
const hosted: Readonly<Partial<Record<AnswerName, RegExp>>> = {
  StoredCustomProvider: /^\.logo$/,
  SearchInstance:
    /^\.(?:created_by|modified_by|last_activity|public_endpoint_params\.(?:custom_domains|default_domain_enabled|mcp\.description).*)$/,
  // Answers are text: no model here answers in parts.
  SearchCompletion: /^\.choices\[\]\.message\.content\[\]/,
  // Namespaces have no public endpoints, so these are null.
  SearchNamespace: /^\.public_endpoint_params\./,
  ApiTokenWithValue: /^\.(?:condition|creator_email_at_creation|provisioner_\w+)$/,
};

it.each(read)("names what the official client reads: %s %s", (file, type, name) => {
  const samples = sdkSamples(fileOf(file), type, "body");
  expect(samples.length).toBeGreaterThan(0);
  // A list is described by what it holds.
  for (const sample of samples.flat()) {
    const missing = unnamed(sample, answers[name]).filter(
      (one) => hosted[name]?.test(one) !== true,
    );
    expect(missing, JSON.stringify(sample)).toEqual([]);
  }
});

it("is a comparison that finds what is missing", () => {
  const [sample] = sdkSamples(fileOf("ai-gateway/ai-gateway"), "AIGatewayGetResponse", "body");
  expect(unnamed(sample, answers["GatewayLog"]).length).toBeGreaterThan(10);
});
