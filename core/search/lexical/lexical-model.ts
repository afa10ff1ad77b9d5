import { normalize } from "../vectors/dense.ts";
import { stem } from "../text/porter.ts";
import { words } from "../text/segment.ts";
import { isStopWord } from "../text/stop-words.ts";
import { toBlock } from "../vectors/vector-block.ts";
import { type Pausing, rightSingularVectors, type SparseRow } from "./truncated-svd.ts";

/** The name under which the builtin vectors are reported: they count words, they do not understand them. */
export const LEXICAL_MODEL: string = "builtin/lexical";
/** Dimensions of the latent semantic part. */
export const LATENT_DIMENSIONS: number = 128;
/** Below this many chunks there is too little text to learn from: only the hashed part is used. */
export const TRAIN_FROM: number = 200;
/** Chunks and terms that one training looks at, at most: bounds its memory and time. */
export const MAX_SAMPLE: number = 10_000;
const MAX_TERMS = 16_000;

/** Rows of numbers, one behind the other. */
export interface LatentRows {
  /** A byte a number; four of trainings that former versions stored. */
  readonly values: Int8Array | Float32Array;
  /** The factors by which the numbers of each row are multiplied; null = 1. */
  readonly scales: Float32Array | null;
}

/** The result of a training on an instance's own chunks. */
export interface Trained {
  /** Stems in the order of their rows. */
  readonly terms: readonly string[];
  readonly termIdf: Float32Array;
  /** One row of {@link LATENT_DIMENSIONS} per term. */
  readonly latent: LatentRows;
  /** Rarity of character n-grams, by slot. */
  readonly gramIdf: Float32Array;
}

/** Turns text into vectors by what is known of the instance's words; needs no network. */
export interface LexicalModel {
  readonly dimensions: number;
  /** A unit vector; all zeros for a text without words. */
  embed(text: string): Float32Array;
}

/** Makes the model before any training (hashed character n-grams only) or after one. */
export function lexicalModel(trained: Trained | null): LexicalModel {
  if (trained === null) {
    return {
      dimensions: GRAM_DIMENSIONS,
      embed(text) {
        const out = new Float32Array(GRAM_DIMENSIONS);
        addGrams(bagOf(text), null, out);
        normalize(out);
        return out;
      },
    };
  }
  const index = new Map(trained.terms.map((term, row) => [term, row]));
  return {
    dimensions: LATENT_DIMENSIONS + GRAM_DIMENSIONS,
    embed(text) {
      const bag = bagOf(text);
      const out = new Float32Array(LATENT_DIMENSIONS + GRAM_DIMENSIONS);
      const latent = out.subarray(0, LATENT_DIMENSIONS);
      addLatent(stems(bag), index, trained, latent);
      const grams = out.subarray(LATENT_DIMENSIONS);
      addGrams(bag, trained.gramIdf, grams);
      // Equal shares of the cosine: both halves have length 1, the whole is scaled back to 1.
      normalize(latent);
      normalize(grams);
      normalize(out);
      return out;
    },
  };
}

/** Learns a model from texts; the same texts in the same order give the same model on every runtime. */
export function* trainLexical(texts: readonly string[]): Pausing<Trained> {
  const step = Math.max(1, texts.length / MAX_SAMPLE);
  const bags: Map<string, number>[] = [];
  const gramCounts = new Float32Array(GRAM_SLOTS);
  const seen = new Uint32Array(GRAM_SLOTS);
  for (let at = 0; at < texts.length; at += step) {
    const bag = bagOf(texts[Math.floor(at)] ?? "");
    bags.push(stems(bag));
    for (const word of bag.keys()) {
      eachGram(word, (hash) => {
        const slot = gramSlot(hash);
        if (seen[slot] === bags.length) return;
        seen[slot] = bags.length;
        gramCounts[slot] = (gramCounts[slot] ?? 0) + 1;
      });
    }
    if (bags.length % 8 === 0) yield;
  }
  const { terms, termIdf } = yield* vocabulary(bags);
  const index = new Map(terms.map((term, row) => [term, row]));
  const rows: SparseRow[] = [];
  for (const bag of bags) if (rows.push(weighted(bag, index, termIdf)) % 256 === 0) yield;
  const latent = yield* rightSingularVectors(rows, terms.length, LATENT_DIMENSIONS);
  const gramIdf = gramCounts.map((count) => Math.log((bags.length + 1) / (count + 0.5)));
  const { bytes: values, scales } = toBlock(0, LATENT_DIMENSIONS, latent);
  return { terms, termIdf, latent: { values, scales }, gramIdf };
}

