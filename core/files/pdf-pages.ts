import type { PDFDocumentProxy } from "unpdf/pdfjs";
import { ApiError } from "../http/api-error.ts";
import { joinHyphens } from "./join-hyphens.ts";
import { inReadingOrder, type PlacedText } from "./pdf-columns.ts";
import { openPdf, openWithMaps } from "./pdf-maps.ts";
import { typedLetters, unknownLetters } from "./pdf-letters.ts";
import { type Annotation, linksOf, notesOf } from "./pdf-notes.ts";
import { rightToLeft } from "./pdf-right-to-left.ts";
import { streamExcess } from "./pdf-streams.ts";
import { type TextBudget, textBudget } from "./text-budget.ts";

export interface PdfPage {
  /** Its lines, then the values of its form fields and the notes on it. */
  readonly text: string;
  /** Web addresses that it links to, each once. */
  readonly links: readonly string[];
  /** Letters that its fonts draw and do not name. */
  readonly unknown: number;
}

export interface PdfContents {
  /** The title in its metadata, or "". */
  readonly title: string;
  readonly pages: readonly PdfPage[];
  /** Character maps that its fonts need and that could not be read: letters in these fonts are missing. */
  readonly missingMaps: readonly string[];
}

/** Pages that are read. */
const MAX_PAGES = 5000;

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
  // The parser takes the bytes for itself, and a document that needs character maps is opened twice.
  const { document, asked } = await openPdf(bytes.slice());
  const isEnough = (): boolean => asked.names.size === 0 || asked.folder === null;
  const read = yield* readDocument(document, { refuse, budget, isEnough });
  if (read !== null) return { ...read, missingMaps: [...asked.names] };
  const again = await openWithMaps(bytes, asked.folder ?? "");
  const whole = yield* readDocument(again, { refuse, budget, isEnough: () => true });
  if (whole === null) throw refuse("its fonts cannot be read");
  return { ...whole, missingMaps: [] };
}

interface Reading {
  readonly refuse: (why: string) => ApiError;
  readonly budget: TextBudget;
  /** Whether the letters of the page that was just read are whole. */
  readonly isEnough: () => boolean;
}

/** Reads a document and closes it; null as soon as a page needs more than it was opened with. */
async function* readDocument(
  document: PDFDocumentProxy,
  { refuse, budget, isEnough }: Reading,
): AsyncGenerator<void, Omit<PdfContents, "missingMaps"> | null, void> {
  let isWhole = false;
  try {
    if (document.numPages > MAX_PAGES) throw refuse(`it has more than ${MAX_PAGES} pages`);
    const { info } = await document.getMetadata();
    // A program draws the contents of an XFA form; its pages only say "Please wait".
    if (fieldOf(info, "IsXFAPresent") === true && fieldOf(info, "IsAcroFormPresent") !== true)
      throw refuse("it is an XFA form, which only Adobe's programs show: print it as a PDF");
    const pages: PdfPage[] = [];
    for (let n = 1; n <= document.numPages; n++) {
      yield;
      const page = await document.getPage(n);
      const { lines, unknown } = yield* textOf(page, budget);
      if (!isEnough()) return null;
      const annotations: readonly Annotation[] = await page.getAnnotations();
      const notes = notesOf(annotations).join("\n");
      budget.take(notes.length);
      const text = [lines.trimEnd(), notes].filter((part) => part !== "").join("\n\n");
      pages.push({ text, links: linksOf(annotations), unknown });
      page.cleanup();
    }
    isWhole = true;
    yield;
    const texts = joinHyphens(pages.map(({ text }) => text));
    const joined = pages.map((page, n) => ({ ...page, text: texts[n] ?? "" }));
    return { title: titleOf(info), pages: joined };
  } finally {
    // A page that was left half read never comes to its end.
    const ended = document.loadingTask.destroy().catch(() => undefined);
    if (isWhole) await ended;
  }
}

/** The lines of a page, counted as they come: one page can have any number, from parts that stand in each other. */
async function* textOf(
  page: Page,
  budget: TextBudget,
): AsyncGenerator<void, { lines: string; unknown: number }, void> {
  const reader = page.streamTextContent().getReader() as TextReader;
  const items: PlacedText[] = [];
  let unknown = 0;
  // Not cancelled: the parser would still write to it, and fail where the error cannot be caught.
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    for (const item of part.value.items) {
      if (!("str" in item)) continue;
      budget.take(item.str.length + 1);
      unknown += unknownLetters(item.str);
      items.push(placed(item));
    }
    yield;
  }
  return { lines: inReadingOrder(rightToLeft(items)), unknown };
}

/** A piece of text as it stands for a reader, whichever way the page was turned. */
function placed({ str, transform, width, height, hasEOL: endsLine }: TextItem): PlacedText {
  const [a = 1, b = 0, , , e = 0, f = 0]: readonly number[] = transform;
  const isUpright = Math.abs(a) >= Math.abs(b);
  const along = isUpright ? e * (a < 0 ? -1 : 1) : f * (b < 0 ? -1 : 1);
  const across = isUpright ? f * (a < 0 ? -1 : 1) : e * (b < 0 ? 1 : -1);
  return { text: typedLetters(str), x: along, y: across, width, height, endsLine };
}

type Page = Awaited<ReturnType<PDFDocumentProxy["getPage"]>>;

/** The parser's types do not declare its stream. */
type TextReader = ReadableStreamDefaultReader<
  Pick<Awaited<ReturnType<Page["getTextContent"]>>, "items">
>;

type TextItem = Extract<
  Awaited<ReturnType<Page["getTextContent"]>>["items"][number],
  { readonly str: string }
>;

function fieldOf(info: object, wanted: string): unknown {
  return Object.entries(info).find(([name]) => name === wanted)?.[1];
}

function titleOf(info: object): string {
  const title = fieldOf(info, "Title");
  return typeof title === "string" ? title.slice(0, 1000).trim() : "";
}

/** The parser's errors have names, and messages for programmers. */
function reasonOf(error: unknown): string {
  const name = error instanceof Error ? error.name : "";
  if (name === "PasswordException") return "it is protected by a password";
  if (name === "InvalidPDFException") return "it is damaged";
  return `it cannot be read: ${String(error instanceof Error ? error.message : error).slice(0, 200)}`;
}
