import { asObject, type Usage } from "../chat/usage.ts";
import { googleUsage } from "./google/google-usage.ts";
import { openAiUsage } from "./openai/openai-usage.ts";
import { cohereUsage, replicateUsage } from "./other-usage.ts";
import { providers } from "./table.ts";
import type { UsageReader } from "./usage-reader.ts";

/** Adds what one JSON answer, or one event of a stream, says about usage, see {@link UsageReader}. */
export type AddUsage = (usage: Usage, message: unknown) => Usage;

const readers = {
  google: googleUsage,
  openai: openAiUsage,
  cohere: cohereUsage,
  replicate: replicateUsage,
} as const satisfies Readonly<Record<string, UsageReader>>;

/** Reads by every family in turn: of a provider that is not built in, or that serves models of several. */
export const addUsage: AddUsage = reading(Object.values(readers));

const byProvider: ReadonlyMap<string, AddUsage> = new Map(
  Object.entries(providers).flatMap(([slug, { usage }]) =>
    usage === undefined ? [] : [[slug, reading(usage.map((family) => readers[family]))]],
  ),
);

/** Reads the usage of a provider's answers by its family (`usage` of its row), see {@link addUsage} for the others. */
export function usageOf(slug: string): AddUsage {
  return byProvider.get(slug) ?? addUsage;
}

function reading(families: readonly UsageReader[]): AddUsage {
  return (usage, message) => {
    const root = asObject(message);
    if (root === null) return usage;
    for (const read of families) {
      const found = read(usage, root);
      if (found !== null) return found;
    }
    return usage;
  };
}
