import { decodeText } from "../../text/decode-text.ts";
import { ApiError } from "../../http/api-error.ts";
import type { LongTask } from "../../ports.ts";
import { isCode } from "../text/code-blocks.ts";
import type { ReadableFile, ReadFileResult } from "./file-reader.ts";
import { textBudget } from "../../files/text-budget.ts";
import { refused } from "./refused.ts";

/** Files of text: decodes them, and makes Markdown of HTML, CSV and JSON. `html` of the input: HTML stays as it is. */
export const readText: LongTask<ReadableFile & { readonly keepHtml: boolean }, ReadFileResult> = {
  name: "search/read-text",
  overrun: (why) => refused(`the file cannot be read: ${why}`),
  async load() {
    const [
      { htmlSteps },
      { csvRows, separatorOf },
      { markdownTable },
      { jsonLinesParagraphs, jsonParagraphs },
    ] = await Promise.all([
      import("./html-text.ts"),
      import("./csv.ts"),
      import("./markdown-table.ts"),
      import("./json-text.ts"),
    ]);
    return function* ({ key, contentType, bytes, keepHtml }) {
      // Clients declare any text as UTF-8: an invalid one has another encoding.
      const text = yield* decodeText(
        bytes,
        contentType.replace(/;\s*charset\s*=\s*"?utf-?8"?/i, ""),
      );
      checkText(text, key);
      yield;
      const kind = textKind(key, contentType);
      const budget = textBudget(refused);
      if (kind === "markdown") return { text, format: "markdown" };
      if (kind === "html")
        return keepHtml
          ? { text, format: "html" }
          : { text: yield* htmlSteps(text, budget), format: "markdown" };
      if (kind === "csv") {
        const separator = /\.tsv$/i.test(key) ? "\t" : separatorOf(text);
        return { text: markdownTable(yield* csvRows(text, separator), budget), format: "markdown" };
      }
      if (kind === "json" || kind === "jsonl") {
        const read = yield* kind === "json"
          ? jsonParagraphs(text, budget)
          : jsonLinesParagraphs(text, budget);
        return { text: read ?? text, format: "text" };
      }
      return { text, format: kind === "code" ? "code" : "text" };
    };
  },
};

const KINDS: readonly (readonly [kind: string, name: RegExp, type: RegExp])[] = [
  ["markdown", /\.(?:md|mdx|markdown)$/i, /^text\/markdown$/],
  ["html", /\.(?:html?|xhtml)$/i, /^(?:text\/html|application\/xhtml\+xml)$/],
  ["csv", /\.(?:csv|tsv)$/i, /^text\/(?:csv|tab-separated-values)$/],
  ["jsonl", /\.(?:jsonl|ndjson)$/i, /^application\/(?:jsonl|x-ndjson|jsonlines)$/],
  ["json", /\.json$/i, /^application\/json$/],
];

function textKind(key: string, contentType: string): string {
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  // Converters that turn pages into Markdown keep their names.
  if (type === "text/markdown") return "markdown";
  const known = KINDS.find(([, name]) => name.test(key)) ?? KINDS.find(([, , of]) => of.test(type));
  return known?.[0] ?? (isCode(key) ? "code" : "text");
}

/** Signs that rarely occur in a text: control characters other than blanks and line ends, and undecodable bytes. */
const CONTROLS = /(?!\s)\p{Cc}|\u{FFFD}/gu;

/** Throws 7060 for bytes that only decode by chance, as any bytes do in a charset of single bytes. */
function checkText(text: string, key: string): void {
  const odd = text.match(CONTROLS)?.length ?? 0;
  // One in fifty: real texts hold a few, of bad conversions and of terminals, but never NUL.
  const isFew = odd * 50 <= text.length || (odd < 3 && odd * 2 < text.length);
  if (isFew && !text.includes("\0")) return;
  throw new ApiError("unsupported_file", {
    message: `unsupported_file_type: "${key.slice(0, 128)}" holds bytes that are not text`,
  });
}
