import { utf8 } from "../../crypto/encoding.ts";
import type { FilePage } from "../read/file-reader.ts";

export interface PagedText {
  readonly text: string;
  readonly pages: readonly FilePage[];
}

/** Pages one below the other in one text; those without a text are left out. */
export function pagedText(
  pages: readonly { readonly number: number; readonly text: string }[],
): PagedText {
  const parts: string[] = [];
  const starts: FilePage[] = [];
  let startByte = 0;
  for (const { number, text } of pages) {
    if (text === "") continue;
    starts.push({ number, startByte });
    parts.push(text);
    startByte += utf8(text).length + BETWEEN.length;
  }
  return { text: parts.join(BETWEEN), pages: starts };
}

const BETWEEN = "\n\n";
