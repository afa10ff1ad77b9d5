import { invalidRequest } from "../../http/api-error.ts";
import { completionsOf } from "./completions.ts";
import { otherForms } from "./other-forms.ts";
import { typoSpellings } from "./typo-spellings.ts";
import type { TypoTolerance } from "../terms/typo-tolerance.ts";
import {
  type KeywordTokenizer,
  MAX_TERMS,
  phraseOf,
  queryTerms,
  quoted,
} from "../terms/query-terms.ts";
import { plainParts, readOperators } from "../terms/read-operators.ts";
import { words as wordsIn } from "../text/segment.ts";
import { synonymIndex } from "../terms/synonyms.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { tokenizerOf } from "../keyword/keyword-index.ts";

/** A word that a query asks for, or some that have synonyms together. */
export interface WordChoice {
  readonly terms: readonly string[];
  /** Words and phrases that count as it: synonyms, and likely spellings of a word that the instance does not know. */
  readonly others: readonly string[];
  /** Those of `others` that too many chunks have to be looked for unless all words of the query are. */
  readonly frequent?: readonly string[];
}

/** The query of the keyword search. */
export interface KeywordPlan {
  /** The query without its operators, as vectors take it. */
  readonly text: string;
  readonly tokenizer: KeywordTokenizer;
  /** In order; repeated ones are kept, they weigh more. */
  readonly words: readonly WordChoice[];
  /** Phrases that each hit must hold. */
  readonly required: readonly string[];
  /** Words and phrases that no hit may hold. */
  readonly excluded: readonly string[];
}

export interface QueryReading {
  readonly query: string;
  readonly operators?: boolean | undefined;
  readonly typoTolerance?: TypoTolerance | undefined;
  /** Whether its last word may be the beginning of one. */
  readonly prefix?: boolean | undefined;
}

/** Reads a query as its instance's settings and the request say. Throws 400 for operators without a keyword index. */
export async function keywordPlan(state: InstanceState, asked: QueryReading): Promise<KeywordPlan> {
  const { settings } = state.facts();
  const tokenizer = tokenizerOf(settings);
  const reads = asked.operators ?? settings.retrieval_options?.query_operators ?? false;
  const parts = reads ? readOperators(asked.query) : plainParts(asked.query);
  const phrases = (texts: readonly string[]): string[] =>
    texts.map((text) => phraseOf(text, tokenizer)).filter((one) => one !== "");
  const required = phrases(parts.required);
  const excluded = phrases(parts.excluded);
  if (!settings.index_method.keyword && required.length + excluded.length > 0) {
    throw invalidRequest(
      "query_operators: the instance has no keyword index, which phrases and exclusions need",
    );
  }
  const asWritten = withSynonyms(queryTerms(parts.words, tokenizer), state, tokenizer);
  const known = await withForms(state, asWritten, { tokenizer, query: parts.words });
  const begun = asked.prefix === true ? begunWord(parts.words, known, state) : null;
  const choices = begun === null ? known : await withCompletions(state, known, begun);
  const tolerance = asked.typoTolerance ?? settings.typo_tolerance ?? null;
  const spelt =
    tolerance === null || !settings.index_method.keyword
      ? choices
      : await withSpellings(state, choices, tolerance, begun);
  const text = [parts.words, ...parts.required].join(" ");
  return { text, tokenizer, words: bounded(spelt), required, excluded };
}

function withSynonyms(
  terms: readonly string[],
  state: InstanceState,
  tokenizer: KeywordTokenizer,
): WordChoice[] {
  const index = synonymIndex(state.facts().settings.synonyms, tokenizer);
  const out: WordChoice[] = [];
  for (let place = 0; place < terms.length;) {
    const found = index.at(terms, place);
    const length = found?.length ?? 1;
    out.push({ terms: terms.slice(place, place + length), others: found?.others ?? [] });
    place += length;
  }
  return out;
}

