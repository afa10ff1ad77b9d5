import type { InstanceState } from "../instance/instance-state.ts";
import { round } from "../lexical/trained-model.ts";
import { stem } from "../text/porter.ts";
import { folded, withoutAccents, words } from "../text/segment.ts";
import { besideOthers, tokenizerOf } from "./keyword-leg.ts";
import { queryTerms } from "./keyword-query.ts";

/**
 * How much of a question a text holds, from 0 to 1: the share of its words, each weighted by how rare it is in the instance.
 * Words that no chunk has weigh most, so that a question about something else is told from one about the documents.
 */
export async function coverageOf(
  state: InstanceState,
  query: string,
): Promise<(text: string) => number> {
  const { settings } = state.facts();
  const tokenizer = tokenizerOf(settings);
  const terms = [...new Set(queryTerms(query, tokenizer))];
  // Without a keyword index all words weigh the same.
  const counts = settings.index_method.keyword
    ? await state.termCounts.of(terms, besideOthers(state))
    : new Map<string, number>();
  const rarity = (term: string): number => {
    const found = counts.get(term) ?? 0;
    // As BM25 weighs it, but above 0 for words that most chunks have.
    return Math.log(1 + (state.facts().chunks - found + 0.5) / (found + 0.5));
  };
  const weights = new Map<string, number>();
  const key = tokenizer === "trigram" ? (term: string): string => term : stem;
  for (const term of terms)
    weights.set(key(term), Math.max(rarity(term), weights.get(key(term)) ?? 0));
  const whole = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  const isThere = tokenizer === "trigram" ? within : among(weights);
  return (text) => {
    const found = isThere(text);
    let held = 0;
    for (const [term, weight] of weights) if (found(term)) held += weight;
    return whole > 0 ? round(held / whole) : 0;
  };
}

/** Finds terms as parts of words, as an index of trigrams does. */
function within(text: string): (term: string) => boolean {
  const plain = withoutAccents(folded(text));
  return (term) => plain.includes(term);
}

/** Finds terms by their stems; only words that begin like one of them are stemmed. */
function among(terms: ReadonlyMap<string, number>): (text: string) => (term: string) => boolean {
  const heads = new Set([...terms.keys()].map((term) => term.slice(0, 2)));
  return (text) => {
    const found = new Set<string>();
    for (const word of words(text, "index"))
      if (heads.has(word.slice(0, 2))) found.add(word).add(stem(word));
    return (term) => found.has(term);
  };
}
