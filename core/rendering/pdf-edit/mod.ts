/**
 * Changes of finished PDFs: merging, page ranges, stamps, metadata, attachments, splitting. Needs the package `@cantoo/pdf-lib`, and
 * `fflate` to split; nothing else of `causey/rendering` imports them.
 *
 * @module
 */
import type { PDFDocument } from "@cantoo/pdf-lib";
import { ApiError } from "../../http/api-error.ts";
import { PDF } from "../pdf/pdf-reader.ts";
import { appendPages, documentOfPages } from "./copy-pages.ts";
import { finishDocument } from "./finish.ts";
import { loadLibrary, type PdfLibrary } from "./library.ts";
import { MAX_PAGES, openDocument } from "./open-document.ts";
import { pagesIn } from "./page-ranges.ts";
import { type EditedPdf, type EditRequest, type PdfEditor, RENDERED } from "./pdf-editor.ts";
import { readEdit, type ReadEdit } from "./read-edit.ts";
import { splitDocument } from "./split.ts";
import { drawStamps } from "./stamp.ts";

export type { EditedPdf, EditRequest, PdfEditor } from "./pdf-editor.ts";

/**
 * Serves `/pdf/edit`, and the field `edit` of `/pdf`.
 *
 * @example
 * ```ts
 * import { memoryPlatform } from "causey/memory";
 * import { rendering } from "causey/rendering";
 * import { pdfEditor } from "causey/rendering/pdf-edit";
 *
 * const app = rendering({ platform: await memoryPlatform(), editPdf: pdfEditor });
 * ```
 */
export const pdfEditor: PdfEditor = {
  name: "rendering/edit-pdf",
  kind: "files",
  overrun: (why) =>
    new ApiError("page_too_large", { message: `The PDFs cannot be edited: ${why}` }),
  load: () => Promise.resolve(editOrRefuse),
};

async function* editOrRefuse(request: EditRequest): AsyncGenerator<void, EditedPdf, void> {
  try {
    return yield* editFiles(request);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    // The library fails in many ways over what is not as the standard has it.
    const why = String(error instanceof Error ? error.message : error).slice(0, 200);
    const message = `files: A PDF is damaged: ${why}`;
    throw new ApiError("invalid_request", { message, cause: error });
  }
}

async function* editFiles(request: EditRequest): AsyncGenerator<void, EditedPdf, void> {
  const read = yield* readEdit(request);
  const library = await loadLibrary();
  // 1. The files become one document, 2. of the pages that are wanted, 3. with what is drawn on them.
  const merged = yield* mergeFiles(library, read, request.rendered !== null);
  const document = yield* selectPages(library, merged, read);
  yield* drawStamps(library, document, read);
  // 4. It is written, as one or in parts.
  const now = new Date(request.now);
  const { unknown } = read;
  if (read.edit.split !== undefined)
    return { ...(yield* splitDocument(library, document, read, now)), unknown };
  return { bytes: await finishDocument(library, document, read, now), type: PDF, unknown };
}

/** Opens the first PDF, which keeps all that it has, and adds the pages of the others. */
async function* mergeFiles(
  library: PdfLibrary,
  read: ReadEdit,
  isRendered: boolean,
): AsyncGenerator<void, PDFDocument, void> {
  const [first, ...others] = read.edit.merge ?? (isRendered ? [RENDERED] : unnamedFiles(read));
  if (first === undefined) throw read.refuse("files", "At least one PDF is needed");
  const document = yield* openDocument(library, read, { field: "merge", name: first });
  for (const name of others) {
    const other = yield* openDocument(library, read, { field: "merge", name });
    const indexes = other.getPageIndices();
    if (document.getPageCount() + indexes.length > MAX_PAGES)
      throw read.refuse("merge", `The result has more than ${MAX_PAGES} pages`);
    yield* appendPages(library, document, other, indexes);
  }
  return document;
}

/** The files that no stamp and no attachment names, in the order in which they came. */
function unnamedFiles({ edit: { stamps = [], attachments = [] }, files }: ReadEdit): string[] {
  const named = new Set([...stamps, ...attachments].map(({ file }) => file));
  return [...files.keys()].filter((name) => !named.has(name));
}

async function* selectPages(
  library: PdfLibrary,
  document: PDFDocument,
  { edit: { pages }, refuse }: ReadEdit,
): AsyncGenerator<void, PDFDocument, void> {
  if (pages === undefined) return document;
  const count = document.getPageCount();
  const indexes = pagesIn(pages, count, (why) => refuse("pages", why));
  if (indexes.length === count && indexes.every((index, at) => index === at)) return document;
  return yield* documentOfPages(library, document, indexes);
}
