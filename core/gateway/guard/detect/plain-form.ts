import { nfkc } from "../../../text/nfkc.ts";
import { SLICE, type Slices } from "../text/slices.ts";

/** Spaces and dashes that typesetting, spreadsheets and models use in the place of the plain ones. */
const spaces = /[\t\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000]/g;
const dashes = /[\u2010-\u2015\u2212\uFE58\uFE63\uFF0D]/g;
/** Returns a text with plain spaces and dashes: character for character, so that places stay what they are. */
export function evenForm(text: string): string {
  return isPlain.test(text) ? text : text.replaceAll(dashes, "-").replaceAll(spaces, " ");
}

/** Line ends of any system. */
const breaks = /\r\n?|[\v\f\u0085\u2028\u2029]/g;
/**
 * Invisible characters: zero-width and other format characters, variation selectors, tags, control characters, and marks
 * that are drawn over the character before (a composed `é` is one character after NFKC).
 */
const invisible = /(?!\n)[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Mn}\p{Me}]/gu;

/**
 * Escapes of JSON (RFC 8259, section 7), as often escaped as they may be: the arguments of a tool's call are JSON in a
 * string in JSON. At most so many backslashes at a time, so that a text is read once, whatever is in it.
 */
const codes = /(?<!\\)\\{1,16}u([0-9A-Fa-f]{4})/g;
const slashes = /(?<!\\)\\{1,16}\//g;
const lineEnds = /(?<!\\)\\{1,16}[nr]/g;
const others = /\\{1,16}[tbf]?/g;

/** Whether a text is more than printable ASCII without escapes. */
const isPlain = /^[\x20-\x5b\x5d-\x7e]*$/;

/**
 * Returns a text as a reader sees it. Full-width letters and digits, ligatures and the like become the plain ones
 * (Unicode's NFKC), spaces and dashes too. Nothing invisible is left, and every line end is a line feed without blanks
 * around it.
 */
export function visibleForm(text: string): string {
  if (isPlain.test(text)) return text;
  const normal = /^\p{ASCII}*$/u.test(text) ? text : nfkc(text);
  return trimmedLines(
    normal
      .replaceAll(breaks, "\n")
      .replaceAll(dashes, "-")
      .replaceAll(spaces, " ")
      .replaceAll(invisible, ""),
  );
}

function trimmedLines(text: string): string {
  if (!text.includes("\n")) return text;
  const lines = text.split("\n");
  const last = lines.length - 1;
  return lines
    .map((line, index) => (index === 0 ? line : line.trimStart()))
    .map((line, index) => (index === last ? line : line.trimEnd()))
    .join("\n");
}

/**
 * Returns a text as patterns read it: {@link visibleForm} without the escapes of JSON that stands in a string. There the
 * `n` of a line break would look like the first letter of a longer word.
 */
export function plainForm(text: string): string {
  if (isPlain.test(text)) return text;
  return visibleForm(text.includes("\\") ? unescaped(text) : text);
}

function unescaped(text: string): string {
  return text
    .replaceAll(codes, (_escape, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(slashes, "/")
    .replaceAll(lineEnds, "\n")
    .replaceAll(others, " ");
}

/** {@link visibleForm} of a long text. */
export function* visibleText(text: string): Slices<string> {
  if (text.length <= SLICE) return visibleForm(text);
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const next = cutAfter(text, at + SLICE);
    pieces.push(visibleForm(text.slice(at, next)));
    at = next;
    yield;
  }
  return pieces.join("");
}

/** Characters among which a place to cut is looked for: more than any credential has. */
export const REACH = 20_000;
const blank = /[ \n]/;

/** Returns a place at most `reach` characters before `wanted` where no word is cut in two, or else `wanted` itself. */
export function cutAfter(text: string, wanted: number, reach: number = REACH): number {
  if (wanted >= text.length) return text.length;
  for (let at = wanted; at > Math.max(0, wanted - reach); at--) {
    if (blank.test(text.charAt(at - 1))) return at;
  }
  return wanted;
}
