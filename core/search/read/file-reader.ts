import type { LongTask, Steps } from "../../ports.ts";
import type { PictureFinder } from "./page-pictures.ts";
import type { FileWarning } from "./file-warning.ts";

/** A file to read as text. */
export type ReadableFile = {
  readonly key: string;
  readonly contentType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Texts of pages that hold pictures alone, by the numbers of the pages. @default such pages stay empty */
  readonly scans?: Readonly<Record<string, string>>;
};

/** The text that was read from a document. */
export type DocumentText = {
  readonly text: string;
  /** Its pages or slides, in order. @default it has none */
  readonly pages?: readonly FilePage[];
  /** The parts that could not be read. @default all of it was read */
  readonly warnings?: readonly FileWarning[];
  /** Numbers of pages that have no text, perhaps only pictures of it. @default none */
  readonly blankPages?: readonly number[];
  /** Its properties, by names in lower case: metadata where the instance has such fields. @default none */
  readonly fields?: Readonly<Record<string, string | number | boolean>>;
};

/** The text that was read from a file. */
export type ReadFileResult = DocumentText & {
  readonly format: "markdown" | "text" | "html" | "code";
};

/** The start of a page or slide. */
export type FilePage = {
  /** Counted from 1. */
  readonly number: number;
  /** UTF-8 byte offset into the text. */
  readonly startByte: number;
};

/**
 * Reads documents (PDF, Office, EPUB, mail) as Markdown, and decodes texts that do not say their charset: `fileReader` of
 * `causey/search/files`. Throws 7060 with the reason.
 */
export type FileReader = LongTask<ReadableFile, ReadFileResult, Steps<ReadFileResult>> & {
  /** Finds the pictures of a page of a PDF, for `ocr`. @default pages without text stay empty */
  readonly pictures?: PictureFinder;
};

/** Formats that have to be converted to text: known by their first bytes, else by their names. */
export type DocumentKind = "pdf" | "docx" | "pptx" | "xlsx" | "odf" | "rtf" | "epub" | "eml";

/** Pages that browsers save as one file (RFC 2557), and files of several mails (RFC 4155), are mails. */
const MAIL = /^(?:eml|mht(?:ml)?|mbox)$/;
const NAME = /\.(pdf|docx|pptx|xlsx|f?od[tspg]|rtf|epub|eml|mht(?:ml)?|mbox)$/i;
const TYPES: ReadonlyMap<string, DocumentKind> = new Map([
  ["application/pdf", "pdf"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["application/epub+zip", "epub"],
  ["application/rtf", "rtf"],
  ["text/rtf", "rtf"],
  ["message/rfc822", "eml"],
  ["application/mbox", "eml"],
  ["multipart/related", "eml"],
]);

/** Types of OpenDocument begin so. Their packages have the type at byte 38, unpacked (OpenDocument 1.3, part 2, section 3.3). */
const OPEN_DOCUMENT = "application/vnd.oasis.opendocument.";
const TYPE_AT = 38;

/** Returns the kind of a document; null for all else. */
export function documentKind({ key, contentType, bytes }: ReadableFile): DocumentKind | null {
  if (beginsWith(bytes, "%PDF-")) return "pdf";
  if (beginsWith(bytes, String.raw`{\rtf`)) return "rtf";
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  // Converters that turn pages into Markdown keep their names, e.g. `https://example.com/report.pdf`.
  if (type === "text/markdown") return null;
  if (
    type.startsWith(OPEN_DOCUMENT) ||
    beginsWith(bytes.subarray(TYPE_AT, TYPE_AT + 64), OPEN_DOCUMENT)
  )
    return "odf";
  return kindOfName(key) ?? TYPES.get(type) ?? null;
}

function kindOfName(key: string): DocumentKind | undefined {
  const named = NAME.exec(key)?.[1]?.toLowerCase() ?? "";
  if (/^f?od/.test(named)) return "odf";
  if (MAIL.test(named)) return "eml";
  return named === "" ? undefined : (named as DocumentKind);
}

/** Returns the media type of a picture that can be read, by its first bytes; null for all else. */
export function pictureType({ bytes }: Pick<ReadableFile, "bytes">): string | null {
  return PICTURES.find(([, start]) => beginsWith(bytes, start))?.[0] ?? null;
}

const PICTURES: readonly (readonly [type: string, start: string])[] = [
  ["image/png", "\u0089PNG"],
  ["image/jpeg", "\u00ff\u00d8\u00ff"],
  ["image/gif", "GIF8"],
];

/** First bytes of binary files, whatever their names say. */
const BINARY: readonly (readonly [what: string, start: string])[] = [
  ["an archive", "PK\u0003\u0004"],
  ["an archive", "\u001f\u008b"],
  ["a program", "\u007fELF"],
  ["an old Office document: save it as DOCX, PPTX or XLSX", "\u00d0\u00cf\u0011\u00e0"],
  ["PostScript", "%!PS"],
];

/** Names the kind of a file that cannot be read; null for a possible text. */
export function binaryKind({ contentType, bytes }: ReadableFile): string | null {
  if (pictureType({ bytes }) !== null) return "a picture";
  const known = BINARY.find(([, start]) => beginsWith(bytes, start))?.[0];
  if (known !== undefined) return known;
  const type = /^(image|audio|video)\/(?!svg)/i.exec(contentType)?.[1]?.toLowerCase();
  return type === undefined ? null : `of type ${type}, which is not read`;
}

function beginsWith(bytes: Uint8Array, start: string): boolean {
  return Array.from(start, (sign) => sign.charCodeAt(0)).every((code, at) => bytes[at] === code);
}
