import type { LongTask, Steps } from "../../ports.ts";

/** A request to edit PDFs, as it came. */
export type EditRequest = {
  /** The options as JSON, or a form with them and the files. */
  readonly sent: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
  /** The rendered PDF, with the name {@link RENDERED}; null if the request has only files. */
  readonly rendered: Uint8Array<ArrayBuffer> | null;
  /** The bytes of all files that came with the page, concatenated, and the place of each by name. */
  readonly contents: Uint8Array<ArrayBuffer>;
  readonly placed: { readonly [name: string]: readonly number[] };
  /** The date of the result, in Unix ms. */
  readonly now: number;
};

/** The result: a PDF, or a ZIP archive of several. */
export type EditedPdf = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
  /** Messages about fields that have no effect. */
  readonly unknown: readonly string[];
};

/** Edits PDFs beside the event loop. Throws `invalid_request` naming the field or the file. */
export type PdfEditor = LongTask<EditRequest, EditedPdf, Steps<EditedPdf>>;

/** The name of the PDF that was rendered, among the files of an edit. */
export const RENDERED = "page.pdf";
