import { runInSteps } from "../../work/background.ts";
import { ApiError } from "../../http/api-error.ts";
import type { LongTask, Plain, Steps } from "../../ports.ts";
import { documentKind, type FilePage, type ReadableFile, binaryKind } from "../read/file-reader.ts";
import { readText } from "../read/read-text.ts";
import type { WorkOptions } from "../models/search-deps.ts";

/** Bytes of one file (docs/compatibility.md). */
export const FILE_LIMIT: number = 4 * 1024 * 1024;

/** The text of a file and how it is structured. */
export interface ExtractedText {
  readonly text: string;
  readonly format: "markdown" | "text" | "code";
  /** Its pages or slides, in order. @default it has none */
  readonly pages?: readonly FilePage[];
}

/** Bytes of text that are read at once: a thread would take longer to be asked. */
const AT_ONCE = 32_768;
const never = new AbortController().signal;

/** Reads a file as text by its first bytes, its name and its media type. Throws 7060 for what cannot be read, with the reason. */
export async function extractText(
  file: { readonly key: string; readonly contentType: string; readonly bytes: Uint8Array },
  deps: WorkOptions,
): Promise<ExtractedText> {
  // Its bytes are handed over, and the caller stores them.
  const copy = { key: file.key, contentType: file.contentType, bytes: new Uint8Array(file.bytes) };
  const kind = documentKind(copy);
  if (kind !== null) {
    const { readFile } = deps;
    if (readFile === undefined)
      throw unsupported(copy, `is ${kind.toUpperCase()}, which needs the option readFile`);
    const { text, pages = [] } = await read(readFile, copy, deps, false);
    if (text.trim() === "") throw unsupported(copy, "holds no text, perhaps only pictures of it");
    return { text, format: "markdown", pages };
  }
  const what = binaryKind(copy);
  if (what !== null) throw unsupported(copy, `is ${what}`);
  const keepHtml = deps.htmlToMarkdown !== undefined;
  const atOnce = copy.bytes.length <= AT_ONCE;
  const { text, format } = await read(readText, { ...copy, keepHtml }, deps, atOnce);
  if (format !== "html") return { text, format };
  return { text: (await deps.htmlToMarkdown?.(text, deps.owner)) ?? text, format: "markdown" };
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

function unsupported({ key }: ReadableFile, why: string): ApiError {
  return new ApiError("unsupported_file", {
    message: `unsupported_file_type: "${key.slice(0, 128)}" ${why}`,
  });
}
