import { asObject } from "../../http/json.ts";
import type { TokenUsage } from "../chat/usage.ts";
import { googleUsage } from "./google/google-usage.ts";
import { openAiUsage, tokens } from "./openai/openai-usage.ts";
import type { CostReport } from "./known/provider.ts";
import { providers } from "./known/table.ts";
import { withServed } from "./served-tariff.ts";
import { withToldCost } from "./told-cost.ts";
import type { UsageReader } from "../chat/usage-reader.ts";

/** Reads `meta` of Cohere's first API and its embeddings. */
const cohereUsage: UsageReader = (usage, message) => {
  const meta = asObject(message["meta"]) ?? asObject(asObject(message["response"])?.["meta"]);
  const found = asObject(meta?.["tokens"]) ?? asObject(meta?.["billed_units"]);
  return found === null ? null : tokens(usage, found);
};

/** Reads Replicate's `metrics`. */
const replicateUsage: UsageReader = (usage, message) => {
  const found = asObject(message["metrics"]);
  if (found === null) return null;
  const { input_token_count: input, output_token_count: output } = found;
  return tokens(usage, { input_tokens: input, output_tokens: output });
};

/** Adds what one JSON answer, or one event of a stream, says about usage, see {@link UsageReader}. */
export type AddUsage = (usage: TokenUsage, message: unknown) => TokenUsage;

const readers = {
  google: googleUsage,
  openai: openAiUsage,
  cohere: cohereUsage,
  replicate: replicateUsage,
} as const satisfies Readonly<Record<string, UsageReader>>;

/** Reads by every family in turn: of a provider that is not built in, or that serves models of several. */
export const addUsage: AddUsage = reading(Object.values(readers));

const byProvider: ReadonlyMap<string, AddUsage> = new Map(
  Object.entries(providers).flatMap(([slug, { usage, tellsCost }]) => {
    if (usage === undefined) return [];
    const read = reading(usage.map((family) => readers[family]));
    return [[slug, tellsCost === undefined ? read : readingCosts(read, tellsCost)]];
  }),
);

/** Reads the usage of a provider's answers by its family (`usage` of its row), see {@link addUsage} for the others. */
export function usageOf(slug: string): AddUsage {
  return byProvider.get(slug) ?? addUsage;
}

function readingCosts(read: AddUsage, by: CostReport): AddUsage {
  return (usage, message) => {
    const { toldCost } = usage;
    const found = withToldCost(read(usage, message), message, by);
    // A later report of a stream may leave it out.
    return toldCost === undefined || found.toldCost !== undefined ? found : { ...found, toldCost };
  };
}

function reading(families: readonly UsageReader[]): AddUsage {
  return (usage, message) => {
    const root = asObject(message);
    if (root === null) return usage;
    for (const read of families) {
      const found = read(usage, root);
      if (found !== null) return withServed(found, root, usage);
    }
    return usage;
  };
}
