import type { TextBudget } from "../../files/text-budget.ts";
import type { DocumentText } from "../read/file-reader.ts";
import { markdownTable } from "../read/markdown-table.ts";
import { openPackage, parseXml } from "./package-parts.ts";
import { refused } from "../read/refused.ts";

/** Returns the text of a DOCX document: headings, paragraphs, lists and tables, in their order. */
export function* docxText(
  bytes: Uint8Array,
  budget: TextBudget,
): Generator<void, DocumentText, void> {
  const parts = openPackage(bytes);
  const main = parts.names.find((name) => /^word\/document\d*\.xml$/.test(name)) ?? "";
  if (main === "") throw refused("the file holds no document");
  const levels = yield* headingLevels(parts.text("word/styles.xml"));
  const reading = bodyReader(levels, budget);
  yield* parseXml(parts.text(main), reading);
  return { text: reading.blocks.join("\n\n") };
}

/** Returns the levels of headings by the ids of their styles: ids are translated, names are not. */
function* headingLevels(styles: string): Generator<void, Map<string, number>, void> {
  const levels = new Map<string, number>();
  let id = "";
  yield* parseXml(styles, {
    open(name, attributes) {
      if (name === "w:style") id = attributes["w:styleId"] ?? "";
      if (name !== "w:name") return;
      const said = /^(?:heading ([1-6])|(title))$/i.exec(attributes["w:val"] ?? "");
      if (said !== null) levels.set(id, said[2] === undefined ? Number(said[1]) : 1);
    },
  });
  return levels;
}

interface BodyReader {
  readonly blocks: string[];
  open(name: string, attributes: Readonly<Record<string, string>>): void;
  text(text: string): void;
  close(name: string): void;
}

function bodyReader(levels: ReadonlyMap<string, number>, budget: TextBudget): BodyReader {
  const blocks: string[] = [];
  let paragraph = "";
  let level = 0;
  let isItem = false;
  let isText = false;
  let rows: string[][] = [];
  let depth = 0;
  function endParagraph(): void {
    const text = paragraph.trim();
    if (depth > 0) {
      const row = rows.at(-1);
      if (row !== undefined && row.length > 0) row[row.length - 1] += `${text} `;
    } else if (text !== "")
      blocks.push(level > 0 ? `${"#".repeat(level)} ${text}` : isItem ? `- ${text}` : text);
  }
  const opened: Readonly<Record<string, (attributes: Readonly<Record<string, string>>) => void>> = {
    "w:p"() {
      [paragraph, level, isItem] = ["", 0, false];
    },
    "w:pStyle"(attributes) {
      level = levels.get(attributes["w:val"] ?? "") ?? 0;
    },
    "w:numPr"() {
      isItem = true;
    },
    "w:t"() {
      isText = true;
    },
    "w:tab"() {
      paragraph += " ";
    },
    "w:br"() {
      paragraph += "\n";
    },
    "w:tbl"() {
      if (depth++ === 0) rows = [];
    },
    "w:tr"() {
      if (depth === 1) rows.push([]);
    },
    "w:tc"() {
      if (depth === 1) rows.at(-1)?.push("");
    },
  };
  return {
    blocks,
    open: (name, attributes) => opened[name]?.(attributes),
    text(text) {
      if (!isText) return;
      budget.take(text.length);
      paragraph += text;
    },
    close(name) {
      if (name === "w:t") isText = false;
      else if (name === "w:p") endParagraph();
      else if (name === "w:tbl" && --depth === 0) blocks.push(markdownTable(rows, budget));
    },
  };
}
