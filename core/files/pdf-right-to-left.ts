import { appendAll } from "../text/append-all.ts";
import type { PlacedText } from "./pdf-columns.ts";

const RIGHT_TO_LEFT = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC]/gu;
const LETTER = /\p{L}/gu;
/** Signs that are drawn the other way round between words that are read from the right. */
const MIRRORED: ReadonlyMap<string, string> = new Map(
  ["()", ")(", "[]", "][", "{}", "}{", "«»", "»«"].map((pair) => [pair.charAt(0), pair.charAt(1)]),
);

/**
 * Puts the pieces of each line with Arabic or Hebrew into the order of reading, and makes one piece of them. Programs write such a
 * line as it looks, from left to right, often letter by letter.
 */
export function rightToLeft(items: readonly PlacedText[]): PlacedText[] {
  const out: PlacedText[] = [];
  let line: PlacedText[] = [];
  for (const item of items) {
    line.push(item);
    if (!item.endsLine) continue;
    appendAll(out, inOrder(line));
    line = [];
  }
  return [...out, ...inOrder(line)];
}

function inOrder(line: readonly PlacedText[]): readonly PlacedText[] {
  if (!line.some(({ text }) => text.search(RIGHT_TO_LEFT) >= 0)) return line;
  const pieces = line.filter(({ text }) => text !== "").toSorted((a, b) => a.x - b.x);
  const [first, last] = [pieces[0], pieces.at(-1)];
  if (first === undefined || last === undefined) return line;
  const text = logicalOrder(pieces.map((piece) => piece.text));
  const endsLine = line.at(-1)?.endsLine === true;
  return [{ ...first, text, width: last.x + last.width - first.x, endsLine }];
}

/** Joins texts that stand side by side: a line is read from the side of most of its letters, and words of the other side within. */
function logicalOrder(texts: readonly string[]): string {
  const whole = texts.join("");
  const rtlLetters = whole.match(RIGHT_TO_LEFT)?.length ?? 0;
  const isRtlLine = rtlLetters * 2 > (whole.match(LETTER)?.length ?? 0);
  const before = neighbours(texts);
  const after = neighbours(texts.toReversed()).toReversed();
  const runs: { readonly isRtl: boolean; text: string }[] = [];
  for (const [n, text] of texts.entries()) {
    const isRtl = before[n] === after[n] ? (before[n] ?? isRtlLine) : isRtlLine;
    if (runs.at(-1)?.isRtl !== isRtl) runs.push({ isRtl, text: "" });
    const run = runs.at(-1);
    if (run === undefined) continue;
    run.text = isRtl ? (MIRRORED.get(text) ?? text) + run.text : run.text + text;
  }
  return (isRtlLine ? runs.toReversed() : runs).map(({ text }) => text).join("");
}

/** Whether each text is read from the right: by its own letters, else by the last ones before it. */
function neighbours(texts: readonly string[]): (boolean | undefined)[] {
  let isRtl: boolean | undefined;
  return texts.map((text) => {
    if (text.search(RIGHT_TO_LEFT) >= 0) isRtl = true;
    else if (text.search(LETTER) >= 0) isRtl = false;
    return isRtl;
  });
}
