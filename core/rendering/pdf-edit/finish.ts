import type { PDFDocument } from "@cantoo/pdf-lib";
import { ApiError } from "../../http/api-error.ts";
import type { PdfMetadata } from "./edit-schema.ts";
import type { PdfLibrary } from "./library.ts";
import { dictionaryIn, nameEntries } from "./name-tree.ts";
import { fileOf, type ReadEdit } from "./read-edit.ts";

/** Bytes of the result. */
export const MAX_BYTES = 100_000_000;
/** Objects that are written before others go on. */
const WRITTEN = 50;

/** Writes a document with its metadata and attachments. @throws ApiError `invalid_request` naming the field */
export async function finishDocument(
  library: PdfLibrary,
  document: PDFDocument,
  read: ReadEdit,
  now: Date,
): Promise<Uint8Array<ArrayBuffer>> {
  const { metadata, attachments = [] } = read.edit;
  document.setModificationDate(now);
  if (metadata !== undefined) setMetadata(library, document, metadata);
  for (const [index, { file, type, description, relationship }] of attachments.entries()) {
    const bytes = fileOf(read, `attachments[${index}].file`, file);
    const name = file.slice(file.lastIndexOf("/") + 1);
    detach(library, document, name);
    await document.attach(bytes, name, {
      mimeType: type ?? "application/octet-stream",
      ...(description === undefined ? {} : { description }),
      afRelationship: library.AFRelationship[relationship ?? "Unspecified"],
      creationDate: now,
      modificationDate: now,
    });
  }
  const bytes = await document.save({
    addDefaultPage: false,
    updateFieldAppearances: false,
    objectsPerTick: WRITTEN,
  });
  if (bytes.length > MAX_BYTES)
    throw new ApiError("page_too_large", { message: `The PDF has more than ${MAX_BYTES} bytes` });
  return new Uint8Array(bytes);
}

/**
 * Makes room for an attachment. The library adds to a list of attachments and to no tree of them, so that a tree becomes a list, too.
 */
function detach(library: PdfLibrary, document: PDFDocument, name: string): void {
  const { PDFName, PDFArray, PDFRef } = library;
  const { catalog, context } = document;
  const names = dictionaryIn(library, catalog, "Names");
  const tree = names?.lookup(PDFName.of("EmbeddedFiles"));
  if (names === null || tree === undefined) return;
  const entries = nameEntries(library, tree);
  const kept = entries.filter((entry) => entry.name !== name);
  const list = context.obj(kept.flatMap(({ key, value }) => [key, value]));
  names.set(PDFName.of("EmbeddedFiles"), context.obj({ Names: list }));
  const files = catalog.lookup(PDFName.of("AF"));
  for (const { value } of entries.filter((entry) => entry.name === name)) {
    const at = files instanceof PDFArray ? files.indexOf(value) : undefined;
    if (at !== undefined && files instanceof PDFArray) files.remove(at);
    if (value instanceof PDFRef) context.delete(value);
  }
}

function setMetadata(library: PdfLibrary, document: PDFDocument, metadata: PdfMetadata): void {
  const { title, author, subject, keywords, creator, producer } = metadata;
  const { creationDate, modificationDate } = metadata;
  if (title !== undefined) document.setTitle(title);
  if (author !== undefined) document.setAuthor(author);
  if (subject !== undefined) document.setSubject(subject);
  if (keywords !== undefined) document.setKeywords([keywords.join(", ")]);
  if (creator !== undefined) document.setCreator(creator);
  if (producer !== undefined) document.setProducer(producer);
  if (creationDate !== undefined) document.setCreationDate(new Date(creationDate));
  if (modificationDate !== undefined) document.setModificationDate(new Date(modificationDate));
  // A second description, in XML, would go on saying what was there before, and readers believe that one.
  document.catalog.delete(library.PDFName.of("Metadata"));
}
