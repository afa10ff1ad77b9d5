/** Characters of the longest word that candidates are compared with: a stranger's may be the whole body. */
const LONGEST = 64;

/** The candidate closest to a word, if one is close enough to be offered: a misspelling, the same meaning, or few letters away. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const sure = misspelling(word, candidates);
  if (sure !== undefined || word.length > LONGEST) return sure;
  const plain = withoutNotation(word);
  const meant = meanings.filter((words) => words.includes(plain)).flat();
  const synonym = candidates.find((one) => meant.includes(withoutNotation(one)));
  if (synonym !== undefined) return synonym;
  return closest(word, candidates, Math.max(1, Math.floor(word.length / 3)));
}

/** Names that people use for the same, without their notation. */
const meanings: readonly (readonly string[])[] = [
  ["aisearchmodel", "chatmodel", "model"],
  ["expiresat", "expireson", "expires", "expiry", "expiration"],
  ["html", "content", "markup"],
  ["limits", "budget", "budgets", "maxbudget", "quota", "rate", "ratelimit", "rpm"],
  ["matchthreshold", "minscore", "scorethreshold", "threshold"],
  ["maxnumresults", "limit", "topk"],
  ["name", "label", "title"],
  ["providerslug", "provider"],
  ["query", "prompt", "q", "question"],
  ["ratelimitinglimit", "rate", "ratelimit", "ratepersecond", "rpm"],
  ["secret", "apikey", "key", "signingsecret", "token"],
  ["types", "events", "eventtypes", "topics"],
  ["url", "address", "baseurl", "callbackurl", "endpoint", "uri"],
];

/** A sentence that offers {@link nearest}, or nothing. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const guess = nearest(word, candidates);
  return guess === undefined ? "" : `: did you mean "${guess}"?`;
}

/** A sentence that offers {@link nearest}, or all candidates. */
export function choiceHint(word: string, candidates: readonly string[]): string {
  return didYouMean(word, candidates) || `: use one of ${candidates.join(", ")}`;
}

/** Sentences about the members of an options object that it cannot have. */
export function unknownMembers(options: object, known: readonly string[]): string[] {
  return Object.keys(options)
    .filter((name) => !known.includes(name))
    .map((name) => `unknown ${JSON.stringify(name.slice(0, 64))}${didYouMean(name, known)}`);
}

/**
 * The candidate of which a word is surely a misspelling. That is the same word in another case or notation (`cacheTtl`,
 * `cache-ttl`), or one that is one typing error away, two in words of eight letters and more.
 */
export function misspelling(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > LONGEST) return undefined;
  const plain = withoutNotation(word);
  const same = candidates.find((candidate) => withoutNotation(candidate) === plain);
  if (same !== undefined || word.length < 3) return same;
  return closest(word, candidates, word.length < 8 ? 1 : 2);
}

function withoutNotation(word: string): string {
  return word.replaceAll(/[_.-]/g, "").toLowerCase();
}

function closest(word: string, candidates: readonly string[], limit: number): string | undefined {
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of candidates) {
    // The distance is at least the difference of the lengths, and a stranger's word may be long.
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), bestDistance - 1);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/**
 * Edits between two words; two neighbours that changed places are one edit (optimal string alignment). Beyond `limit` the
 * result is any larger number: words of a stranger take time that grows with their length, not with its square.
 */
export function editDistance(a: string, b: string, limit: number = Infinity): number {
  if (Math.abs(a.length - b.length) > limit) return Infinity;
  const at = (cells: readonly number[], j: number): number => cells[j] ?? Infinity;
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let least = i;
    // Cells further from the diagonal than the limit are beyond it.
    const last = Math.min(b.length, i + limit);
    for (let j = Math.max(1, i - limit); j <= last; j++) {
      const substitution = at(previous, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let edits = Math.min(substitution, at(previous, j) + 1, at(row, j - 1) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, at(before, j - 2) + 1);
      row[j] = edits;
      least = Math.min(least, edits);
    }
    if (least > limit) return Infinity;
    [before, previous] = [previous, row];
  }
  return at(previous, b.length);
}
