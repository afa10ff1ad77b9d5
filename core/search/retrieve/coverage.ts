import type { InstanceState } from "../state/instance-state.ts";
import { round } from "../lexical/trained-model.ts";
import type { KeywordPlan } from "../query/keyword-plan.ts";
import { stem } from "../text/porter.ts";
import { folded, withoutAccents } from "../text/segment.ts";
import { termScanner } from "../text/term-scanner.ts";
import { longQuery } from "../query/long-query.ts";

/** A word of a question, and all by which a text may hold it: each a list of keys that must all be there. */
export type AskedWord = {
  readonly alternatives: readonly (readonly string[])[];
  /** How rare it is in the instance. */
  readonly weight: number;
};

/** The words of a question, as its instance looks for them. */
export type AskedWords = {
  readonly words: readonly AskedWord[];
  /** Whether they are found as parts of words, as an index of trigrams does. */
  readonly withinWords: boolean;
};

/** Returns the words of a question. Those that no chunk has weigh most, so that a question about something else shows. */
export async function askedWords(state: InstanceState, plan: KeywordPlan): Promise<AskedWords> {
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
  const withinWords = plan.tokenizer === "trigram";
  const keys = (term: string): string[] => (withinWords ? [term] : term.split(" ").map(stem));
  const asked = new Map<string, AskedWord>();
  for (const { terms, others } of choices) {
    for (const term of terms) {
      const name = keys(term).join(" ");
      const weight = Math.max(rarity([term, ...others]), asked.get(name)?.weight ?? 0);
      asked.set(name, { alternatives: [term, ...others].map(keys), weight });
    }
  }
  return { words: [...asked.values()], withinWords };
}

/** Joins the words of one question as several instances look for them: a word is as rare as where it is most frequent. */
export function joinedWords(all: readonly AskedWords[]): AskedWords {
  const words = new Map<string, AskedWord>();
  for (const one of all.flatMap((each) => each.words)) {
    const name = one.alternatives[0]?.join(" ") ?? "";
    const before = words.get(name);
    words.set(name, {
      alternatives: [...(before?.alternatives ?? []), ...one.alternatives],
      weight: Math.min(before?.weight ?? one.weight, one.weight),
    });
  }
  return { words: [...words.values()], withinWords: all.every((each) => each.withinWords) };
}

/** Returns a function that finds the words of a question that a text holds. */
export function wordFinder({
  words,
  withinWords,
}: AskedWords): (text: string) => ReadonlySet<AskedWord> {
  const keys = words.flatMap(({ alternatives }) => alternatives.flat());
  const isThere = withinWords ? within : among(keys);
  return (text) => {
    const found = isThere(text);
    return new Set(words.filter((word) => word.alternatives.some((one) => one.every(found))));
  };
}

/** Returns how much of a question some of its words are, from 0 to 1: rare words are more of it. */
export function coverage({ words }: AskedWords, found: ReadonlySet<AskedWord>): number {
  const whole = words.reduce((sum, { weight }) => sum + weight, 0);
  const held = words.reduce((sum, word) => sum + (found.has(word) ? word.weight : 0), 0);
  return whole > 0 ? round(held / whole) : 0;
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
