import { ApiError } from "../../http/api-error.ts";
import type { HtmlToMarkdown } from "./html-text.ts";

/** Bytes of one file (docs/compatibility.md). */
export const FILE_LIMIT: number = 4 * 1024 * 1024;

/** The text of a file and how it is structured. */
export interface ExtractedText {
  readonly text: string;
  readonly format: "markdown" | "text";
}

const MARKDOWN_NAME = /\.(?:md|mdx|markdown)$/i;
const HTML_NAME = /\.(?:html?|xhtml)$/i;

/** Reads a file as text by its name and its media type. Throws 7060 for what is no text. */
export async function extractText(
  file: { readonly key: string; readonly contentType: string; readonly bytes: Uint8Array },
  htmlToMarkdown?: HtmlToMarkdown,
): Promise<ExtractedText> {
  const type = file.contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  if (file.bytes.includes(0)) throw unsupported(file.key, type);
  let text: string;
  try {
    // The byte order mark stays, so that byte offsets are those of the file.
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(file.bytes);
  } catch {
    throw unsupported(file.key, type);
  }
  if (MARKDOWN_NAME.test(file.key) || type === "text/markdown") return { text, format: "markdown" };
  if (HTML_NAME.test(file.key) || type === "text/html" || type === "application/xhtml+xml") {
    const convert = htmlToMarkdown ?? (await import("./html-text.ts")).htmlText;
    return { text: await convert(text), format: "markdown" };
  }
  return { text, format: "text" };
}

function unsupported(key: string, type: string): ApiError {
  return new ApiError("unsupported_file", {
    message: `unsupported_file_type: "${key.slice(0, 128)}" (${type.slice(0, 64) || "no media type"}) is not UTF-8 text; send text, Markdown or HTML`,
  });
}
