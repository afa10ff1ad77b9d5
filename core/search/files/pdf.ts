import { pdfPages } from "../../pdf-pages.ts";
import { refused } from "./refused.ts";

/** The text of a PDF document, each page below a heading with its number. */
export async function* pdfText(bytes: Uint8Array): AsyncGenerator<void, string, void> {
  const { pages } = yield* pdfPages(bytes, (why) =>
    refused(`the file cannot be read as PDF: ${why}`),
  );
  return pages
    .map(({ text }, n) => (text.trim() === "" ? "" : `## Page ${n + 1}\n\n${text.trim()}`))
    .filter((page) => page !== "")
    .join("\n\n");
}
