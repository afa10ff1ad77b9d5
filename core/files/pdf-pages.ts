import { getDocumentProxy } from "unpdf";
import type { PDFDocumentProxy } from "unpdf/pdfjs";
import { ApiError } from "../http/api-error.ts";
import { streamExcess } from "./pdf-streams.ts";
import { type TextBudget, textBudget } from "./text-budget.ts";

/** One page of a PDF. */
export interface PdfPage {
  /** Its lines. */
  readonly text: string;
  /** Web addresses that it links to, each once. */
  readonly links: readonly string[];
}

/** The content of a PDF. */
export interface PdfContents {
  /** The title in its metadata, or "". */
  readonly title: string;
  readonly pages: readonly PdfPage[];
}

/** Pages that are read. */
const MAX_PAGES = 5000;
/** Links of one page. */
const MAX_LINKS = 500;

/**
 * Reads a PDF page by page, with a yield after each. Needs the package `unpdf`. An unreadable file ends with the error
 * that `refuse` makes of the reason, e.g. "it is protected by a password".
 */
export async function* pdfPages(
  bytes: Uint8Array<ArrayBuffer>,
  refuse: (why: string) => ApiError,
  budget: TextBudget = textBudget(refuse),
): AsyncGenerator<void, PdfContents, void> {
  const excess = yield* streamExcess(bytes);
  if (excess !== null) throw refuse(excess);
  try {
    return yield* readPages(bytes, refuse, budget);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw refuse(reasonOf(error));
  }
}

async function* readPages(
  bytes: Uint8Array<ArrayBuffer>,
  refuse: (why: string) => ApiError,
  budget: TextBudget,
): AsyncGenerator<void, PdfContents, void> {
  const document = await getDocumentProxy(bytes, { verbosity: 0 });
  let isWhole = false;
  try {
    if (document.numPages > MAX_PAGES) throw refuse(`it has more than ${MAX_PAGES} pages`);
    const { info } = await document.getMetadata();
    const pages: PdfPage[] = [];
    for (let n = 1; n <= document.numPages; n++) {
      yield;
      const page = await document.getPage(n);
      const text = yield* textOf(page, budget);
      pages.push({ text, links: linksOf(await page.getAnnotations()) });
      page.cleanup();
    }
    isWhole = true;
    return { title: titleOf(info), pages };
  } finally {
    // A page that was left half read never comes to its end.
    const ended = document.loadingTask.destroy().catch(() => undefined);
    if (isWhole) await ended;
  }
}

/** The lines of a page, counted as they come: one page can have any number, from parts that stand in each other. */
async function* textOf(page: Page, budget: TextBudget): AsyncGenerator<void, string, void> {
  const reader = page.streamTextContent().getReader() as TextReader;
  const lines: string[] = [];
  // Not cancelled: the parser would still write to it, and fail where the error cannot be caught.
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    for (const item of part.value.items) {
      if (!("str" in item)) continue;
      budget.take(item.str.length + 1);
      lines.push(item.str + (item.hasEOL ? "\n" : ""));
    }
    yield;
  }
  return lines.join("");
}

type Page = Awaited<ReturnType<PDFDocumentProxy["getPage"]>>;

/** The parser's types do not declare its stream. */
type TextReader = ReadableStreamDefaultReader<
  Pick<Awaited<ReturnType<Page["getTextContent"]>>, "items">
>;

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
