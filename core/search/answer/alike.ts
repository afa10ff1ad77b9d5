import type { CacheThreshold } from "../search-schema.ts";
import { words } from "../text/segment.ts";

/** The least share of common pieces that two questions must have. */
const SHARES: Readonly<Record<Exclude<CacheThreshold, "super_strict_match">, number>> = {
  close_enough: 0.85,
  flexible_friend: 0.7,
  anything_goes: 0.5,
};

/** Words that turn a question around, whatever else it says. */
const NEGATIONS: ReadonlySet<string> = new Set(
  "no not never none nobody nothing without cannot nor neither except t n't nicht kein keine nie ohne non pas jamais sans".split(
    " ",
  ),
);

/** The question in the form in which equal ones are equal: case, punctuation and blanks do not count. */
export function normalQuestion(text: string): string {
  return words(text, "query").join(" ");
}

/**
 * Whether two questions are alike enough for one answer. Numbers and negations have to be the same ones, in the same order,
 * whatever the threshold.
 */
export function areAlike(a: string, b: string, threshold: CacheThreshold): boolean {
  const [x, y] = [normalQuestion(a), normalQuestion(b)];
  if (x === "" || y === "") return a.trim() === b.trim();
  if (x === y) return true;
  if (threshold === "super_strict_match" || fixedWords(x) !== fixedWords(y)) return false;
  return commonShare(pieces(x), pieces(y)) >= SHARES[threshold];
}

function fixedWords(text: string): string {
  return text
    .split(" ")
    .filter((word) => /\p{N}/u.test(word) || NEGATIONS.has(word))
    .join(" ");
}

/** Runs of four characters: scripts without spaces have them too, and the order of words counts. */
function pieces(text: string): Set<string> {
  const out = new Set<string>();
  const padded = ` ${text} `;
  for (let at = 0; at + 4 <= padded.length; at++) out.add(padded.slice(at, at + 4));
  return out.size === 0 ? new Set([padded]) : out;
}

function commonShare(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0;
  for (const piece of a) if (b.has(piece)) common++;
  return common / (a.size + b.size - common);
}
