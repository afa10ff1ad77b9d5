/** Signs within a word that a reader sees whole: marks and tags of Markdown, and marks of where it may be broken. */
const CUTS = /[*~<\u00ad\u2060]/u;
const CUT = String.raw`(?:[*~\u00ad\u2060]|</?(?:su[bp]|[bis])>){1,8}`;
// From the beginning of a run of letters alone: from each letter it would take the square of the run's length.
const CUT_WORDS = new RegExp(
  String.raw`(?<![\p{L}\p{N}])[\p{L}\p{N}]+(?:${CUT}[\p{L}\p{N}]+)+`,
  "gu",
);
const ALL_CUTS = new RegExp(CUT, "gu");

/**
 * Returns the words of a text that marks cut, whole, each behind a blank: `CO2` for `CO<sub>2</sub>`, `Wembley` for
 * `**W**embley`. Indexes hold them beside the parts, which may be words, too (the number of a note behind one).
 */
export function cutWords(text: string): string {
  if (!CUTS.test(text)) return "";
  return (text.match(CUT_WORDS) ?? []).map((word) => ` ${word.replaceAll(ALL_CUTS, "")}`).join("");
}
