import { roleOf } from "./turning-words.ts";

/** A word that says what is asked. */
interface Word {
  readonly text: string;
  /** Whether a question that lacks it is another one: names, numbers, quotations, code, "not" and the like. */
  readonly fixed: boolean;
}

/** What a question is made of, as far as can be told without understanding it. */
export interface Wording {
  readonly words: readonly Word[];
  /** The texts of the words. */
  readonly vocabulary: ReadonlySet<string>;
  /** What stands from the first colon, line break, bracket or piece of code on: the material of the question. */
  readonly material: string;
  /** Number of words, those of the material included. */
  readonly weight: number;
}

/** Words that a question may have beyond the other one's, at most. */
const MOST_EXTRA = 3;
/** Letters that two words end in alike when the beginning makes the difference: im-port, ex-port. */
const SHARED_ENDING = 4;

/** Marks over one letter of text that somebody wrote: thousands would be put in order for long. */
const PILED_MARKS = /\p{M}{5}/u;
/** Latin script and its punctuation: of other scripts no words are known here, and invisible characters hide some. */
const READABLE =
  /^[\t\n\r\x20-\x7e\xa0-\xac\xae-\u024f\u1e00-\u1eff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf]*$/u;
const MATERIAL = /[:\n\r([{<|=`\\]/u;

/** The wording of a text; null when it cannot be told: another script, or no words in front of its material. */
export function wordingOf(text: string): Wording | null {
  if (PILED_MARKS.test(text)) return null;
  const normal = text.normalize("NFC").trim();
  if (!READABLE.test(normal)) return null;
  const at = normal.search(MATERIAL);
  const material = at === -1 ? "" : normal.slice(at);
  const words = wordsOf(at === -1 ? normal : normal.slice(0, at));
  if (words.length === 0) return null;
  const vocabulary = new Set(words.map((word) => word.text));
  return {
    words,
    vocabulary,
    material,
    weight: words.length + (material.match(/\S+/gu)?.length ?? 0),
  };
}

function wordsOf(head: string): Word[] {
  const straight = head
    .replace(/[“”„«»]/gu, '"')
    .replace(/[‘’]/gu, "'")
    .replace(/(^|\s)'([^'"]+)'(?=[\s.,?!;]|$)/gu, '$1"$2"');
  const pieces = straight.match(/"[^"]*"|[^\s"]+|"/gu) ?? [];
  const words: Word[] = [];
  let begins = true;
  let person = "";
  for (let at = 0; at < pieces.length; at++) {
    const [piece = "", next] = pieces.slice(at, at + 2);
    if (isAddressing(piece, next)) at++;
    else {
      const word = wordOf(piece, begins, next);
      // "my" and "the" change places easily where it is clear whose.
      if (word !== null && word.text !== person) words.push(word);
      if (word?.text.startsWith("person ") === true) person = word.text;
    }
    begins = /[.!?…]$/u.test(piece);
  }
  return words;
}

/** "could you", "tell me": how the model is spoken to, not what is asked. */
function isAddressing(piece: string, next: string | undefined): boolean {
  const [first, second] = [piece.toLowerCase(), next?.toLowerCase()];
  if (second === "you") return /^(?:can|could)$/u.test(first);
  return second === "me" && /^(?:tell|show|give)$/u.test(first);
}

function wordOf(piece: string, begins: boolean, next: string | undefined): Word | null {
  const bare = withoutMarks(piece, next);
  if (bare === "") return null;
  const isTitle = /^\p{Lu}\p{Ll}*(?:['-]\p{Ll}+)*$/u.test(bare);
  const isPlain = /^\p{Ll}+(?:['-]\p{Ll}+)*$/u.test(bare);
  const lower = bare.toLowerCase();
  if (isPlain || /^I(?:'|$)/u.test(bare)) return roleOf(lower);
  if (!isTitle) return { text: bare, fixed: true };
  // It may be a name there too.
  const role = begins ? roleOf(lower) : { text: lower.replace(/'s$/u, "") };
  return role === null ? null : { ...role, fixed: true };
}

/** A piece without the marks of a sentence. Where none ends they are something else: "5!", "?.", "save! of Rails". */
function withoutMarks(piece: string, next: string | undefined): string {
  const ends = next === undefined || /^\p{Lu}/u.test(next);
  if (ends && /^[.!?…]{1,3}$/u.test(piece)) return "";
  const bare = piece.replace(/^[¿¡]/u, "").replace(/(?<=[\p{L}\p{N}%€$"])[,;]$/u, "");
  // At most a few: of a run of them without end each would be tried as the first.
  return ends ? bare.replace(/(?<=[\p{L}\p{N}%€$"])[.?…]{1,3}$|(?<=\p{L})[.!?…]{1,3}$/u, "") : bare;
}

/**
 * Whether nothing in the wording of two texts speaks against their asking the same: the material and every fixed word
 * are equal, words of both stand in the same order, and few others differ. Vectors do not tell: a question and its
 * opposite are often closer to each other than two paraphrases (zilliztech/GPTCache#694, vllm-project/semantic-router#2691).
 */
export function mayAskTheSame(a: Wording, b: Wording): boolean {
  if (a.material !== b.material) return false;
  const length = Math.min(a.words.length, b.words.length);
  const most = Math.min(MOST_EXTRA, Math.max(1, Math.floor(length / 2)));
  const extraA: Word[] = [];
  const extraB: Word[] = [];
  let common = 0;
  for (let i = 0, j = 0; ; i++, j++, common++) {
    i = past(a, i, b, extraA);
    j = past(b, j, a, extraB);
    if (extraA.length > most || extraB.length > most) return false;
    if (a.words[i]?.text !== b.words[j]?.text) return false;
    if (a.words[i] === undefined) break;
  }
  if (common === 0 || [...extraA, ...extraB].some(({ fixed }) => fixed)) return false;
  return !extraA.some((x) => extraB.some((y) => areOpposed(x.text, y.text)));
}

/** The next word from `at` on that the other text has too; those before it are `extra`. */
function past({ words }: Wording, at: number, { vocabulary }: Wording, extra: Word[]): number {
  let next = at;
  for (let word = words[next]; word !== undefined; word = words[++next]) {
    if (vocabulary.has(word.text)) break;
    extra.push(word);
  }
  return next;
}

/** Whether only the beginnings of two words differ, as in "ascending" and "descending". */
function areOpposed(a: string, b: string): boolean {
  const ending = (word: string): string => word.slice(-SHARED_ENDING);
  return a.length >= SHARED_ENDING && ending(a) === ending(b);
}
