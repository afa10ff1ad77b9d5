/** Markdown of an HTML text without a browser, for whoever indexes or stores it: no frontmatter, links as they are. */
export async function htmlToMarkdown(html: string): Promise<string> {
  const { convertHtml } = await import("./markdown/convert.ts");
  return convertHtml(html, { base: null, frontmatter: false }).markdown;
}
