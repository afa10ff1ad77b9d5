import { utf8 } from "../crypto/encoding.ts";
import { ApiError } from "../http/api-error.ts";
import type { Background } from "../ports.ts";
import type { ContentExtractor } from "./input/extractor.ts";
import { convertDocument, documentHead } from "./input/markdown.ts";

/** How {@link htmlToMarkdown} works. */
export interface ConversionDeps {
  readonly background: Background;
  /** Finds the main content, which alone is converted. @default the whole document is */
  readonly extract?: ContentExtractor | undefined;
}

const never = new AbortController().signal;

/**
 * Converts an HTML text to Markdown without a browser, to be indexed or stored: no frontmatter, links as they are. Main
 * content begins with the title of the document, which lies outside of it.
 */
export async function htmlToMarkdown(
  html: string,
  deps: ConversionDeps,
  owner?: string,
): Promise<string> {
  const { background, extract } = deps;
  const options = { base: null, frontmatter: false };
  const main = extract === undefined ? null : await mainContent(html, extract, background, owner);
  if (main === null) return convertDocument({ ...options, html }, background, never, owner);
  const markdown = await convertDocument({ ...options, html: main }, background, never, owner);
  const { title } = await background.run(documentHead, { ...options, html: main }, never, owner);
  const isThere = title === "" || markdown.slice(0, 2000).includes(title);
  return isThere ? markdown : `# ${title}\n\n${markdown}`;
}

/** The main content as a document; null for one that is too large to look for it, or where what looks for it is not installed. */
async function mainContent(
  html: string,
  extract: ContentExtractor,
  background: Background,
  owner: string | undefined,
): Promise<string | null> {
  const page = { bytes: utf8(html), contentType: "text/html;charset=utf-8" };
  try {
    return new TextDecoder().decode(await background.run(extract, page, never, owner));
  } catch (error) {
    const kind = error instanceof ApiError ? error.kind : null;
    if (kind === "page_too_large" || kind === "missing_capability") return null;
    throw error;
  }
}
