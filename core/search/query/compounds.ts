import type { InstanceState } from "../state/instance-state.ts";
import { stem } from "../text/porter.ts";
import type { WordStemmer } from "../text/stemmers.ts";
import { asSet, isOneOf } from "../../sql/sql-text.ts";
import { withinBudget } from "./completions.ts";
import { longQuery } from "./long-query.ts";

/** Languages that write compounds as one word. */
export const COMPOUNDING: readonly string[] = [
  "danish",
  "dutch",
  "finnish",
  "german",
  "norwegian",
  "swedish",
];

/** Letters of a word that compounds may end with, and of what stands before it. */
const LEAST_WORD = 5;
const LEAST_HEAD = 3;
/** Letters of an ending behind the root of a word. */
const LONGEST_ENDING = 7;
/** Words that hold a root and are looked at, chunks that the compounds have together, and compounds of one word. */
const MAX_LOOKED_AT = 2_000;
/** Words that are looked at before others may go on: a few milliseconds. */
const SLICE = 200;
const MAX_CHUNKS = 20_000;
const MAX_COMPOUNDS = 32;

/** Endings that English stemming has taken off in the index. */
const TAKEN_OFF: readonly string[] = ["", "s", "e", "er", "ion", "ent", "ment", "al", "ant"];
/** Prefixes that change the meaning of a word, in the languages above: a "Gegenstand" is no "Stand". */
const PREFIXES: ReadonlySet<string> = new Set(
  (
    "auf aus bei durch ein ent fort gegen her hin hinter los miss mit nach uber unter ver vor weg wider zer zuruck zusammen " +
    "aan door mis onder ont over toe uit " +
    "fra for fore fram frem inn med ned opp til und upp"
  ).split(" "),
);

/** Finds compounds of the instance that end with a form of a word, the most frequent first, as they are asked for. */
export async function compoundsOf(
  state: InstanceState,
  word: string,
  stemmers: readonly WordStemmer[],
): Promise<readonly string[]> {
  if (word.length < LEAST_WORD || stemmers.length === 0) return [];
  return state.longWords.kept(word, () => find(state, word, stemmers));
}

async function find(
  state: InstanceState,
  word: string,
  stemmers: readonly WordStemmer[],
): Promise<readonly string[]> {
  const known = await state.longWords.all(longQuery(state));
  const found = new Set<string>();
  for (const stemmed of stemmers) {
    const steps = endingWith(known, word, stemmed);
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done !== true) await state.context.system.sleep(0);
      else {
        for (const term of step.value) found.add(term);
        break;
      }
    }
  }
  const rows = await state.keywords.all(
    `SELECT term, doc FROM ${await state.keywords.words()} WHERE ${isOneOf("term", "TEXT")}`,
    [asSet([...found])],
    longQuery(state),
  );
  const counted = rows.map((row) => [String(row["term"]), Number(row["doc"])] as const);
  const sorted = counted.toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return withinBudget(sorted, MAX_CHUNKS, MAX_COMPOUNDS);
}

/** Returns the lines that are compounds ending with a form of a word, found in steps. */
export function* endingWith(
  lines: string,
  word: string,
  stemmed: WordStemmer,
): Generator<void, string[], void> {
  const root = stemmed(word);
  const needle = sharedBeginning(root, stemWithin(word));
  const out: string[] = [];
  if (needle.length < LEAST_WORD - 1) return out;
  let at = lines.indexOf(needle);
  for (let n = 0; at >= 0 && n < MAX_LOOKED_AT; n++) {
    if (n % SLICE === SLICE - 1) yield;
    const end = lines.indexOf("\n", at);
    const term = lines.slice(lines.lastIndexOf("\n", at) + 1, end);
    // The last occurrence is the end of a compound.
    const place = term.lastIndexOf(needle);
    if (isCompound(term, place, root, stemmed)) out.push(term);
    at = lines.indexOf(needle, end);
  }
  return out;
}

function isCompound(term: string, place: number, root: string, stemmed: WordStemmer): boolean {
  if (place < LEAST_HEAD || term.length - place > root.length + LONGEST_ENDING) return false;
  if (PREFIXES.has(term.slice(0, place))) return false;
  return TAKEN_OFF.some((ending) => {
    const whole = term + ending;
    return stemmed(whole.slice(place)) === root && stem(whole) === term;
  });
}

/** Any word before another one: English stemming takes more off the end of a long word. */
const HEAD = "hauptstadt";

function stemWithin(word: string): string {
  return stem(HEAD + word).slice(HEAD.length);
}

function sharedBeginning(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return one.slice(0, length);
}