/** Adds the other forms of words in the languages of the instance. */
async function withForms(
  state: InstanceState,
  choices: readonly WordChoice[],
  { tokenizer, query }: { readonly tokenizer: KeywordTokenizer; readonly query: string },
): Promise<readonly WordChoice[]> {
  // Runs of three characters are found within other forms as it is.
  if (!state.facts().settings.index_method.keyword || tokenizer === "trigram") return choices;
  const single = choices.flatMap(({ terms }) => (terms.length === 1 ? terms : []));
  const forms = await otherForms(state, single, query);
  if (forms.size === 0) return choices;
  return choices.map(({ terms, others }) => {
    const own = terms.length === 1 ? (forms.get(terms[0] ?? "") ?? []) : [];
    return { terms, others: [...new Set([...others, ...own])] };
  });
}

/** Returns the last word of a query, which may be unfinished; null where the query ends with punctuation, or with a word that is not looked up. */
function begunWord(
  text: string,
  choices: readonly WordChoice[],
  state: InstanceState,
): string | null {
  const { settings } = state.facts();
  const [word, ...more] = choices.at(-1)?.terms ?? [];
  if (word === undefined || more.length > 0 || !/[\p{L}\p{N}\p{M}]$/u.test(text)) return null;
  // Runs of three characters are found within words as it is.
  if (!settings.index_method.keyword || tokenizerOf(settings) === "trigram") return null;
  return word === wordsIn(text, "query").at(-1) ? word : null;
}

async function withCompletions(
  state: InstanceState,
  choices: readonly WordChoice[],
  begun: string,
): Promise<WordChoice[]> {
  const { completions, frequent } = await completionsOf(state, begun);
  const { terms, others } = choices.at(-1) ?? { terms: [begun], others: [] };
  return [...choices.slice(0, -1), { terms, others: [...others, ...completions], frequent }];
}

async function withSpellings(
  state: InstanceState,
  choices: readonly WordChoice[],
  tolerance: TypoTolerance,
  begun: string | null,
): Promise<WordChoice[]> {
  const single = choices.flatMap(({ terms, others }) =>
    others.length === 0 && terms.length === 1 ? terms : [],
  );
  const spellings = await typoSpellings(state, single, tolerance, begun);
  return choices.map((choice) =>
    choice.others.length > 0 || choice.terms.length > 1
      ? choice
      : { ...choice, others: spellings.get(choice.terms[0] ?? "") ?? [] },
  );
}

/** All that a query looks for costs time: what goes beyond is left out, synonyms before words. */
function bounded(choices: readonly WordChoice[]): WordChoice[] {
  let left = MAX_TERMS - choices.length;
  return choices.map((choice) => {
    const taken = choice.others.slice(0, Math.max(0, left));
    left -= taken.length;
    return { ...choice, others: taken };
  });
}

/**
 * Writes a plan as an FTS5 query; null when it looks for nothing. Every term is quoted and holds only letters, digits and
 * marks, so no user text can be read as query syntax.
 */
export function matchExpression(
  { words, required, excluded }: Omit<KeywordPlan, "text" | "tokenizer">,
  mode: "and" | "or",
): string | null {
  // Hits of a single word hold all words, too.
  const within = words.length === 1 ? "and" : mode;
  const terms = words.map((choice) => choiceExpression(choice, within));
  // FTS5 counts a repeated term twice when ranking, which OR wants; for AND once is enough.
  const used = mode === "and" ? [...new Set(terms)] : terms;
  const phrases = required.map(quoted);
  // The phrases stand among the words again, which then only add to the rank.
  const some =
    mode === "or" && phrases.length > 0 && used.length > 0 ? [...phrases, ...used] : used;
  const body = some.join(mode === "and" ? " AND " : " OR ");
  const all = [...phrases, ...(body === "" ? [] : [phrases.length > 0 ? `(${body})` : body])];
  if (all.length === 0) return null;
  const wanted = all.join(" AND ");
  return excluded.length === 0 ? wanted : `(${wanted}) NOT (${excluded.map(quoted).join(" OR ")})`;
}

function choiceExpression(
  { terms, others, frequent = [] }: WordChoice,
  mode: "and" | "or",
): string {
  const own = terms.map(quoted);
  const also = mode === "and" ? others : others.filter((one) => !frequent.includes(one));
  if (also.length === 0 && own.length === 1) return own.join("");
  const together = mode === "and" && own.length > 1 ? [`(${own.join(" AND ")})`] : own;
  return `(${[...together, ...also.map(quoted)].join(" OR ")})`;
}
