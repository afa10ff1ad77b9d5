import { getDocumentProxy } from "unpdf";
import { ApiError } from "./http/api-error.ts";

/** One page of a PDF. */
export interface PdfPage {
  /** Its lines. */
  readonly text: string;
  /** Web addresses that it links to, each once. */
  readonly links: readonly string[];
}

/** What a PDF says. */
export interface PdfContents {
  /** The title in its metadata, or "". */
  readonly title: string;
  readonly pages: readonly PdfPage[];
}

/** Pages that are read. */
const MAX_PAGES = 5000;
/** Characters that are read: a small file can unpack to any number. */
const MAX_TEXT = 16 * 1024 * 1024;
/** Links of one page. */
const MAX_LINKS = 500;

/**
 * Reads a PDF page by page, with a yield after each. Needs the package `unpdf`. What cannot be read ends with the error that
 * `refuse` makes of the reason, e.g. "it is protected by a password".
 */
export async function* pdfPages(
  bytes: Uint8Array,
  refuse: (why: string) => ApiError,
): AsyncGenerator<void, PdfContents, void> {
  try {
    return yield* readPages(bytes, refuse);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw refuse(reasonOf(error));
  }
}

async function* readPages(
  bytes: Uint8Array,
  refuse: (why: string) => ApiError,
): AsyncGenerator<void, PdfContents, void> {
  const document = await getDocumentProxy(bytes, { verbosity: 0 });
  try {
    if (document.numPages > MAX_PAGES) throw refuse(`it has more than ${MAX_PAGES} pages`);
    const { info } = await document.getMetadata();
    const pages: PdfPage[] = [];
    let left = MAX_TEXT;
    for (let n = 1; n <= document.numPages; n++) {
      yield;
      const page = await document.getPage(n);
      const { items } = await page.getTextContent();
      const text = items
        .map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : ""))
        .join("");
      left -= text.length;
      if (left < 0) throw refuse(`it has more than ${MAX_TEXT} characters`);
      pages.push({ text, links: linksOf(await page.getAnnotations()) });
      page.cleanup();
    }
    return { title: titleOf(info), pages };
  } finally {
    await document.loadingTask.destroy();
  }
}

/** An annotation, as far as it is read. */
interface Annotation {
  readonly url?: unknown;
}

function linksOf(annotations: readonly Annotation[]): string[] {
  const links = annotations.flatMap(({ url }) => (typeof url === "string" ? [url] : []));
  return [...new Set(links)].filter((url) => /^https?:/iu.test(url)).slice(0, MAX_LINKS);
}

function titleOf(info: object): string {
  const title: unknown = Object.entries(info).find(([name]) => name === "Title")?.[1];
  return typeof title === "string" ? title.slice(0, 1000).trim() : "";
}

/** The parser's errors have names, and messages for programmers. */
function reasonOf(error: unknown): string {
  const name = error instanceof Error ? error.name : "";
  if (name === "PasswordException") return "it is protected by a password";
  if (name === "InvalidPDFException") return "it is damaged";
  return `it cannot be read: ${String(error instanceof Error ? error.message : error).slice(0, 200)}`;
}
