import type { PDFDocument } from "@cantoo/pdf-lib";
import { ApiError } from "../../http/api-error.ts";
import { streamExcess } from "../../files/pdf-streams.ts";
import type { PdfLibrary } from "./library.ts";
import { fileOf, type ReadEdit } from "./read-edit.ts";

/** Pages of one document, and of the result. */
export const MAX_PAGES = 5000;

interface WantedPdf {
  /** The field that names it. */
  readonly field: string;
  readonly name: string;
  /** Whether its pages are drawn on others, for which their content is unpacked. @default false, they are copied */
  readonly isDrawn?: boolean;
}

/** Opens a PDF that a field names. @throws ApiError `invalid_request` naming the field and the file */
export async function* openDocument(
  library: PdfLibrary,
  read: ReadEdit,
  { field, name, isDrawn = false }: WantedPdf,
): AsyncGenerator<void, PDFDocument, void> {
  const bytes = fileOf(read, field, name);
  const refuse = (why: string): ApiError => read.refuse(field, `"${name}" ${why}`);
  if (!isPdfFile(bytes)) throw refuse("is not a PDF");
  // Pictures are copied as they are; all else may be unpacked. The content of a page may call itself a picture.
  const excess = yield* streamExcess(bytes, isDrawn ? undefined : isPicture);
  if (excess !== null) throw refuse(`cannot be edited: ${excess}`);
  const { [name]: password } = read.edit.passwords ?? {};
  try {
    const document = await library.PDFDocument.load(bytes, {
      updateMetadata: false,
      ...(password === undefined ? {} : { password }),
    });
    const count = document.getPages().length;
    if (count === 0) throw refuse("has no pages");
    if (count > MAX_PAGES) throw refuse(`has more than ${MAX_PAGES} pages`);
    return document;
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw refuse(reasonOf(error, library, password));
  }
}

/** Whether bytes are those of a PDF: its header may have other bytes before it (ISO 32000-1, annex H.3). */
export function isPdfFile(bytes: Uint8Array): boolean {
  return new TextDecoder("latin1").decode(bytes.subarray(0, 1024)).includes("%PDF-");
}

/** Whether a stream with this dictionary is a picture, and nothing that a reader has to look into. */
function isPicture(dictionary: string): boolean {
  return /\/Subtype\s*\/Image\b/u.test(dictionary) && !/#|ObjStm|XRef/u.test(dictionary);
}

function reasonOf(error: unknown, library: PdfLibrary, password: string | undefined): string {
  if (error instanceof library.EncryptedPDFError)
    return "is protected by a password: give it in passwords";
  const message = error instanceof Error ? error.message : "";
  if (password !== undefined && /password/iu.test(message)) return "has another password";
  if (/encryption method|encryption algorithm|crypt/iu.test(message))
    return "is protected in a way that cannot be undone";
  return "is damaged";
}