/** Returns the terms of two chunks or more, the most frequent first when there are too many. */
function* vocabulary(bags: readonly ReadonlyMap<string, number>[]): Pausing<{
  terms: string[];
  termIdf: Float32Array;
}> {
  const counts = new Map<string, number>();
  for (const [n, bag] of bags.entries()) {
    for (const term of bag.keys()) counts.set(term, (counts.get(term) ?? 0) + 1);
    if (n % 256 === 255) yield;
  }
  const kept = [...counts]
    .filter(([, count]) => count >= 2)
    .toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, MAX_TERMS);
  return {
    terms: kept.map(([term]) => term),
    termIdf: Float32Array.from(kept, ([, count]) => Math.log((bags.length + 1) / count)),
  };
}

function weighted(
  bag: ReadonlyMap<string, number>,
  index: ReadonlyMap<string, number>,
  idf: Float32Array,
): SparseRow {
  const entries: [number, number][] = [];
  for (const [term, count] of bag) {
    const row = index.get(term);
    if (row !== undefined) entries.push([row, (1 + Math.log(count)) * (idf[row] ?? 0)]);
  }
  const values = Float32Array.from(entries, ([, value]) => value);
  normalize(values);
  return { columns: Uint32Array.from(entries, ([row]) => row), values };
}

function addLatent(
  bag: ReadonlyMap<string, number>,
  index: ReadonlyMap<string, number>,
  { latent, termIdf }: Trained,
  out: Float32Array,
): void {
  const { columns, values } = weighted(bag, index, termIdf);
  for (const [n, row] of columns.entries()) {
    const value = (values[n] ?? 0) * (latent.scales?.[row] ?? 1);
    for (let k = 0; k < LATENT_DIMENSIONS; k++) {
      out[k] = (out[k] ?? 0) + value * (latent.values[row * LATENT_DIMENSIONS + k] ?? 0);
    }
  }
}

/** Returns the words of a text that carry a topic, with their counts. */
function bagOf(text: string): Map<string, number> {
  const bag = new Map<string, number>();
  for (const word of words(text, "query")) {
    if (!isStopWord(word) && word.length <= 64) bag.set(word, (bag.get(word) ?? 0) + 1);
  }
  return bag;
}

function stems(bag: ReadonlyMap<string, number>): Map<string, number> {
  const out = new Map<string, number>();
  for (const [word, count] of bag) {
    const term = stem(word);
    out.set(term, (out.get(term) ?? 0) + count);
  }
  return out;
}

/** Dimensions of the hashed part of a lexical vector. */
const GRAM_DIMENSIONS: number = 512;
/** Slots in which document frequencies of character n-grams are counted. */
const GRAM_SLOTS: number = 32_768;

const SHORTEST = 3;
const LONGEST = 5;

/** Calls back with the 32-bit hash of every character 3- to 5-gram of a word, its edges marked. */
function eachGram(word: string, visit: (hash: number) => void): void {
  const marked = `^${word}$`;
  for (let start = 0; start + SHORTEST <= marked.length; start++) {
    // FNV-1a over UTF-16 units, extended one character at a time.
    let hash = 0x811c9dc5;
    const end = Math.min(marked.length, start + LONGEST);
    for (let i = start; i < end; i++) {
      hash = Math.imul(hash ^ marked.charCodeAt(i), 0x01000193);
      if (i - start + 1 >= SHORTEST) visit(mix(hash));
    }
  }
}

/** FNV's low bits are weak for short inputs: spread them before they are cut into slot, bucket and sign. */
function mix(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x7feb352d);
  h ^= h >>> 15;
  h = Math.imul(h, 0x846ca68b);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Returns the slot of a hash in a table of document frequencies. */
function gramSlot(hash: number): number {
  return hash & (GRAM_SLOTS - 1);
}

/** Adds the hashed n-grams of a bag of words to `out`, each weighted by its rarity when known. */
function addGrams(
  bag: ReadonlyMap<string, number>,
  idf: Float32Array | null,
  out: Float32Array,
): void {
  for (const [word, count] of bag) {
    const weight = 1 + Math.log(count);
    eachGram(word, (hash) => {
      const rarity = idf === null ? 1 : (idf[gramSlot(hash)] ?? 0);
      const bucket = (hash >>> 15) & (GRAM_DIMENSIONS - 1);
      const sign = hash >>> 31 === 0 ? 1 : -1;
      out[bucket] = (out[bucket] ?? 0) + sign * weight * rarity;
    });
  }
}
