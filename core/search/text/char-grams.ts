/** Dimensions of the hashed part of a lexical vector. */
export const GRAM_DIMENSIONS: number = 512;
/** Slots in which document frequencies of character n-grams are counted. */
export const GRAM_SLOTS: number = 32_768;

const SHORTEST = 3;
const LONGEST = 5;

/** Calls back with the 32-bit hash of every character 3- to 5-gram of a word, its edges marked. */
export function eachGram(word: string, visit: (hash: number) => void): void {
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

/** The slot of a hash in a table of document frequencies. */
export function gramSlot(hash: number): number {
  return hash & (GRAM_SLOTS - 1);
}

/** Adds the hashed n-grams of a bag of words to `out`, each weighted by its rarity when known. */
export function addGrams(
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
