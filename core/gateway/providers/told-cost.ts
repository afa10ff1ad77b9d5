import { asObject, type Json } from "../../http/json.ts";
import type { TokenUsage } from "../chat/usage.ts";
import type { CostReport } from "./known/provider.ts";

/** The largest plausible cost of a request in USD; larger figures are ignored. */
const MOST = 1_000_000;
/** https://docs.x.ai/developers/cost-tracking: 10^10 ticks are a US dollar. */
const TICKS = 10_000_000_000;

const reports: Readonly<Record<CostReport, (usage: Json) => number | null>> = {
  // https://openrouter.ai/docs/use-cases/usage-accounting: with a key of one's own the author is paid beside `cost`.
  openrouter({ cost, is_byok: isOwnKey, cost_details: details }) {
    const fee = amount(cost);
    if (fee === null || isOwnKey !== true) return fee;
    const author = amount(asObject(details)?.["upstream_inference_cost"]);
    return author === null ? null : fee + author;
  },
  // https://docs.perplexity.ai/api-reference/chat-completions-post: searches are part of it.
  perplexity({ cost }) {
    const { currency = "USD", total_cost: total } = asObject(cost) ?? {};
    return currency === "USD" ? amount(total) : null;
  },
  xai: ({ cost_in_usd_ticks: ticks }) => amount(typeof ticks === "number" ? ticks / TICKS : null),
};

export function withToldCost(usage: TokenUsage, message: unknown, by: CostReport): TokenUsage {
  const root = asObject(message);
  const found = asObject(root?.["usage"]) ?? asObject(asObject(root?.["response"])?.["usage"]);
  const toldCost = found === null ? null : reports[by](found);
  return toldCost === null ? usage : { ...usage, toldCost };
}

function amount(value: unknown): number | null {
  return typeof value === "number" && value >= 0 && value <= MOST ? value : null;
}
