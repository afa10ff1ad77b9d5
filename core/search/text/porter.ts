/** A rule: when the word ends in `suffix` and the rest has measure above the step's bound, replace it. */
type Rule = readonly [suffix: string, replacement: string];

const STEP_2: readonly Rule[] = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["izer", "ize"],
  ["bli", "ble"],
  ["alli", "al"],
  ["entli", "ent"],
  ["eli", "e"],
  ["ousli", "ous"],
  ["ization", "ize"],
  ["ation", "ate"],
  ["ator", "ate"],
  ["alism", "al"],
  ["iveness", "ive"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["aliti", "al"],
  ["iviti", "ive"],
  ["biliti", "ble"],
  ["logi", "log"],
];
const STEP_3: readonly Rule[] = [
  ["icate", "ic"],
  ["ative", ""],
  ["alize", "al"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ful", ""],
  ["ness", ""],
];
const STEP_4: readonly string[] = [
  "ement",
  "ance",
  "ence",
  "able",
  "ible",
  "ment",
  "ant",
  "ent",
  "ism",
  "ate",
  "iti",
  "ous",
  "ive",
  "ize",
  "ion",
  "al",
  "er",
  "ic",
  "ou",
];

const CONSONANT = "(?:[^aeiouy]|(?<=[aeiou]|^)y)";
const VOWEL = "(?:[aeiou]|(?<![aeiou]|^)y)";
const MEASURE = new RegExp(`${VOWEL}+${CONSONANT}+`, "g");
const HAS_VOWEL = new RegExp(VOWEL);
const SHORT = new RegExp(`${CONSONANT}${VOWEL}(?![wxy])${CONSONANT}$`);
const DOUBLE = /([^aeiouylsz])\1$/;

/** Vowel-consonant sequences of a stem (M. F. Porter, An algorithm for suffix stripping, 1980). */
function measure(base: string): number {
  return base.match(MEASURE)?.length ?? 0;
}

/** Returns the stem of a lower-case English word by Porter's algorithm; other words come back unchanged. */
export function stem(word: string): string {
  if (word.length < 3 || word.length > 40 || !/^[a-z]+$/.test(word)) return word;
  let out = inflection(plural(word));
  if (out.endsWith("y") && HAS_VOWEL.test(out.slice(0, -1))) out = `${out.slice(0, -1)}i`;
  out = replaceSuffix(replaceSuffix(out, STEP_2), STEP_3);
  return tidy(dropSuffix(out));
}

function plural(word: string): string {
  if (word.endsWith("sses") || word.endsWith("ies")) return word.slice(0, -2);
  if (word.endsWith("s") && !word.endsWith("ss")) return word.slice(0, -1);
  return word;
}

function inflection(word: string): string {
  if (word.endsWith("eed")) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const base = word.endsWith("ed")
    ? word.slice(0, -2)
    : word.endsWith("ing")
      ? word.slice(0, -3)
      : null;
  if (base === null || !HAS_VOWEL.test(base)) return word;
  if (/(?:at|bl|iz)$/.test(base)) return `${base}e`;
  if (DOUBLE.test(base)) return base.slice(0, -1);
  return measure(base) === 1 && SHORT.test(base) ? `${base}e` : base;
}

function replaceSuffix(word: string, rules: readonly Rule[]): string {
  for (const [suffix, replacement] of rules) {
    if (!word.endsWith(suffix)) continue;
    const base = word.slice(0, -suffix.length);
    return measure(base) > 0 ? base + replacement : word;
  }
  return word;
}

function dropSuffix(word: string): string {
  for (const suffix of STEP_4) {
    if (!word.endsWith(suffix)) continue;
    const base = word.slice(0, -suffix.length);
    const allowed = suffix !== "ion" || /[st]$/.test(base);
    return allowed && measure(base) > 1 ? base : word;
  }
  return word;
}

function tidy(word: string): string {
  let out = word;
  if (out.endsWith("e")) {
    const base = out.slice(0, -1);
    const size = measure(base);
    if (size > 1 || (size === 1 && !SHORT.test(base))) out = base;
  }
  return out.endsWith("ll") && measure(out.slice(0, -1)) > 1 ? out.slice(0, -1) : out;
}
