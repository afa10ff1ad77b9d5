import type { PDFDocument, PDFImage, PDFPage, PDFEmbeddedPage } from "@cantoo/pdf-lib";
import { ApiError } from "../../http/api-error.ts";
import type { Stamp } from "./edit-schema.ts";
import type { PdfLibrary } from "./library.ts";
import { isPdfFile, openDocument } from "./open-document.ts";
import { pagesIn } from "./page-ranges.ts";
import { placeStamp, shownSize } from "./place-stamp.ts";
import { fileOf, type ReadEdit } from "./read-edit.ts";

/** Draws one stamp on a page. */
type Draw = (page: PDFPage) => void;

/** Points from the edge. */
const MARGIN = 36;
const FONT_SIZE = 48;
/** Pixels of a PNG, which is unpacked. */
const MAX_PIXELS = 40_000_000;

/** Draws the stamps of an edit on the pages that they name. @throws ApiError `invalid_request` naming the stamp */
export async function* drawStamps(
  library: PdfLibrary,
  document: PDFDocument,
  read: ReadEdit,
): AsyncGenerator<void, void, void> {
  const pages = document.getPages();
  const all = (read.edit.stamps ?? []).map((stamp, index) => ({
    stamp,
    field: `stamps[${index}]`,
  }));
  // Each stamp below the content goes to the very bottom, so the first of them comes last.
  const below = all.filter(({ stamp }) => stamp.under === true).toReversed();
  const above = all.filter(({ stamp }) => stamp.under !== true);
  for (const { stamp, field } of [...below, ...above]) {
    const draw = yield* drawingOf(library, document, read, { stamp, field });
    const refuse = (why: string): ApiError => read.refuse(`${field}.pages`, why);
    for (const index of pagesIn(stamp.pages ?? "1-", pages.length, refuse)) {
      const page = pages[index];
      if (page !== undefined) drawOn(library, page, draw, stamp.under === true);
      yield;
    }
  }
}

/** Draws in a stream of its own, which readers of tagged documents pass over (ISO 32000-1, 14.8.2.2). */
function drawOn(
  { PDFPage: Page, PDFName, PDFArray, beginMarkedContent, endMarkedContent }: PdfLibrary,
  { node, ref, doc }: PDFPage,
  draw: Draw,
  isBelow: boolean,
): void {
  // Two pages may have one list of streams.
  const streams = node.lookup(PDFName.of("Contents"));
  if (streams instanceof PDFArray) node.set(PDFName.of("Contents"), streams.clone(doc.context));
  const page = Page.of(node, ref, doc);
  page.pushOperators(beginMarkedContent("Artifact"));
  draw(page);
  page.pushOperators(endMarkedContent());
  const drawn = node.lookup(PDFName.of("Contents"));
  if (!isBelow || !(drawn instanceof PDFArray)) return;
  const last = drawn.size() - 1;
  const stream = drawn.get(last);
  drawn.remove(last);
  drawn.insert(0, stream);
}

interface FieldStamp {
  readonly stamp: Stamp;
  readonly field: string;
}

async function* drawingOf(
  library: PdfLibrary,
  document: PDFDocument,
  read: ReadEdit,
  one: FieldStamp,
): AsyncGenerator<void, Draw, void> {
  const { file } = one.stamp;
  if (file === undefined) return drawText(library, document, read, one);
  const bytes = fileOf(read, `${one.field}.file`, file);
  if (isPdfFile(bytes)) {
    const page = yield* pageOf(library, document, read, one);
    return drawBox(library, one.stamp, page, 0);
  }
  const refuse = (why: string): ApiError => read.refuse(`${one.field}.file`, `"${file}" ${why}`);
  const image = await pictureOf(document, bytes, refuse).catch((error: unknown) => {
    if (error instanceof ApiError) throw error;
    return null;
  });
  if (image !== null) return drawBox(library, one.stamp, image, MARGIN);
  throw refuse("is not a PDF, PNG or JPEG that can be read");
}

async function* pageOf(
  library: PdfLibrary,
  document: PDFDocument,
  read: ReadEdit,
  { stamp: { file = "", filePage = 1 }, field }: FieldStamp,
): AsyncGenerator<void, PDFEmbeddedPage, void> {
  const wanted = { field: `${field}.file`, name: file, isDrawn: true };
  const source = yield* openDocument(library, read, wanted);
  const page = source.getPages()[filePage - 1];
  if (page === undefined)
    throw read.refuse(`${field}.filePage`, `"${file}" has ${source.getPageCount()} pages`);
  try {
    const embedded = await document.embedPage(page);
    await embedded.embed();
    return embedded;
  } catch {
    throw read.refuse(`${field}.file`, `Page ${filePage} of "${file}" cannot be drawn`);
  }
}

/** Reads a picture; null for other files. */
async function pictureOf(
  document: PDFDocument,
  bytes: Uint8Array<ArrayBuffer>,
  refuse: (why: string) => ApiError,
): Promise<PDFImage | null> {
  if (bytes[0] === 0xff && bytes[1] === 0xd8) return document.embedJpg(bytes);
  if (bytes[0] !== 0x89 || bytes.length < 33) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  if (view.getUint32(16) * view.getUint32(20) > MAX_PIXELS)
    throw refuse(`has more than ${MAX_PIXELS} pixels`);
  return document.embedPng(bytes);
}

/** Draws a picture or a page as large as it is, and smaller where that is more than the stamped page. */
function drawBox(
  { degrees }: PdfLibrary,
  { scale = 1, position = "center", margin: given, rotate = 0, opacity = 1 }: Stamp,
  drawn: PDFImage | PDFEmbeddedPage,
  usual: number,
): Draw {
  const margin = given ?? usual;
  return (page) => {
    const shown = shownSize(page);
    const fits = Math.min(
      1,
      (shown.width - 2 * margin) / drawn.width,
      (shown.height - 2 * margin) / drawn.height,
    );
    const factor = Math.max(fits, 0.001) * scale;
    const size = { width: drawn.width * factor, height: drawn.height * factor };
    const { x, y, angle } = placeStamp(page, size, { position, margin, rotate });
    const options = { x, y, ...size, rotate: degrees(angle), opacity };
    if ("boundingBox" in drawn || !("scaleToFit" in drawn))
      page.drawPage(drawn as PDFEmbeddedPage, options);
    else page.drawImage(drawn, options);
  };
}

function drawText(
  { StandardFonts, degrees, rgb }: PdfLibrary,
  document: PDFDocument,
  read: ReadEdit,
  { stamp, field }: FieldStamp,
): Draw {
  const { text = "", fontSize: size = FONT_SIZE, color = "#000000", opacity = 1 } = stamp;
  const { position = "center", margin = MARGIN, rotate = 0 } = stamp;
  const font = document.embedStandardFont(StandardFonts.Helvetica);
  const known = new Set(font.getCharacterSet());
  const strange = [...text].find((sign) => !known.has(sign.codePointAt(0) ?? 0));
  if (strange !== undefined)
    throw read.refuse(
      `${field}.text`,
      `The standard fonts lack "${strange}": make the stamp a PDF with /pdf, and name it as file`,
    );
  const width = font.widthOfTextAtSize(text, size);
  const channel = (at: number): number => Number.parseInt(color.slice(at, at + 2), 16) / 255;
  const ink = rgb(channel(1), channel(3), channel(5));
  const box = { width, height: font.heightAtSize(size, { descender: false }) };
  return (page) => {
    const { x, y, angle } = placeStamp(page, box, { position, margin, rotate });
    page.drawText(text, { x, y, size, font, color: ink, opacity, rotate: degrees(angle) });
  };
}
