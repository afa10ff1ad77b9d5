import { appendAll } from "../../text/append-all.ts";
import type { TextBudget } from "../../files/text-budget.ts";
import type { DocumentText } from "../read/file-reader.ts";
import type { FileWarning } from "../read/file-warning.ts";
import { markdownTable } from "../read/markdown-table.ts";
import { refused } from "../read/refused.ts";
import { withoutSoftHyphens } from "../read/soft-hyphens.ts";
import { type DrawingReader, drawingTexts, drawnParagraphs } from "./drawings.ts";
import {
  checkParts,
  mainPart,
  openPackage,
  parseXml,
  type Relation,
  relations,
} from "./package-parts.ts";
import { cellStyles } from "./xlsx-dates.ts";
import { sheetRows } from "./xlsx-sheet.ts";

/**
 * Returns the cells of an XLSX workbook: each sheet a table below its name, with its comments, and the texts of its charts
 * and boxes. Dates and times are ISO 8601; formulas have the results that were stored; a merged cell's value is in all of it.
 */
export function* xlsxText(
  bytes: Uint8Array,
  budget: TextBudget,
): Generator<void, DocumentText, void> {
  const parts = openPackage(bytes);
  const main = yield* mainPart(parts, /^xl\/workbook\.xml$/u);
  const related = yield* relations(parts, main);
  const target = (type: string): string => related.find((one) => one.type === type)?.target ?? "";
  const sheets: { readonly name: string; readonly path: string }[] = [];
  let is1904 = false;
  yield* parseXml(parts.text(main), {
    open(tag, attributes) {
      if (tag === "workbookPr") is1904 = /^(?:1|true)$/u.test(attributes["date1904"] ?? "");
      if (tag !== "sheet") return;
      const { name = "Sheet" } = attributes;
      const path = related.find(({ id }) => id === attributes["r:id"])?.target ?? "";
      sheets.push({ name, path });
    },
  });
  if (sheets.length === 0) throw refused("the file holds no sheets");
  checkParts(sheets);
  const shared = yield* sharedStrings(
    parts.text(target("sharedStrings") || "xl/sharedStrings.xml"),
    budget,
  );
  const styles = yield* cellStyles(parts.text(target("styles") || "xl/styles.xml"));
  const warnings: FileWarning[] = [];
  const reader = { parts, budget, warnings };
  const out: string[] = [];
  for (const { name, path } of sheets) {
    const xml = parts.optional(path, warnings);
    const { rows, missing } = yield* sheetRows(xml, { shared, styles, is1904, budget });
    if (missing > 0)
      warnings.push({
        code: "value_missing",
        message: `sheet "${name.slice(0, 100)}": formulas without a stored result: ${missing}`,
      });
    const beside = yield* besideSheet(yield* relations(parts, path), reader);
    const blocks = [markdownTable(rows, budget), ...beside].filter((block) => block !== "");
    if (blocks.length > 0) out.push([`## ${name}`, ...blocks].join("\n\n"));
    yield;
  }
  return { text: out.join("\n\n"), warnings };
}

/** Returns what belongs to a sheet and lies in other parts: comments, boxes of text and charts. */
function* besideSheet(
  related: readonly Relation[],
  reader: DrawingReader,
): Generator<void, string[], void> {
  const { parts, budget, warnings } = reader;
  const blocks: string[] = [];
  for (const { type, target } of related) {
    if (type === "comments" || type === "threadedComment")
      appendAll(blocks, yield* commentTexts(parts.optional(target, warnings), budget));
    else if (type === "drawing") {
      appendAll(blocks, yield* drawnParagraphs(parts.optional(target, warnings), budget));
      appendAll(blocks, yield* drawingTexts(yield* relations(parts, target), reader));
    }
  }
  return blocks;
}

/** The beginning of the text that older programs show in place of a conversation, which has a part of its own. */
const PLACEHOLDER = "[Threaded comment]";

/** Returns the comments of a sheet (ECMA-376, part 1, section 18.7; [MS-XLSX], section 2.6.203), each with its cell. */
function* commentTexts(xml: string, budget: TextBudget): Generator<void, string[], void> {
  const out: string[] = [];
  let [cell, comment, isText] = ["", "", false];
  yield* parseXml(xml, {
    open(name, { ref = "" }) {
      if (name === "comment" || name === "threadedComment") [cell, comment] = [ref, ""];
      isText = name === "t" || (name === "text" && cell !== "");
    },
    text(text) {
      if (!isText) return;
      budget.take(text.length);
      comment += text;
    },
    close(name) {
      isText = false;
      if (name !== "comment" && name !== "threadedComment") return;
      const text = comment.replaceAll(/\s+/gu, " ").trim();
      if (text !== "" && !text.startsWith(PLACEHOLDER)) out.push(`Comment on ${cell}: ${text}`);
    },
  });
  return out;
}

function* sharedStrings(xml: string, budget: TextBudget): Generator<void, string[], void> {
  const out: string[] = [];
  let [isText, isReading] = [false, false];
  yield* parseXml(xml, {
    open(name) {
      if (name === "si") out.push("");
      // The phonetic reading of East Asian words does not belong to the text.
      else if (name === "rPh") isReading = true;
      else if (name === "t") isText = !isReading;
    },
    text(text) {
      if (!isText) return;
      budget.take(text.length);
      out[out.length - 1] += withoutSoftHyphens(text);
    },
    close(name) {
      if (name === "t") isText = false;
      else if (name === "rPh") isReading = false;
    },
  });
  return out;
}
