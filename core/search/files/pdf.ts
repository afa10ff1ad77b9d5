import { pdfPages } from "../../files/pdf-pages.ts";
import type { TextBudget } from "../../files/text-budget.ts";
import { type PagedText, pagedText } from "./paged-text.ts";
import { refused } from "../read/refused.ts";

/** Returns the text of a PDF document, each page below a heading with its number. */
export async function* pdfText(
  bytes: Uint8Array<ArrayBuffer>,
  budget: TextBudget,
): AsyncGenerator<void, PagedText, void> {
  const unreadable = (why: string) => refused(`the file cannot be read as PDF: ${why}`);
  const { pages } = yield* pdfPages(bytes, unreadable, budget);
  return pagedText(
    pages.map(({ text }, n) => ({
      number: n + 1,
      text: text.trim() === "" ? "" : `## Page ${n + 1}\n\n${text.trim()}`,
    })),
  );
}
