import type { Group } from "./sidebar.ts";
import type { SitePage } from "./pages.ts";

/** Returns the first paragraph of a page, as one line of plain text. */
function summaryOf(text: string): string {
  const paragraphs = text.replaceAll(/^```[\s\S]*?^```$/gmu, "").split(/\n{2,}/u);
  const first = paragraphs.find((one) => /^[\p{L}`*[]/u.test(one.trim())) ?? "";
  const plain = first.replaceAll(/\[([^\]]*)\]\([^)]*\)/gu, "$1").replaceAll(/\s+/gu, " ");
  const sentence = /^.*?[.!?](?= |$)/u.exec(plain.trim())?.[0] ?? plain.trim();
  return sentence.replace(/:$/u, ".");
}

/**
 * Returns the text of `llms.txt` (https://llmstxt.org/): the pages of the site with a sentence on each. Its links lead to
 * the pages' Markdown, which lies beside them.
 */
export function llmsText(pages: readonly SitePage[], groups: readonly Group[]): string {
  const overview = pages.find(({ source }) => source === "README.md");
  const sections = groups.map(({ text, pages: sources }) => {
    const lines = pages
      .filter(({ source }) => sources.includes(source))
      .map(({ path, title, text: page }) => `- [${title}](${path}): ${summaryOf(page)}`);
    return `## ${text}\n\n${lines.join("\n")}\n`;
  });
  return [`# causey\n\n> ${summaryOf(overview?.text ?? "")}\n`, ...sections].join("\n");
}
