import type { TextBudget } from "../../files/text-budget.ts";
import { xhtmlAsHtml } from "../../text/xhtml-as-html.ts";
import { isCode } from "../text/code-blocks.ts";
import { csvText } from "./csv-text.ts";
import { withoutData } from "./embedded-data.ts";
import type { ReadFileResult } from "./file-reader.ts";
import { frontMatterOf } from "./front-matter.ts";
import { htmlSteps } from "./html-text.ts";
import { jsonLinesParagraphs, jsonParagraphs } from "./json-text.ts";
import { markupText } from "./markup.ts";
import { notebookText } from "./notebook.ts";
import { subtitleText } from "./subtitles.ts";

/** A text file, decoded. */
export interface DecodedFile {
  readonly key: string;
  readonly contentType: string;
  readonly text: string;
  /** HTML stays as it is. */
  readonly keepHtml: boolean;
}

/** Turns a text file into Markdown by its name, else by its media type; a text of no known format stays as it is. */
export function* convertText(
  { key, contentType, text, keepHtml }: DecodedFile,
  budget: TextBudget,
): Generator<void, ReadFileResult, void> {
  const kind = textKind(key, contentType);
  switch (kind) {
    case "markdown":
      return markdown(text);
    case "html":
      return yield* html({ key, contentType, text, keepHtml }, budget);
    case "csv":
      return {
        text: yield* csvText(text, /\.(?:tsv|tab)$/iu.test(key), budget),
        format: "markdown",
      };
    case "notebook":
      return readOr(text, yield* notebookText(text, budget));
    case "json":
      return asText((yield* jsonParagraphs(text, budget)) ?? text);
    case "jsonl": {
      const read = yield* jsonLinesParagraphs(text, budget);
      return read === null ? asText(text) : { ...read, format: "text" };
    }
    case "subtitles":
      return { text: yield* subtitleText(text, budget), format: "text" };
    case "cards":
      return asText(unfolded(text));
    case "rst":
    case "asciidoc":
    case "org":
      return markdown(yield* markupText(text, kind));
    default:
      return { text, format: kind };
  }
}

function* html(
  { key, contentType, text, keepHtml }: DecodedFile,
  budget: TextBudget,
): Generator<void, ReadFileResult, void> {
  const isXhtml =
    /\.xht(?:ml)?$/iu.test(key) || /^\s*application\/xhtml\+xml\b/iu.test(contentType);
  const page = isXhtml ? yield* xhtmlAsHtml(text) : text;
  if (keepHtml) return { text: page, format: "html" };
  return { text: yield* htmlSteps(page, budget), format: "markdown" };
}

/** The lines of a calendar or an address card as they were: programs fold them within words, and write signs for line ends (RFC 5545, 3.1). */
function unfolded(text: string): string {
  return text
    .replaceAll(/\r?\n[ \t]/gu, "")
    .replaceAll(/\\([nN,;\\])/gu, (_, sign: string) => (/n/iu.test(sign) ? "\n" : sign));
}

function readOr(source: string, read: string | null): ReadFileResult {
  return read === null ? asText(source) : { text: read, format: "markdown" };
}

function asText(text: string): ReadFileResult {
  return { text: withoutData(text), format: "text" };
}

/** Front matter is about the text: its title is the outermost heading, and the rest metadata. */
function markdown(source: string): ReadFileResult {
  const text = withoutData(source);
  const front = frontMatterOf(text);
  if (front === null) return { text, format: "markdown" };
  const { fields, body } = front;
  const { title, description, summary } = fields;
  const own = /^\s*#[ \t]+(?<title>.*)/u.exec(body)?.groups?.["title"]?.trim();
  const above = [
    title === undefined || String(title) === own ? "" : `# ${String(title)}`,
    String(description ?? summary ?? ""),
  ].filter((part) => part !== "");
  return { text: [...above, body.trimStart()].join("\n\n"), format: "markdown", fields };
}

type TextKind =
  | "markdown"
  | "html"
  | "csv"
  | "jsonl"
  | "json"
  | "notebook"
  | "subtitles"
  | "cards"
  | "rst"
  | "asciidoc"
  | "org"
  | "code"
  | "text";

const KINDS: readonly (readonly [kind: TextKind, name: RegExp, type: RegExp])[] = [
  ["markdown", /\.(?:md|mdx|markdown|mkd|qmd|rmd)$/iu, /^text\/(?:x-)?markdown$/u],
  ["html", /\.(?:html?|xht(?:ml)?)$/iu, /^(?:text\/html|application\/xhtml\+xml)$/u],
  ["csv", /\.(?:csv|tsv|tab|psv)$/iu, /^text\/(?:csv|tab-separated-values)$/u],
  ["jsonl", /\.(?:jsonl|ndjson)$/iu, /^application\/(?:jsonl|x-ndjson|jsonlines)$/u],
  ["notebook", /\.ipynb$/iu, /^application\/x-ipynb\+json$/u],
  ["json", /\.json$/iu, /^application\/json$/u],
  ["subtitles", /\.(?:srt|vtt)$/iu, /^(?:text\/(?:vtt|srt)|application\/x-subrip)$/u],
  ["cards", /\.(?:ics|vcf|vcard)$/iu, /^text\/(?:calendar|(?:x-)?vcard)$/u],
  ["rst", /\.(?:rst|rest)$/iu, /^text\/(?:x-rst|prs\.fallenstein\.rst)$/u],
  ["asciidoc", /\.(?:adoc|asciidoc)$/iu, /^text\/asciidoc$/u],
  ["org", /\.org$/iu, /^text\/(?:x-)?org$/u],
];

function textKind(key: string, contentType: string): TextKind {
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  // Converters that turn pages into Markdown keep their names.
  if (type === "text/markdown") return "markdown";
  // The domain of a web page tells nothing about its format.
  const name = key.replace(/^https?:\/\/[^/]*/iu, "");
  const known =
    KINDS.find(([, names]) => names.test(name)) ?? KINDS.find(([, , types]) => types.test(type));
  return known?.[0] ?? (isCode(key) ? "code" : "text");
}
