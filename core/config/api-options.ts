import type { PlatformApiOptions } from "../api.ts";
import type { Platform } from "../ports.ts";
import { openAiChatModel, openAiEmbedder } from "../search/mod.ts";
import type { Config } from "./config.ts";

/** The options of `platformApi()` that a checked configuration stands for. */
export function apiOptions(config: Config, platform: Platform): PlatformApiOptions {
  const { embedder, chatModel } = config.search ?? {};
  return {
    platform,
    accountId: config.accountId ?? "local",
    demo: config.demo ?? true,
    tokens: config.tokens ?? [],
    ...(config.jwt === undefined ? {} : { jwt: config.jwt }),
    gateway: config.gateway ?? {},
    rendering: config.rendering ?? {},
    search: {
      ...(embedder === undefined ? {} : { embedder: openAiEmbedder(embedder, platform.transport) }),
      ...(chatModel === undefined
        ? {}
        : { chatModel: openAiChatModel(chatModel, platform.transport) }),
    },
    webhooks: { sources: {}, ...config.webhooks },
    deprecations: config.deprecations ?? {},
  };
}
