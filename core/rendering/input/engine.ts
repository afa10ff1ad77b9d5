/** Makes the Markdown instead of causey's own converter: `turndownEngine()` of `causey/rendering/turndown`. */
export interface MarkdownEngine {
  /** The Markdown of a document, without frontmatter. Relative addresses start from `base`, or stay as they are. */
  convert(html: string, base: string | null): Promise<string>;
}
