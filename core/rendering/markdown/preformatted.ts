import { languageOf } from "./code-block.ts";
import type { Attributes } from "./html-events.ts";

/** Preformatted text that is being read. */
export interface Preformatted {
  /** The name of the element that began it. */
  readonly name: string;
  /** The text in pieces: looking at the end of one long text after every piece would copy it each time. */
  readonly parts: string[];
  language: string;
  /** The elements that are open inside. */
  readonly open: OpenInside[];
  /** A line has ended whose line break has not been read: generators leave it to the style sheet or write it. */
  isLineDue: boolean;
}

interface OpenInside {
  readonly name: string;
  /** For an element that is a line of its own, how many parts there were when it began; else null. */
  readonly lineStart: number | null;
}

/** Begins preformatted text. */
export function preformatted(name: string, language: string): Preformatted {
  return { name, parts: [], language, open: [], isLineDue: false };
}

/**
 * Classes of line numbers: Pygments `lineno`, `linenos`; Chroma `ln`, `lnt`; Rouge `rouge-gutter`, `gutter`; Hexo and Expressive
 * Code `gutter`; highlightjs-line-numbers `hljs-ln-numbers`; GitHub `blob-num`; react-syntax-highlighter `linenumber`,
 * `react-syntax-highlighter-line-number`; Prism `line-numbers-rows`.
 */
const NUMBERS =
  /(?:^|\s)(?:linenos?|linenumbers?|line-?numbers?(?:-rows)?|lineNumbers?|lnt?|(?:[\w-]+-)?gutter|hljs-ln-numbers|blob-num|[\w-]+-line-?number)(?:\s|$)/u;

/** Elements in code that work on it and are no part of it. */
const tools: ReadonlySet<string> = new Set(["button", "clipboard-copy", "figcaption", "select"]);

/** Whether an element inside preformatted text stands outside of the code. */
export function isBesideCode(name: string, attributes: Attributes): boolean {
  const { class: classes } = attributes;
  if (classes !== undefined && name !== "code" && NUMBERS.test(classes.slice(0, 1000))) return true;
  return tools.has(name);
}

/** Classes of lines: Shiki, Hexo, GitLab `line`; Docusaurus `token-line`; rehype `code-line`; Expressive Code `ec-line`. */
const LINES = /(?:^|\s)(?:line|(?:token|code|ec|view)-line)(?:\s|$)/u;
const STYLED_LINES = /(?:^|;)\s*display\s*:\s*(?:block|flex|grid|table-row)\b/iu;
const blocks: ReadonlySet<string> = new Set(["div", "p"]);

function isLine(name: string, attributes: Attributes): boolean {
  if (name === "tr" || name === "li") return true;
  if (name !== "span" && name !== "div" && name !== "code") return false;
  const { class: classes, style } = attributes;
  return (
    attributes["data-line"] !== undefined ||
    (classes !== undefined && LINES.test(classes.slice(0, 1000))) ||
    (name !== "div" && style !== undefined && STYLED_LINES.test(style.slice(0, 1000)))
  );
}

/** Opens an element inside preformatted text. */
export function openInside(pre: Preformatted, name: string, attributes: Attributes): void {
  if (name === "code") nameLanguage(pre, attributes);
  const isOwn = isLine(name, attributes);
  if (isOwn || blocks.has(name)) startLine(pre);
  pre.open.push({ name, lineStart: isOwn ? pre.parts.length : null });
}

/** Names the language of the code, and drops a label in front of it that only repeats the language. */
function nameLanguage(pre: Preformatted, attributes: Attributes): void {
  if (pre.language === "") pre.language = languageOf(attributes);
  const isShort = pre.language !== "" && pre.parts.length <= 4;
  if (isShort && pre.parts.join("").trim().toLowerCase() === pre.language) pre.parts.length = 0;
}

/** Closes an element inside preformatted text. */
export function closeInside(pre: Preformatted): void {
  const ended = pre.open.pop();
  if (ended === undefined || ended.lineStart === null) return;
  // A line without text is a line too.
  pre.isLineDue = pre.parts.length === ended.lineStart || !isAtLineStart(pre);
}

/** Adds text. Between the cells of a table there is only the white space of the markup. */
export function addInside(pre: Preformatted, text: string): void {
  const { name } = pre.open.at(-1) ?? pre;
  if (tableParts.has(name) && text.trim() === "") return;
  const clean = text.replaceAll(/\r\n?/gu, "\n");
  if (clean === "") return;
  if (pre.isLineDue) {
    pre.isLineDue = false;
    // White space up to a line break is the end of the line.
    if (!/^[\t ]*\n/u.test(clean)) pre.parts.push("\n");
  }
  pre.parts.push(clean);
}

const tableParts: ReadonlySet<string> = new Set([
  "table",
  "thead",
  "tbody",
  "tfoot",
  "tr",
  "ol",
  "ul",
]);

export function breakLine(pre: Preformatted): void {
  pre.isLineDue = false;
  pre.parts.push("\n");
}

function startLine(pre: Preformatted): void {
  if (pre.isLineDue || !isAtLineStart(pre)) breakLine(pre);
}

function isAtLineStart({ parts }: Preformatted): boolean {
  return parts.length === 0 || parts.at(-1)?.endsWith("\n") === true;
}

/** Whether a text is nothing but the numbers of lines, each one more than the one before it. */
export function isNumbering(text: string): boolean {
  const numbers = text.trim().split(/\s+/u);
  return numbers.every(
    (number, i) => /^\d{1,7}$/u.test(number) && Number(number) === Number(numbers[0]) + i,
  );
}
