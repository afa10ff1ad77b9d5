/** First parts of words that keep their hyphens wherever they stand. */
const FIRST_PARTS: ReadonlySet<string> = new Set(
  "all anti best better co cross double ever ex far first five four full half high hard ill in known left long low mid multi near new non off old on one open over part peer pre post quasi real right second self semi short single six so son ten third three top two under up user well wide world".split(
    " ",
  ),
);
/** Words before which a hyphen stands for the end of a compound, e.g. "Haupt- und Nebensatz". */
const JOINING: ReadonlySet<string> = new Set("and en et oder of or sowie to und y bzw".split(" "));
const WORD = /[\p{L}\p{M}]+(?:-[\p{L}\p{M}]+)*/gu;
const BROKEN =
  /(?<first>[\p{L}\p{M}\p{N}]+)(?<hyphen>[-\u2010\u00AD])\n(?<second>[\p{L}\p{M}\p{N}]+)/gu;

/**
 * Joins words that were divided at the ends of lines. A hyphen that belongs to the word stays: one that the texts also write
 * within a line, between two words that they also write alone, or before a number or a capital.
 */
export function joinHyphens(texts: readonly string[]): string[] {
  if (!texts.some((text) => /[-\u2010\u00AD]\n/u.test(text))) return [...texts];
  const words = new Set<string>();
  for (const text of texts)
    for (const [word] of text.replaceAll(BROKEN, " ").matchAll(WORD)) words.add(word.toLowerCase());
  return texts.map((text) =>
    text.replaceAll(BROKEN, (whole, first: string, hyphen: string, second: string) => {
      if (JOINING.has(second)) return whole.replace("\n", " ");
      return isDivided(first, hyphen, second, words) ? `${first}${second}` : `${first}-${second}`;
    }),
  );
}

function isDivided(
  first: string,
  hyphen: string,
  second: string,
  words: ReadonlySet<string>,
): boolean {
  if (hyphen === "\u00AD") return true;
  if (!/\p{Ll}$/u.test(first) || !/^\p{Ll}/u.test(second)) return false;
  const [before, after] = [first.toLowerCase(), second.toLowerCase()];
  if (words.has(`${before}-${after}`)) return false;
  if (words.has(before + after)) return true;
  return !FIRST_PARTS.has(before) && !(words.has(before) && words.has(after));
}
