import { type PdfPage, pdfPages } from "../../files/pdf-pages.ts";
import type { TextBudget } from "../../files/text-budget.ts";
import type { DocumentText } from "../read/file-reader.ts";
import type { FileWarning } from "../read/file-warning.ts";
import { pagedText } from "./paged-text.ts";
import { refused } from "../read/refused.ts";

/** Returns the text of a PDF document, each page below a heading with its number. */
export async function* pdfText(
  bytes: Uint8Array<ArrayBuffer>,
  budget: TextBudget,
  scans: Readonly<Record<string, string>> = {},
): AsyncGenerator<void, DocumentText, void> {
  const unreadable = (why: string) => refused(`the file cannot be read as PDF: ${why}`);
  const { pages, missingMaps } = yield* pdfPages(bytes, unreadable, budget);
  const texts = pages.map(({ text }, n) => text.trim() || (scans[n + 1] ?? ""));
  budget.take(Object.values(scans).reduce((sum, { length }) => sum + length, 0));
  const blankPages = texts.flatMap((text, n) => (text === "" ? [n + 1] : []));
  const read = pagedText(
    texts.map((text, n) => ({
      number: n + 1,
      text: text === "" ? "" : `## Page ${n + 1}\n\n${text}`,
    })),
  );
  const warnings = [
    ...lettersMissing(missingMaps),
    ...withoutMeaning(pages),
    ...withoutText(blankPages),
  ];
  return { ...read, blankPages, warnings };
}

function lettersMissing(maps: readonly string[]): FileWarning[] {
  if (maps.length === 0) return [];
  const message = `letters of fonts that are not in the file are missing: they need the package pdfjs-dist (${maps.slice(0, 5).join(", ")}), which Node, Deno and Bun can read`;
  return [{ code: "letters_missing", message }];
}

/** Fonts may draw letters without a word for what they are. */
function withoutMeaning(pages: readonly PdfPage[]): FileWarning[] {
  const numbers = pages.flatMap(({ unknown }, n) => (unknown > 0 ? [n + 1] : []));
  const [page] = numbers;
  if (page === undefined) return [];
  const count = pages.reduce((sum, { unknown }) => sum + unknown, 0);
  const where = `${numbers.length === 1 ? "page" : "pages"} ${ranges(numbers)}`;
  const message = `${where}: fonts do not say what ${count} of their letters are, which are missing or wrong`;
  return [{ code: "letters_missing", message, page }];
}

/** A page without text is empty, or a picture of text. */
function withoutText(blank: readonly number[]): FileWarning[] {
  const [page] = blank;
  if (page === undefined) return [];
  const message = `${blank.length === 1 ? "page" : "pages"} ${ranges(blank)}: no text, perhaps only pictures of it`;
  return [{ code: "page_without_text", message, page }];
}

/** Ascending numbers as people write them, e.g. "2-5, 9". */
function ranges(numbers: readonly number[]): string {
  const parts: { first: number; last: number }[] = [];
  for (const number of numbers) {
    const part = parts.at(-1);
    if (part?.last === number - 1) part.last = number;
    else parts.push({ first: number, last: number });
  }
  return parts
    .map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`))
    .join(", ");
}
