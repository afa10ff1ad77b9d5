import type { PlatformApiOptions } from "./platform-api-options.ts";
import { checkPermissions } from "../auth/static-tokens.ts";
import { invalidRequest } from "../http/api-error.ts";
import type { Platform } from "../ports.ts";
import { type Checker, httpChecker } from "../gateway/mod.ts";
import { httpReranker, modelOcr, openAiChatModel, openAiEmbedder } from "../search/mod.ts";
import type { Config, SearchConfig } from "./config.ts";
import type { GatewayConfig } from "./gateway-config.ts";
import type { PlacedModelConfig } from "./model-config.ts";

function searchOptions(
  config: Config,
  platform: Platform,
): NonNullable<PlatformApiOptions["search"]> {
  const { bucket, vectorMemoryBytes } = config.search ?? {};
  return {
    ...(bucket && { bucket }),
    ...masterSecrets(config),
    ...searchModels(config.search ?? {}, platform),
    ...(vectorMemoryBytes !== undefined && { vectorMemoryBytes }),
  };
}

function searchModels(
  { embedder, chatModel, ocr, reranker }: SearchConfig,
  { transport, system }: Platform,
): NonNullable<PlatformApiOptions["search"]> {
  return {
    ...(embedder && {
      embedder: placed(embedder, (endpoint) => openAiEmbedder(endpoint, transport)),
    }),
    ...(embedder?.timeoutSeconds && { embedderTimeoutMs: embedder.timeoutSeconds * 1000 }),
    ...(reranker && { reranker: httpReranker(reranker, transport) }),
    ...(reranker?.timeoutSeconds && { rerankerTimeoutMs: reranker.timeoutSeconds * 1000 }),
    ...(chatModel && {
      chatModel: placed(chatModel, (endpoint) => openAiChatModel(endpoint, transport)),
    }),
    ...(chatModel?.timeoutSeconds && { chatTimeoutMs: chatModel.timeoutSeconds * 1000 }),
    ...(ocr && {
      ocr: placed(ocr, (endpoint) => modelOcr(openAiChatModel(endpoint, transport), system)),
    }),
    ...(ocr?.timeoutSeconds && { ocrTimeoutMs: ocr.timeoutSeconds * 1000 }),
  };
}

/** One secret to keep is enough; each use derives a key of its own from it. */
function masterSecrets({ gateway: { masterKey, formerMasterKeys = [] } = {} }: Config): {
  readonly masterSecret?: string;
  readonly formerMasterSecrets?: readonly string[];
} {
  if (masterKey === undefined) return {};
  return { masterSecret: masterKey, formerMasterSecrets: formerMasterKeys };
}

function renderingOptions(
  config: Config,
  { transport }: Platform,
): NonNullable<PlatformApiOptions["rendering"]> {
  const { chatModel, ...own } = config.rendering ?? {};
  const rest = { ...masterSecrets(config), ...own };
  if (chatModel === undefined) return rest;
  const { timeoutSeconds } = chatModel;
  return {
    ...rest,
    chatModel: placed(chatModel, (endpoint) => openAiChatModel(endpoint, transport)),
    ...(timeoutSeconds && { chatTimeoutMs: timeoutSeconds * 1000 }),
  };
}

/**
 * Makes a model: one behind a gateway stays as it is, one behind an endpoint is made by `open`; the schema guarantees
 * that it is one of the two.
 */
function placed<C extends PlacedModelConfig, M>(
  config: C,
  open: (endpoint: C & { readonly baseUrl: string }) => M,
): M | (C & { readonly gateway: string }) {
  const { baseUrl, gateway } = config;
  if (gateway !== undefined) return { ...config, gateway };
  return open({ ...config, baseUrl: baseUrl ?? "" });
}

/** Pages that a program imports itself, so that only programs that use them bundle them. */
export type ImportedPages = Pick<PlatformApiOptions, "console" | "openApi">;

/** The pages that are imported, and that the configuration does not turn off. */
function pagesOf(config: Config, pages: ImportedPages): ImportedPages {
  const need = {
    console: "webConsole of causey/console",
    openApi: "apiDescription of causey/openapi",
  };
  for (const key of ["console", "openApi"] as const) {
    if (config[key] !== true || pages[key] !== undefined) continue;
    throw invalidRequest(
      `Configuration key "${key}": Import ${need[key]}, and pass it beside the configuration`,
    );
  }
  return {
    ...(config.console !== false && { console: pages.console }),
    ...(config.openApi !== false && { openApi: pages.openApi }),
  };
}

/**
 * Turns a checked configuration into the options of `platformApi()`. The console and the description of the API are
 * there where they are passed, unless the configuration turns them off.
 *
 * @throws ApiError when the configuration turns on a page that is not passed
 *
 * @example
 * ```ts
 * import { apiOptions, parseConfig, platformApi } from "causey";
 * import { webConsole } from "causey/console";
 * import { memoryPlatform } from "causey/memory";
 *
 * const platform = await memoryPlatform();
 * const config = parseConfig({ accountId: "acme", metrics: true }, (name) => process.env[name]);
 * const app = platformApi(apiOptions(config, platform, { console: webConsole }));
 * ```
 */
export function apiOptions(
  config: Config,
  platform: Platform,
  pages: ImportedPages = {},
): PlatformApiOptions {
  return {
    platform,
    accountId: config.accountId ?? "local",
    ...(config.mountPath === undefined ? {} : { mountPath: config.mountPath }),
    ...(config.publicUrl === undefined ? {} : { publicUrl: config.publicUrl }),
    proxies: config.proxies,
    demo: config.demo ?? true,
    accessLog: config.log !== "off",
    metrics: config.metrics ?? true,
    ...pagesOf(config, pages),
    debug: config.debug ?? [],
    tokens: (config.tokens ?? []).map((one) => ({
      ...one,
      permissions: checkPermissions(one.permissions),
    })),
    ...(config.jwt === undefined ? {} : { jwt: config.jwt }),
    gateway: gatewayOptions(config, platform),
    rendering: renderingOptions(config, platform),
    search: searchOptions(config, platform),
    webhooks: {
      sources: {},
      ...masterSecrets(config),
      ...config.webhooks,
    },
    agentAccess: config.agents ?? {},
    deprecations: config.deprecations ?? {},
  };
}

function checkersOf(
  checkers: NonNullable<GatewayConfig["checkers"]>,
  platform: Platform,
): Record<string, Checker> {
  const made = Object.entries(checkers).map(([name, one]) => [
    name,
    httpChecker(name, one, platform),
  ]);
  return Object.fromEntries(made) as Record<string, Checker>;
}

function gatewayOptions(
  { gateway = {}, metrics = true }: Config,
  platform: Platform,
): NonNullable<PlatformApiOptions["gateway"]> {
  const { judge, checkers, ...own } = gateway;
  const rest = {
    ...own,
    metrics: gateway.metrics ?? metrics,
    ...(checkers && { checkers: checkersOf(checkers, platform) }),
  };
  if (judge === undefined) return rest;
  return { ...rest, judge: openAiChatModel(judge, platform.transport), judgeModel: judge.model };
}
