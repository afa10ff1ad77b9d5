import type { GenericSchema } from "valibot";
import { tokenInputSchema } from "../../core/auth/token-schema.ts";
import { logPatch } from "../../core/gateway/manage/manage-logs.ts";
import { customProviders } from "../../core/gateway/manage/custom-provider.ts";
import { datasets } from "../../core/gateway/manage/dataset.ts";
import * as route from "../../core/gateway/manage/dynamic-route.ts";
import { evaluations } from "../../core/gateway/manage/evaluation.ts";
import { providerConfigs } from "../../core/gateway/manage/provider-config.ts";
import { gatewayCreate, gatewayWrite } from "../../core/gateway/account/settings/settings.ts";
import * as render from "../../core/rendering/job/schema.ts";
import { createSchema, updateSchema } from "../../core/search/state/instance-schema.ts";
import { chatSchema, searchSchema } from "../../core/search/state/search-schema.ts";

/** Where the official client declares its resources. */
export const resources: URL = new URL(
  "../clients/node_modules/cloudflare/resources/",
  import.meta.url,
);
/** The file of the official client that declares a resource. */
export const fileOf = (name: string): string => new URL(`${name}.d.ts`, resources).pathname;

/** The folder of an instance in a namespace. */
export const perNamespace = "aisearch/namespaces/instances/instances";
/** What the official client can send, and the schema that checks it. */
export const bodies: readonly (readonly [file: string, type: string, schema: GenericSchema])[] = [
  ["ai-gateway/ai-gateway", "AIGatewayCreateParams", gatewayCreate],
  ["ai-gateway/ai-gateway", "AIGatewayUpdateParams", gatewayWrite],
  ["ai-gateway/custom-providers", "CustomProviderCreateParams", customProviders.create],
  ["ai-gateway/datasets", "DatasetCreateParams", datasets.create],
  ["ai-gateway/datasets", "DatasetUpdateParams", datasets.create],
  ["ai-gateway/dynamic-routing", "DynamicRoutingCreateParams", route.routeCreate],
  ["ai-gateway/dynamic-routing", "DynamicRoutingUpdateParams", route.routeRename],
  ["ai-gateway/dynamic-routing", "DynamicRoutingCreateVersionParams", route.versionCreate],
  ["ai-gateway/dynamic-routing", "DynamicRoutingCreateDeploymentParams", route.deploymentCreate],
  ["ai-gateway/evaluations", "EvaluationCreateParams", evaluations.create],
  ["ai-gateway/logs", "LogEditParams", logPatch],
  ["ai-gateway/provider-configs", "ProviderConfigCreateParams", providerConfigs.create],
  ["browser-rendering/pdf", "PDFCreateParams", render.pdfSchema],
  ["browser-rendering/content", "ContentCreateParams", render.documentSchema],
  ["browser-rendering/markdown", "MarkdownCreateParams", render.documentSchema],
  ["browser-rendering/screenshot", "ScreenshotCreateParams", render.screenshotSchema],
  ["browser-rendering/json", "JsonCreateParams.Variant0", render.jsonSchema],
  ["browser-rendering/json", "JsonCreateParams.Variant1", render.jsonSchema],
  ["browser-rendering/links", "LinkCreateParams", render.linksSchema],
  [
    "browser-rendering/accessibility-tree",
    "AccessibilityTreeCreateParams",
    render.accessibilitySchema,
  ],
  ["browser-rendering/scrape", "ScrapeCreateParams", render.scrapeSchema],
  ["browser-rendering/snapshot", "SnapshotCreateParams", render.snapshotSchema],
  ["aisearch/instances/instances", "InstanceCreateParams", createSchema],
  ["aisearch/instances/instances", "InstanceUpdateParams", updateSchema],
  ["aisearch/instances/instances", "InstanceSearchParams", searchSchema],
  ["aisearch/instances/instances", "InstanceChatCompletionsParams", chatSchema],
  [perNamespace, "InstanceCreateParams", createSchema],
  [perNamespace, "InstanceUpdateParams", updateSchema],
  [perNamespace, "InstanceSearchParams", searchSchema],
  [perNamespace, "InstanceChatCompletionsParams", chatSchema],
  ["aisearch/namespaces/namespaces", "NamespaceSearchParams", searchSchema],
  ["aisearch/namespaces/namespaces", "NamespaceChatCompletionsParams", chatSchema],
  ["user/tokens/tokens", "TokenCreateParams", tokenInputSchema],
  ["user/tokens/tokens", "TokenUpdateParams", tokenInputSchema],
  ["accounts/tokens/tokens", "TokenCreateParams", tokenInputSchema],
  ["accounts/tokens/tokens", "TokenUpdateParams", tokenInputSchema],
];
