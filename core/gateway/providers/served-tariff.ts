import { asObject, type Json } from "../../http/json.ts";
import type { NamedTariff, TokenUsage } from "../chat/usage.ts";
import { servedTariff } from "../prices/asked-tariff.ts";

/**
 * Adds the tariffs by which a message says that it was served, else those of an earlier one. OpenAI names its tier beside the
 * usage, of chats and of responses (https://platform.openai.com/docs/api-reference/chat/object), Anthropic its tier and the
 * place in it (https://platform.claude.com/docs/en/api/service-tiers), Google the traffic's type
 * (https://docs.cloud.google.com/vertex-ai/generative-ai/docs/flex-paygo).
 */
export function withServed(found: TokenUsage, message: Json, before: TokenUsage): TokenUsage {
  const served = servedIn(message) ?? before.served;
  return served === undefined ? found : { ...found, served };
}

function servedIn(message: Json): readonly NamedTariff[] | undefined {
  const inner = asObject(message["response"]) ?? asObject(message["message"]) ?? message;
  const usage = asObject(inner["usage"]) ?? asObject(inner["usageMetadata"]);
  const tier =
    inner["service_tier"] ??
    inner["serviceTier"] ??
    usage?.["service_tier"] ??
    usage?.["serviceTier"] ??
    usage?.["trafficType"];
  const place = usage?.["inference_geo"];
  if (tier == null && place == null) return undefined;
  return [...servedTariff("inference_geo", place), ...servedTariff("service_tier", tier)];
}
