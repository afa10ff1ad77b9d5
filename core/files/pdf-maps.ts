import { getDocumentProxy } from "unpdf";
import type { PDFDocumentProxy } from "unpdf/pdfjs";
import { ApiError } from "../http/api-error.ts";

/** Character maps that a document asked for: fonts that are not in the file name one, such as `GBK-EUC-H`. */
export interface AskedMaps {
  /** The folder that has them; null where the package `pdfjs-dist` is not installed, or this runtime has no files. */
  readonly folder: string | null;
  readonly names: ReadonlySet<string>;
}

export interface OpenedPdf {
  readonly document: PDFDocumentProxy;
  readonly asked: AskedMaps;
}

/** Opens a document without character maps, and notes which it would need: few do, and each is a file to read. */
export async function openPdf(bytes: Uint8Array): Promise<OpenedPdf> {
  const names = new Set<string>();
  let folder: string | null = null;
  const fetch = ({ kind, filename }: { kind: string; filename: string }): Promise<never> => {
    if (kind === "cMapUrl") names.add(filename.replace(/\.bcmap$/u, ""));
    const message = `${filename} is not read`;
    return Promise.reject(new ApiError("missing_capability", { message }));
  };
  // The parser calls it with `new`.
  const BinaryDataFactory = function ({ cMapUrl }: { cMapUrl?: string | null }) {
    folder = cMapUrl ?? null;
    return { fetch };
  };
  const document = await getDocumentProxy(bytes, { verbosity: 0, BinaryDataFactory });
  return { document, asked: { folder, names } };
}

/** Opens a document with the character maps of a folder, which the parser itself reads. */
export function openWithMaps(bytes: Uint8Array, folder: string): Promise<PDFDocumentProxy> {
  // It takes the folder for a path, though it is given as an address.
  const path = decodeURIComponent(new URL(folder).pathname).replace(/^\/(?=[A-Za-z]:)/u, "");
  return getDocumentProxy(bytes, { verbosity: 0, cMapUrl: path, cMapPacked: true });
}
