import type { PDFDocument } from "@cantoo/pdf-lib";
import { ApiError } from "../../http/api-error.ts";
import { bytePieces } from "../../http/stream.ts";
import { documentOfPages } from "./copy-pages.ts";
import type { PdfSplit } from "./edit-schema.ts";
import { finishDocument, MAX_BYTES } from "./finish.ts";
import { loadArchiver, type PdfLibrary } from "./library.ts";
import { pagesIn } from "./page-ranges.ts";
import type { EditedPdf } from "./pdf-editor.ts";
import type { ReadEdit } from "./read-edit.ts";

/** Parts of one document. */
const MAX_PARTS = 500;
/** The first time that a ZIP archive can name in every time zone, since its times are local ones. */
const FIRST_TIME = Date.UTC(1980, 0, 2);

/** Writes parts of a document into a ZIP archive: `part-1.pdf` and so on. @throws ApiError `invalid_request`, `page_too_large` */
export async function* splitDocument(
  library: PdfLibrary,
  document: PDFDocument,
  read: ReadEdit,
  now: Date,
): AsyncGenerator<void, Pick<EditedPdf, "bytes" | "type">, void> {
  const { Zip, ZipPassThrough } = await loadArchiver();
  const parts = partsOf(read.edit.split ?? {}, document.getPageCount(), read);
  const pieces = bytePieces();
  let failure: Error | null = null;
  const archive = new Zip((error, chunk) => {
    failure ??= error;
    pieces.add(new Uint8Array(chunk));
  });
  for (const [index, indexes] of parts.entries()) {
    const part = yield* documentOfPages(library, document, indexes);
    const bytes = await finishDocument(library, part, read, now);
    const number = String(index + 1).padStart(String(parts.length).length, "0");
    const entry = new ZipPassThrough(`part-${number}.pdf`);
    entry.mtime = Math.max(now.getTime(), FIRST_TIME);
    archive.add(entry);
    entry.push(bytes, true);
    if (pieces.size > MAX_BYTES)
      throw new ApiError("page_too_large", {
        message: `The parts have more than ${MAX_BYTES} bytes: ask for fewer at a time`,
      });
    yield;
  }
  archive.end();
  if (failure !== null) throw failure;
  return { bytes: new Uint8Array(pieces.whole()), type: "application/zip" };
}

function partsOf(
  { every, ranges }: PdfSplit,
  count: number,
  { refuse }: ReadEdit,
): readonly (readonly number[])[] {
  if (ranges !== undefined)
    return ranges.map((range, index) =>
      pagesIn(range, count, (why) => refuse(`split.ranges[${index}]`, why)),
    );
  const size = every ?? count;
  const parts = Math.ceil(count / size);
  if (parts > MAX_PARTS)
    throw refuse("split.every", `That makes ${parts} parts, and at most ${MAX_PARTS} are allowed`);
  const pages = Array.from({ length: count }, (_, index) => index);
  return Array.from({ length: parts }, (_, n) => pages.slice(n * size, (n + 1) * size));
}
