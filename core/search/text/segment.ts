import { nfkc } from "../../text/nfkc.ts";

/** Scripts that write words without spaces, and whose words are short: indexed as pairs of characters. */
const PAIRED = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}ー々〆";
/** Scripts that write words without spaces, and whose words need a dictionary. */
const DICTIONARY = "\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}";

const UNSPACED = new RegExp(`[${PAIRED}${DICTIONARY}]`, "u");
const RUNS = new RegExp(
  `([${PAIRED}]+)|([${DICTIONARY}\\p{M}]*[${DICTIONARY}][${DICTIONARY}\\p{M}]*)`,
  "gu",
);

/** Letters that have no decomposition into another and a mark, but are typed as others. */
const PLAIN: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ß: "ss",
    ẞ: "ss",
    æ: "ae",
    Æ: "ae",
    œ: "oe",
    Œ: "oe",
    ø: "o",
    Ø: "o",
    ł: "l",
    Ł: "l",
    đ: "d",
    Đ: "d",
    ð: "d",
    Ð: "d",
    þ: "th",
    Þ: "th",
    ħ: "h",
    Ħ: "h",
    ŧ: "t",
    Ŧ: "t",
    ı: "i",
    İ: "i",
    ς: "σ",
    // Forms of Arabic letters that writers use for one another.
    أ: "ا",
    إ: "ا",
    آ: "ا",
    ٱ: "ا",
    ى: "ي",
    ی: "ي",
    ک: "ك",
    ة: "ه",
  }),
);
/** Vowel signs that most writers leave out (Hebrew, Arabic, Syriac), and the stroke that only makes a word longer. */
const VOWELS =
  "\\u0591-\\u05bd\\u05bf\\u05c1\\u05c2\\u05c4\\u05c5\\u05c7\\u0610-\\u061a\\u0640\\u064b-\\u065f\\u0670\\u06d6-\\u06dc\\u06df-\\u06e8\\u06ea-\\u06ed\\u0711\\u0730-\\u074a";
const FOLDED = new RegExp(`[${[...PLAIN.keys()].join("")}${VOWELS}]`, "gu");
const MARKS = /[\u0300-\u036f]/g;
const ASCII = /^[\0-\u007f]*$/;

/** One Unicode form, with letters that are typed as others written like these. */
export function folded(text: string): string {
  if (ASCII.test(text)) return text;
  return nfkc(text).replace(FOLDED, (letter) => PLAIN.get(letter) ?? "");
}

/**
 * Prepares text for the full-text index: one Unicode form, and spaces between the words of scripts that write none.
 * SQLite's tokenizers find no two-character word inside a Chinese or Japanese sentence (docs/compatibility.md). Latin text
 * passes unchanged: SQLite folds and stems it faster than we could.
 *
 * @param side `"index"` adds the last character of a run, so that a prefix query for one character finds it wherever it
 * stands.
 */
export function segment(text: string, side: "index" | "query"): string {
  const normal = folded(text);
  if (!UNSPACED.test(normal)) return normal;
  return normal.replace(RUNS, (_, paired: string | undefined, spelled: string | undefined) => {
    const found = paired === undefined ? dictionaryWords(spelled ?? "") : pairs(paired, side);
    return ` ${found.join(" ")} `;
  });
}

function pairs(run: string, side: "index" | "query"): string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  const out: string[] = [];
  for (let i = 1; i < characters.length; i++) {
    out.push(`${characters[i - 1] ?? ""}${characters[i] ?? ""}`);
  }
  if (side === "index") out.push(characters.at(-1) ?? "");
  return out;
}

/** Longest piece handed to the segmenter at once: its time is not linear on every engine. */
const PIECE = 2_000;

function dictionaryWords(run: string): string[] {
  const segmenter = new Intl.Segmenter("th", { granularity: "word" });
  const out: string[] = [];
  for (let at = 0; at < run.length; at += PIECE) {
    for (const { segment: word } of segmenter.segment(run.slice(at, at + PIECE))) out.push(word);
  }
  return out;
}

/** One character of a script whose words are indexed as pairs. */
const SINGLE = new RegExp(`^[${PAIRED}]$`, "u");

/** Whether a query word is a single character that only a prefix query can find. */
export function isSingleCharacter(word: string): boolean {
  return SINGLE.test(word);
}

const WORD = /[\p{L}\p{N}\p{Co}][\p{L}\p{N}\p{M}\p{Co}]*/gu;

const BY_SCRIPT = new RegExp(
  `([${PAIRED}][${PAIRED}\\p{M}\\uff9e\\uff9f]*|[${DICTIONARY}][${DICTIONARY}\\p{M}]*)|` +
    `(?:(?![${PAIRED}${DICTIONARY}])[\\p{L}\\p{N}\\p{Co}])(?:(?![${PAIRED}${DICTIONARY}])[\\p{L}\\p{N}\\p{M}\\p{Co}])*`,
  "gu",
);

/** Whether the words of a run of characters are indexed as pairs. */
export function isPaired(run: string): boolean {
  return SINGLE.test([...run].at(0) ?? "");
}

/** Splits a text into words and runs of scripts that have no spaces, with their places (UTF-16 units). */
export function splitByScript(
  text: string,
): { readonly text: string; readonly start: number; readonly unspaced: boolean }[] {
  return [...text.matchAll(BY_SCRIPT)].map(({ 0: piece, 1: run, index }) => ({
    text: piece,
    start: index,
    unspaced: run !== undefined,
  }));
}

/** Returns the words of a text in lower case and without accents, as SQLite folds them; in order, repeated ones kept. */
export function words(text: string, side: "index" | "query"): string[] {
  return withoutAccents(segment(text, side)).match(WORD) ?? [];
}

/** Returns a folded text in lower case and without accents. */
export function withoutAccents(text: string): string {
  const lower = text.toLowerCase();
  if (ASCII.test(lower)) return lower;
  // Lower case brings final sigmas back.
  return lower.normalize("NFD").replace(MARKS, "").normalize("NFC").replaceAll("ς", "σ");
}
