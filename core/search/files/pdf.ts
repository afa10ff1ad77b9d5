import { extractText, getDocumentProxy } from "unpdf";
import { refused } from "./refused.ts";

/** Pages that are read. */
const MAX_PAGES = 5000;

/** The text of a PDF document, each page below a heading with its number. */
export async function* pdfText(bytes: Uint8Array): AsyncGenerator<void, string, void> {
  const document = await getDocumentProxy(bytes, { verbosity: 0 });
  try {
    if (document.numPages > MAX_PAGES) throw refused(`the file has more than ${MAX_PAGES} pages`);
    yield;
    const { text } = await extractText(document, { mergePages: false });
    return text
      .map((page, n) => (page.trim() === "" ? "" : `## Page ${n + 1}\n\n${page.trim()}`))
      .filter((page) => page !== "")
      .join("\n\n");
  } finally {
    await document.loadingTask.destroy();
  }
}
