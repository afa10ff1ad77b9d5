import { asObject, jsonText } from "../../http/json.ts";
import type { Price } from "./price.ts";
import { regionalPrice } from "./regional.ts";

/** A tariff that a request asks for in place of the list's. */
export interface AskedTariff {
  /** The member of its body that asks. */
  readonly member: "service_tier" | "inference_geo";
  readonly value: string;
}

const MENTIONED = /"(?:service_tier|inference_geo)"|\\u00/;

/** Tiers that cost the list price at the most. */
const LIST_PRICE: ReadonlySet<string> = new Set(
  "auto default standard standard_only flex on_demand batch".split(" "),
);

/** A body that cannot be read may ask for any. */
const UNREADABLE: AskedTariff = { member: "service_tier", value: "" };

/** Returns the dearer tariff that a body asks for; null for the list price. `value` is what the body says. */
export function askedTariff(json: string | null, value: () => unknown): AskedTariff | null {
  if (json === null || !MENTIONED.test(json)) return null;
  const body = asObject(value());
  if (body === null) return UNREADABLE;
  const { service_tier: tier, inference_geo: place } = body;
  if (tier != null && !LIST_PRICE.has(jsonText(tier)))
    return { member: "service_tier", value: jsonText(tier) };
  return place != null && place !== "global"
    ? { member: "inference_geo", value: jsonText(place) }
    : null;
}

/**
 * Returns the price of a tariff; null where it is not known. OpenAI lists its tier `priority` by model
 * (https://openai.com/api-priority-processing/). A place costs at Anthropic what a region costs at its resellers: 1.1
 * times each price (https://platform.claude.com/docs/en/about-claude/pricing#data-residency-pricing).
 */
export function tariffPrice(price: Price, { value }: AskedTariff, provider: string): Price | null {
  const { priority, regional } = price;
  if (provider === "anthropic" && value === "us")
    return regional === undefined ? null : regionalPrice(price);
  // Long requests are not in that tier: they cost what they do without it.
  return provider === "openai" && value === "priority" && priority !== undefined
    ? { ...price, ...priority }
    : null;
}
