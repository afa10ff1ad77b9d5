import { asObject, jsonText, mayMention } from "../../http/json.ts";
import type { Price } from "./price.ts";
import { flexPrice, regionalPrice, timesPrice } from "./regional.ts";
import type { HeaderPair } from "../../ports.ts";
import type { NamedTariff } from "../chat/usage.ts";

const MEMBERS = ['service_tier"', 'serviceTier"', 'inference_geo"'];

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
const UNREADABLE: NamedTariff = { member: "service_tier", value: "" };

/** A request by whose headers and body a tariff is found; `value` is what the body's text says. */
export interface TariffRequest {
  readonly headers: readonly HeaderPair[];
  readonly json: string | null;
  readonly value: () => unknown;
}

/** Returns the dearer tariff that a request asks for; null for the list price. */
export function askedTariff({ headers, json, value }: TariffRequest): NamedTariff | null {
  const header = headers.find(([name]) => TIER_HEADERS.has(name));
  if (header !== undefined && !LIST_PRICE.has(tierNamed(header[1])))
    return { member: "service_tier", value: tierNamed(header[1]) };
  if (json === null || !mayMention(json, MEMBERS)) return null;
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
  return name.toLowerCase().replace(/^(?:service_tier|on_demand)_/, "");
}

/** Tiers and places whose price is known where a provider says that it has served by them. */
const SERVED: ReadonlySet<string> = new Set([...LIST_PRICE, "priority", "us", "global"]);

/** Reads a tariff that a provider names in its answer; empty for one whose price would not be known. */
export function servedTariff(member: NamedTariff["member"], given: unknown): NamedTariff[] {
  const value = tierNamed(given);
  return SERVED.has(value) ? [{ member, value }] : [];
}

/**
 * Headers in which an answer names its tier (https://ai.google.dev/gemini-api/docs/priority-inference, and
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html).
 */
const SERVED_HEADERS = ["x-gemini-service-tier", "x-amzn-bedrock-service-tier"];

/**
 * Returns the tariffs by which an answer is paid for, a place before a tier: those that the provider says it has served by,
 * in its answer or a header of it, and else the one that was asked for.
 */
export function paidTariffs(
  asked: NamedTariff | null,
  told: readonly NamedTariff[],
  headers: readonly HeaderPair[],
): readonly NamedTariff[] {
  const named = headers.find(([name]) => SERVED_HEADERS.includes(name))?.[1];
  const inHeader = named === undefined ? [] : servedTariff("service_tier", named);
  const served = told.some(({ member }) => member === "service_tier")
    ? told
    : [...told, ...inHeader];
  const isServed = served.some(({ member }) => member === asked?.member);
  const all = asked === null || isServed ? served : [...served, asked];
  return all.toSorted((a, b) => a.member.localeCompare(b.member));
}

/** Providers that sell a tier `flex` of the models on their list. */
const OF_FLEX: ReadonlySet<string> = new Set(["openai", "google-ai-studio", "google-vertex-ai"]);

/**
 * Returns the price of a tariff; null where it is not known. OpenAI lists its tier `priority` by model
 * (https://openai.com/api-priority-processing/). Gemini's costs 1.75 to 2 times the list, so that twice is never too little
 * (https://ai.google.dev/gemini-api/docs/optimization). A place costs at Anthropic what a region costs at its resellers: 1.1
 * times each price (https://platform.claude.com/docs/en/about-claude/pricing#data-residency-pricing).
 */
export function tariffPrice(price: Price, { value }: NamedTariff, provider: string): Price | null {
  const { priority, regional, flex } = price;
  if (value === "flex" && flex !== undefined && OF_FLEX.has(provider))
    return flexPrice(price, flex);
  if (provider === "anthropic" && value === "us")
    return regional === undefined ? null : regionalPrice(price);
  if (provider === "google-ai-studio" && value === "priority") return timesPrice(price, 2);
  // Long requests are not in that tier: they cost what they do without it.
  return provider === "openai" && value === "priority" && priority !== undefined
    ? { ...price, ...priority }
    : null;
}
