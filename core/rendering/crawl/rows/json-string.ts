import { utf8 } from "../../../crypto/encoding.ts";

/** Reads a text that is stored as JSON, part by part: of many megabytes it would take too long at once. */
export interface JsonStringReader {
  /** Returns the UTF-8 of the characters that the part completes. */
  read(part: Uint8Array, isLast: boolean): Uint8Array;
}

export function jsonStringReader(): JsonStringReader {
  const decoder = new TextDecoder();
  let isFirst = true;
  /** An escape that goes on in the next part. */
  let rest = "";
  /** Half of a pair of surrogates. */
  let half = "";
  return {
    read(part, isLast) {
      const decoded = rest + decoder.decode(part, { stream: !isLast });
      const text = decoded.slice(isFirst ? 1 : 0, isLast ? -1 : undefined);
      isFirst = false;
      const end = isLast ? text.length : wholeLength(text);
      rest = text.slice(end);
      const value = half + String(JSON.parse(`"${text.slice(0, end)}"`));
      const isHalf = !isLast && /[\ud800-\udbff]$/u.test(value);
      half = isHalf ? value.slice(-1) : "";
      return utf8(isHalf ? value.slice(0, -1) : value);
    },
  };
}

/** The longest escape: a code unit in four hexadecimal digits. */
const ESCAPE = 6;

/** Returns the length of a text without the escape that its end cuts in two. */
function wholeLength(text: string): number {
  const last = text.lastIndexOf("\\");
  if (last < 0 || text.length - last >= ESCAPE) return text.length;
  let run = last;
  while (text[run - 1] === "\\") run--;
  // In an even run of backslashes, each second one is an escaped character.
  if ((last - run) % 2 === 1) return text.length;
  const isWhole = last + 1 < text.length && text[last + 1] !== "u";
  return isWhole ? text.length : last;
}
