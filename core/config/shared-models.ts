import type { Own, PlatformApiOptions } from "./platform-api-options.ts";
import type { GatewayParts } from "../gateway/mod.ts";
import { type SemanticCacheFactory, semanticCache } from "../gateway/semantic-cache/mod.ts";
import type { RenderingOptions } from "../rendering/mod.ts";
import { invalidOptions } from "../http/api-error.ts";
import {
  gatewayChatModel,
  gatewayEmbedder,
  type GatewayModel,
  type GatewayRun,
  modelOcr,
  type SearchOptions,
} from "../search/mod.ts";
import type { Signals } from "../signals/mod.ts";

/** The options of search, with models whose health `/readyz` reports. */
export function watchedModels(
  { search: given = {}, platform: { system } }: PlatformApiOptions,
  { models: { search: models } }: Signals,
  { aiBinding }: GatewayParts,
): Own<SearchOptions> {
  const { embedder, chatModel, ocr, ...rest } = given;
  const runner =
    (model: GatewayModel): GatewayRun =>
    (step, asked) =>
      aiBinding(model.gateway).run(step, asked);
  return {
    ...rest,
    ...(embedder && {
      embedder: models.embedder(
        "gateway" in embedder ? gatewayEmbedder(embedder, runner(embedder)) : embedder,
      ),
    }),
    ...(ocr && {
      ocr: "gateway" in ocr ? modelOcr(gatewayChatModel(ocr, runner(ocr)), system) : ocr,
    }),
    ...(chatModel && {
      chatModel: models.chatModel(
        "gateway" in chatModel ? gatewayChatModel(chatModel, runner(chatModel)) : chatModel,
      ),
    }),
  };
}

/** The options of rendering, with a model whose health `/readyz` reports; behind a gateway, callers may name others. */
export function watchedRendering(
  { rendering: { chatModel, ...rest } = {} }: PlatformApiOptions,
  { models: { rendering: models } }: Signals,
  { aiBinding }: GatewayParts,
): Own<RenderingOptions> {
  if (chatModel === undefined) return rest;
  if (!("gateway" in chatModel)) return { ...rest, chatModel: models.chatModel(chatModel) };
  const { gateway } = chatModel;
  const run: GatewayRun = (step, asked) => aiBinding(gateway).run(step, asked);
  return {
    customModel: ({ model, authorization }) =>
      gatewayChatModel(
        { gateway, model, ...(authorization && { headers: { authorization } }) },
        run,
      ),
    ...rest,
    chatModel: models.chatModel(gatewayChatModel(chatModel, run)),
  };
}

/** Returns the semantic cache of the options, with the embedder of search as its default. */
export function sharedSemanticCache({
  gateway,
  search: { embedder } = {},
}: PlatformApiOptions): SemanticCacheFactory | undefined {
  if (gateway?.semanticCache === undefined) return undefined;
  const { embed: own } = gateway.semanticCache;
  if (own !== undefined) return semanticCache({ ...gateway.semanticCache, embed: own });
  if (embedder === undefined) {
    throw invalidOptions(
      "gateway.semanticCache: expected an embedding model, semanticCache.embed or search.embedder; the builtin vectors compare spellings, not meanings",
    );
  }
  if ("gateway" in embedder) {
    throw invalidOptions(
      "gateway.semanticCache: search.embedder is behind a gateway itself; expected semanticCache.embed, or an embedder with an address of its own",
    );
  }
  // Questions are compared with questions, so both sides are embedded as queries.
  return semanticCache({
    ...gateway.semanticCache,
    embed: (texts, signal) => embedder.embed(texts, "query", signal),
  });
}
