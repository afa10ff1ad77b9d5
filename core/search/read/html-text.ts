import { Parser } from "htmlparser2";
import { type TextBudget, textBudget } from "../../files/text-budget.ts";
import { refused } from "./refused.ts";
import { withoutSoftHyphens } from "./soft-hyphens.ts";

/** Turns an HTML document into Markdown or plain text, on behalf of `owner` (`Background.run`). */
export type HtmlToMarkdown = (html: string, owner?: string) => string | Promise<string>;

const SKIPPED: ReadonlySet<string> = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "iframe",
  "object",
]);
const BLOCKS: ReadonlySet<string> = new Set([
  "address",
  "article",
  "aside",
  "blockquote",
  "br",
  "dd",
  "div",
  "dl",
  "dt",
  "fieldset",
  "figcaption",
  "figure",
  "footer",
  "form",
  "h1",
  "h2",
  "h3",
  "h4",
  "h5",
  "h6",
  "header",
  "hr",
  "li",
  "main",
  "nav",
  "ol",
  "p",
  "pre",
  "section",
  "table",
  "td",
  "th",
  "tr",
  "ul",
  "title",
]);

/** How blocks begin that do not begin a paragraph. */
const BREAKS: Readonly<Record<string, string>> = { br: "\n", tr: "\n", td: " ", th: " " };

/** Levels of elements: browsers read no more of HTML, and each level costs the parser something at every element. */
export const MAX_LEVELS = 512;
/** Why a document with more of them is refused. */
export const TOO_DEEP: string = `its elements are nested more than ${MAX_LEVELS} levels deep`;
/** Characters that are parsed between two yields: a few milliseconds of work. */
const STEP = 65_536;

/**
 * Returns the text of an HTML document: blocks become paragraphs, headings Markdown headings, list items bullets. A
 * stand-in for a full converter, which `search({ htmlToMarkdown })` takes.
 */
export function* htmlSteps(
  html: string,
  budget: TextBudget = textBudget(refused),
): Generator<void, string, void> {
  const out: string[] = [];
  let levels = 0;
  let skipping = 0;
  const parser = new Parser({
    onopentag(name, { role, "epub:type": type }) {
      if (++levels > MAX_LEVELS) throw refused(TOO_DEEP);
      if (SKIPPED.has(name)) skipping++;
      if (skipping > 0) return;
      const level = /^h([1-6])$/.exec(name)?.[1] ?? (name === "title" ? "1" : undefined);
      if (level !== undefined) out.push(`\n\n${"#".repeat(Number(level))} `);
      else if (name === "li") out.push("\n- ");
      // The number of a note does not belong to the word before it.
      else if (type === "noteref" || role === "doc-noteref") out.push(" ");
      else if (BLOCKS.has(name)) out.push(BREAKS[name] ?? "\n\n");
    },
    ontext(text) {
      if (skipping > 0) return;
      budget.take(text.length);
      out.push(withoutSoftHyphens(text).replaceAll(/\s+/g, " "));
    },
    onclosetag(name) {
      levels--;
      if (SKIPPED.has(name)) skipping = Math.max(0, skipping - 1);
      else if (skipping === 0 && /^(?:h[1-6]|p|title)$/.test(name)) out.push("\n\n");
    },
  });
  for (let at = 0; at < html.length; at += STEP) {
    if (at > 0) yield;
    parser.write(html.slice(at, at + STEP));
  }
  parser.end();
  return (
    out
      .join("")
      .replaceAll(/[^\S\n]*\n[^\S\n]*/g, "\n")
      // A heading without a text.
      .replaceAll(/^#{1,6}$/gmu, "")
      .replaceAll(/\n{3,}/g, "\n\n")
      .trim()
  );
}
