import { asObject } from "../chat/usage.ts";
import { tokens } from "./openai/openai-usage.ts";
import type { UsageReader } from "./usage-reader.ts";

/** What Cohere's first API and its embeddings say in `meta`. */
export const cohereUsage: UsageReader = (usage, message) => {
  const meta = asObject(message["meta"]) ?? asObject(asObject(message["response"])?.["meta"]);
  const found = asObject(meta?.["tokens"]) ?? asObject(meta?.["billed_units"]);
  return found === null ? null : tokens(usage, found);
};

/** What Replicate says in `metrics`. */
export const replicateUsage: UsageReader = (usage, message) => {
  const found = asObject(message["metrics"]);
  if (found === null) return null;
  const { input_token_count: input, output_token_count: output } = found;
  return tokens(usage, { input_tokens: input, output_tokens: output });
};
