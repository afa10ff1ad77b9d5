import { asObject, jsonText } from "../../http/json.ts";
import type { Price } from "./price.ts";
import { regionalPrice, timesPrice } from "./regional.ts";
import type { HeaderPair } from "../../ports.ts";

/** A tariff that a request asks for in place of the list's. */
export interface AskedTariff {
  readonly member: "service_tier" | "inference_geo";
  readonly value: string;
}

const MENTIONED = /"(?:service_?tier|inference_geo)"|\\u00/i;

/**
 * Headers by which a request asks for a tier: Vertex AI's
 * (https://docs.cloud.google.com/vertex-ai/generative-ai/docs/priority-paygo), and that of Amazon's InvokeModel
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html).
 */
const TIER_HEADERS: ReadonlySet<string> = new Set([
  "x-vertex-ai-llm-shared-request-type",
  "x-amzn-bedrock-service-tier",
]);

/** Tiers that cost the list price at the most. */
const LIST_PRICE: ReadonlySet<string> = new Set(
  "auto default standard standard_only unspecified flex on_demand batch".split(" "),
);

/** A body that cannot be read may ask for any. */
const UNREADABLE: AskedTariff = { member: "service_tier", value: "" };

/** A request by whose headers and body a tariff is found; `value` is what the body's text says. */
export interface TariffRequest {
  readonly headers: readonly HeaderPair[];
  readonly json: string | null;
  readonly value: () => unknown;
}

/** Returns the dearer tariff that a request asks for; null for the list price. */
export function askedTariff({ headers, json, value }: TariffRequest): AskedTariff | null {
  const header = headers.find(([name]) => TIER_HEADERS.has(name));
  if (header !== undefined && !LIST_PRICE.has(tierNamed(header[1])))
    return { member: "service_tier", value: tierNamed(header[1]) };
  if (json === null || !MENTIONED.test(json)) return null;
  const body = asObject(value());
  if (body === null) return UNREADABLE;
  const { service_tier: tier = body["serviceTier"], inference_geo: place } = body;
  if (tier != null && !LIST_PRICE.has(tierNamed(tier)))
    return { member: "service_tier", value: tierNamed(tier) };
  return place != null && place !== "global"
    ? { member: "inference_geo", value: jsonText(place) }
    : null;
}

/**
 * The name of a tier: Google also takes `SERVICE_TIER_PRIORITY` (https://ai.google.dev/gemini-api/docs/priority-inference),
 * and Amazon's Converse an object (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ServiceTier.html).
 */
function tierNamed(tier: unknown): string {
  const name = jsonText(asObject(tier)?.["type"] ?? tier);
  return name.toLowerCase().replace(/^service_tier_/, "");
}

/**
 * Returns the price of a tariff; null where it is not known. OpenAI lists its tier `priority` by model
 * (https://openai.com/api-priority-processing/). Gemini's costs 1.75 to 2 times the list, so that twice is never too little
 * (https://ai.google.dev/gemini-api/docs/optimization). A place costs at Anthropic what a region costs at its resellers: 1.1
 * times each price (https://platform.claude.com/docs/en/about-claude/pricing#data-residency-pricing).
 */
export function tariffPrice(price: Price, { value }: AskedTariff, provider: string): Price | null {
  const { priority, regional } = price;
  if (provider === "anthropic" && value === "us")
    return regional === undefined ? null : regionalPrice(price);
  if (provider === "google-ai-studio" && value === "priority") return timesPrice(price, 2);
  // Long requests are not in that tier: they cost what they do without it.
  return provider === "openai" && value === "priority" && priority !== undefined
    ? { ...price, ...priority }
    : null;
}
