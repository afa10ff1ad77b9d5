/**
 * Documents for search instances: PDF, DOCX, PPTX, XLSX, OpenDocument, RTF, EPUB and mail, and texts that do not say their charset. Needs
 * the packages `unpdf`, `fflate`, `postal-mime` and `jschardet`, each for its formats; nothing else of causey imports
 * them.
 *
 * @module
 */
import { ApiError } from "../../http/api-error.ts";
import {
  type DocumentKind,
  documentKind,
  type DocumentText,
  type FileReader,
  type ReadableFile,
} from "../read/file-reader.ts";
import type { AttachedReader } from "./mail.ts";
import { type TextBudget, textBudget } from "../../files/text-budget.ts";
import { refused } from "../read/refused.ts";

export type {
  DocumentText,
  FilePage,
  FileReader,
  ReadableFile,
  ReadFileResult,
} from "../read/file-reader.ts";
export type { FileWarning } from "../read/file-warning.ts";

/** Kinds of files that need a package. */
type PackagedKind = Exclude<DocumentKind, "rtf"> | "text";

/** The package that reads each kind of file. */
const PACKAGES: Readonly<Record<PackagedKind, string>> = {
  pdf: "unpdf",
  docx: "fflate",
  pptx: "fflate",
  xlsx: "fflate",
  odf: "fflate",
  epub: "fflate",
  eml: "postal-mime",
  text: "jschardet",
};

/**
 * Reads documents as Markdown: headings, lists and tables, the pages of a PDF below "Page 1" and so on, with their places. Pictures are not
 * read. Throws 7060 for a document that is damaged, protected by a password, or unpacks to more than 64 MB.
 *
 * @example
 * ```ts
 * import { memoryPlatform } from "causey/memory";
 * import { search } from "causey/search";
 * import { fileReader } from "causey/search/files";
 *
 * const app = search({ platform: await memoryPlatform(), readFile: fileReader });
 * ```
 */
export const fileReader: FileReader = {
  name: "search/read-file",
  kind: "files",
  overrun: (why) => refused(`the file cannot be read: ${why}`),
  load: () =>
    Promise.resolve(async function* (file) {
      // Before the parser of PDF takes the bytes for itself.
      const format = documentKind(file) === null ? "text" : "markdown";
      return { ...(yield* readAny(file, textBudget(refused), 1)), format };
    }),
  pictures: {
    name: "search/pdf-pictures",
    kind: "files",
    overrun: (why) => refused(`the pictures cannot be read: ${why}`),
    load: async () => (await import("./pdf-pictures.ts")).pdfPictures,
  },
};

/** Mails that are attached to each other. */
const MAX_LEVELS = 4;

async function* readAny(
  file: ReadableFile,
  budget: TextBudget,
  level: number,
): AsyncGenerator<void, DocumentText, void> {
  const kind = documentKind(file) ?? "text";
  const read = await (kind === "rtf" ? rtfReader() : packagedReader(kind));
  const readAttached: AttachedReader | null =
    level < MAX_LEVELS ? (attached) => readAny(attached, budget, level + 1) : null;
  try {
    return yield* read(file, budget, readAttached);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new ApiError("unsupported_file", {
      message: `unsupported_file_type: "${file.key.slice(0, 128)}" cannot be read as ${kind.toUpperCase()}: ${why.slice(0, 200)}`,
    });
  }
}

type Reader = (
  file: ReadableFile,
  budget: TextBudget,
  readAttached: AttachedReader | null,
) => Generator<void, DocumentText, void> | AsyncGenerator<void, DocumentText, void>;

async function rtfReader(): Promise<Reader> {
  const { rtfText } = await import("./rtf/rtf-text.ts");
  return ({ bytes }, budget) => rtfText(bytes, budget);
}

function packagedReader(kind: PackagedKind): Promise<Reader> {
  return readerOf(kind).catch((error: unknown) => {
    const message = `${kind.toUpperCase()} files: Install the package ${PACKAGES[kind]}`;
    throw new ApiError("missing_capability", { message, cause: error });
  });
}

async function readerOf(kind: PackagedKind): Promise<Reader> {
  if (kind === "pdf") {
    const { pdfText } = await import("./pdf.ts");
    return ({ bytes, scans }, budget) => pdfText(bytes, budget, scans);
  }
  const read = await bytesReader(kind);
  return ({ bytes }, budget, readAttached) => read(bytes, budget, readAttached);
}

type BytesReader = (
  bytes: Uint8Array<ArrayBuffer>,
  budget: TextBudget,
  readAttached: AttachedReader | null,
) => Generator<void, DocumentText, void> | AsyncGenerator<void, DocumentText, void>;

async function bytesReader(kind: Exclude<PackagedKind, "pdf">): Promise<BytesReader> {
  if (kind === "text") return (await import("./guessed-text.ts")).guessedText;
  if (kind === "eml") return (await import("./mail.ts")).mailText;
  if (kind === "docx") return (await import("./docx.ts")).docxText;
  if (kind === "pptx") return (await import("./pptx.ts")).pptxText;
  if (kind === "xlsx") return (await import("./xlsx.ts")).xlsxText;
  if (kind === "odf") return (await import("./open-document.ts")).openDocumentText;
  return (await import("./epub.ts")).epubText;
}
