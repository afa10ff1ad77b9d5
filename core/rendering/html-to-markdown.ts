import { htmlToMarkdown as convert } from "./markdown/convert.ts";

/** Markdown of an HTML text without a browser, for whoever indexes or stores it: no frontmatter, links as they are. */
export function htmlToMarkdown(html: string): string {
  return convert(html, { base: null, frontmatter: false }).markdown;
}
