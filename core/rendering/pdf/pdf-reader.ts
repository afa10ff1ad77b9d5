import type { LongTask, Steps } from "../../ports.ts";

/** The text of a PDF, as an HTML document in UTF-8: a section for each page. */
export type ReadPdf = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly pages: number;
};

/** The document before it was read as HTML; callers find it in `meta.document`. */
export type SourceDocument = { readonly type: string; readonly pages: number };

/** Reads a PDF beside the event loop. Throws `load_aborted` with the reason for one that cannot be read. */
export type PdfReader = LongTask<
  { readonly bytes: Uint8Array<ArrayBuffer> },
  ReadPdf,
  Steps<ReadPdf>
>;

/** The media type of a PDF. */
export const PDF = "application/pdf";

export function isPdf(contentType: string): boolean {
  return contentType.split(";", 1)[0]?.trim().toLowerCase() === PDF;
}
