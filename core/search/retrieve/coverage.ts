import type { InstanceState } from "../state/instance-state.ts";
import { round } from "../lexical/trained-model.ts";
import type { KeywordPlan } from "../query/keyword-plan.ts";
import { stem } from "../text/porter.ts";
import { folded, withoutAccents } from "../text/segment.ts";
import { termScanner } from "../text/term-scanner.ts";
import { longQuery } from "../query/long-query.ts";

/** A word of a question, and all by which a text may hold it: each a list of keys that must all be there. */
interface Asked {
  readonly alternatives: readonly (readonly string[])[];
  readonly weight: number;
}

/**
 * How much of a question a text holds, from 0 to 1: the share of its words, each weighted by how rare it is in the instance.
 * Words that no chunk has weigh most, so that a question about something else is told from one about the documents.
 */
export async function coverageOf(
  state: InstanceState,
  plan: KeywordPlan,
): Promise<(text: string) => number> {
  const { settings } = state.facts();
  const phrases = plan.required.flatMap((phrase) => phrase.split(" "));
  const choices = [
    ...plan.words,
    ...phrases.map((term) => ({ terms: [term], others: [] as readonly string[] })),
  ];
  const counted = [...new Set(choices.flatMap(({ terms, others }) => [...terms, ...others]))];
  // Without a keyword index all words weigh the same.
  const counts = settings.index_method.keyword
    ? await state.termCounts.of(counted, longQuery(state))
    : new Map<string, number>();
  const rarity = (spellings: readonly string[]): number => {
    const found = Math.max(0, ...spellings.map((one) => counts.get(one) ?? 0));
    // As BM25 weighs it, but above 0 for words that most chunks have.
    return Math.log(1 + (state.facts().chunks - found + 0.5) / (found + 0.5));
  };
  const isTrigram = plan.tokenizer === "trigram";
  const keys = (term: string): string[] => (isTrigram ? [term] : term.split(" ").map(stem));
  const asked = new Map<string, Asked>();
  for (const { terms, others } of choices) {
    for (const term of terms) {
      const name = keys(term).join(" ");
      const weight = Math.max(rarity([term, ...others]), asked.get(name)?.weight ?? 0);
      asked.set(name, { alternatives: [term, ...others].map(keys), weight });
    }
  }
  const all = [...asked.values()];
  const whole = all.reduce((sum, { weight }) => sum + weight, 0);
  const isThere = isTrigram
    ? within
    : among(all.flatMap(({ alternatives }) => alternatives.flat()));
  return (text) => {
    const found = isThere(text);
    let held = 0;
    for (const { alternatives, weight } of all)
      if (alternatives.some((one) => one.every(found))) held += weight;
    return whole > 0 ? round(held / whole) : 0;
  };
}

/** Finds terms as parts of words, as an index of trigrams does. */
function within(text: string): (term: string) => boolean {
  const plain = withoutAccents(folded(text));
  return (term) => plain.includes(term);
}

/** Finds terms as words of a text, or as their stems. */
function among(terms: readonly string[]): (text: string) => (term: string) => boolean {
  const scan = termScanner(terms);
  return (text) => {
    const found = new Set<string>();
    scan(text, (at) => found.add(terms[at] ?? ""));
    return (term) => found.has(term);
  };
}
