import { runInSteps } from "../../work/background.ts";
import { ApiError } from "../../http/api-error.ts";
import type { LongTask, Plain, Steps } from "../../ports.ts";
import {
  binaryKind,
  type DocumentKind,
  documentKind,
  pictureType,
  type DocumentText,
  type ReadableFile,
  type ReadFileResult,
} from "../read/file-reader.ts";
import { withoutData } from "../read/embedded-data.ts";
import { boundedWarnings, type FileWarning } from "../read/file-warning.ts";
import { type PictureReading, readScans, textOfPicture } from "./read-pictures.ts";
import { readText } from "../read/read-text.ts";
import type { WorkOptions } from "../models/search-deps.ts";

/** Bytes of one file (docs/compatibility.md). */
export const FILE_LIMIT: number = 4 * 1024 * 1024;

/** The text of a file and how it is structured. */
export type ExtractedText = DocumentText & { readonly format: "markdown" | "text" | "code" };

/** Bytes of text that are read at once: a thread would take longer to be asked. */
const AT_ONCE = 32_768;
const never = new AbortController().signal;

/** A file as it is kept. */
interface SourceFile {
  readonly key: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** Says how the pictures of a file are read: null = not at all, "later" = this attempt ends with that word. */
export type PictureChoice<Later> = () => Promise<PictureReading | Later | null>;

/**
 * Reads a file as text by its first bytes, its name and its media type; `choose` is asked where only its pictures have text.
 * Throws 7060 for what cannot be read, with the reason.
 */
export async function extractText<Later extends "later" = never>(
  file: SourceFile,
  deps: WorkOptions,
  choose: PictureChoice<Later>,
): Promise<ExtractedText | Later> {
  // Its bytes are handed over, and the caller stores them.
  const copy = { key: file.key, contentType: file.contentType, bytes: new Uint8Array(file.bytes) };
  const kind = documentKind(copy);
  if (kind !== null) return documentText(file, kind, deps, choose);
  const type = pictureType(copy);
  const reading = type === null ? null : await choose();
  if (reading === "later") return reading;
  if (type !== null && reading !== null) {
    const text = await textOfPicture(reading, { bytes: copy.bytes, type });
    if (text.trim() === "") throw unsupported(copy, "is a picture without text");
    return { text, format: "markdown", warnings: [] };
  }
  const what = binaryKind(copy);
  if (what !== null) throw unsupported(copy, `is ${what}`);
  const found = (await asText(copy, deps)) ?? (await guessedText(file, deps));
  const { text, format, warnings = [], ...about } = found;
  const rest = { ...about, warnings: boundedWarnings(warnings) };
  if (format !== "html") return { text, format, ...rest };
  const markdown = (await deps.htmlToMarkdown?.(text, deps.owner)) ?? text;
  return { text: withoutData(markdown), format: "markdown", ...rest };
}

async function documentText<Later extends "later">(
  file: SourceFile,
  kind: DocumentKind,
  deps: WorkOptions,
  choose: PictureChoice<Later>,
): Promise<ExtractedText | Later> {
  const { readFile } = deps;
  if (readFile === undefined)
    throw unsupported(file, `is ${kind.toUpperCase()}, which needs the option readFile`);
  const found = await read(readFile, { ...file, bytes: new Uint8Array(file.bytes) }, deps, false);
  const whole = await withScans(file, found, deps, choose);
  if (whole === "later") return whole;
  const { text, pages = [], warnings = [] } = whole;
  if (text.trim() === "") throw unsupported(file, `holds no text${whyEmpty(warnings)}`);
  return { text, format: "markdown", pages, warnings: boundedWarnings(warnings) };
}

/** Returns why nothing of a document was read, where more is known than that its pages are empty. */
function whyEmpty(warnings: readonly FileWarning[]): string {
  const known = warnings.find(({ code }) => code !== "page_without_text");
  return known === undefined ? ", perhaps only pictures of it" : `: ${known.message.slice(0, 300)}`;
}

/** Returns a document with the texts of the pages that hold only pictures. */
async function withScans<Later extends "later">(
  { key, contentType, bytes }: SourceFile,
  found: ReadFileResult,
  deps: WorkOptions,
  choose: PictureChoice<Later>,
): Promise<ReadFileResult | Later> {
  const { readFile } = deps;
  const finder = readFile?.pictures;
  const isWhole = (found.blankPages ?? []).length === 0;
  if (isWhole || readFile === undefined || finder === undefined) return found;
  const reading = await choose();
  if (reading === null) return found;
  if (reading === "later") return reading;
  const { scans, warnings: lost } = await readScans(bytes, found, { reading, finder, deps });
  const again = { key, contentType, bytes: new Uint8Array(bytes), scans };
  const whole = await read(readFile, again, deps, false);
  return { ...whole, warnings: [...(whole.warnings ?? []), ...lost] };
}

function asText(file: ReadableFile, deps: WorkOptions): Promise<ReadFileResult | null> {
  const keepHtml = deps.htmlToMarkdown !== undefined;
  return read(readText, { ...file, keepHtml }, deps, file.bytes.length <= AT_ONCE);
}

/** Reads a text that does not say its charset as the one that it is most like. */
async function guessedText(file: SourceFile, deps: WorkOptions): Promise<ReadFileResult> {
  const { key, contentType } = file;
  const { readFile } = deps;
  if (readFile === undefined) throw unsupported(file, "is not UTF-8 and names no charset");
  const copy = { key, contentType, bytes: new Uint8Array(file.bytes) };
  const { text: decoded, warnings: guessed = [] } = await read(readFile, copy, deps, false);
  const utf8 = {
    key,
    contentType: mediaType(contentType),
    bytes: new TextEncoder().encode(decoded),
  };
  const found = await asText(utf8, deps);
  if (found === null) throw unsupported(file, "holds bytes that are not text");
  return { ...found, warnings: [...guessed, ...(found.warnings ?? [])] };
}

/** The media type alone: what is decoded has another charset than it says. */
function mediaType(contentType: string): string {
  return contentType.split(";")[0] ?? "";
}

function read<I extends Plain, O extends Plain>(
  task: LongTask<I, O, Steps<O>>,
  input: I,
  { platform: { background, system }, owner }: WorkOptions,
  atOnce: boolean,
): Promise<O> {
  const { closing = never } = system;
  return atOnce
    ? runInSteps(task, input, closing, system)
    : background.run(task, input, closing, owner);
}

function unsupported({ key }: Pick<SourceFile, "key">, why: string): ApiError {
  return new ApiError("unsupported_file", {
    message: `unsupported_file_type: "${key.slice(0, 128)}" ${why}`,
  });
}
