import { appendAll } from "../../text/append-all.ts";
import type { TextBudget } from "../../files/text-budget.ts";
import { markdownTable } from "../read/markdown-table.ts";
import { pictureText } from "./drawings.ts";
import { withoutSoftHyphens } from "../read/soft-hyphens.ts";
import type { XmlEvents } from "./package-parts.ts";
import type { XmlAttributes } from "./xml-names.ts";

/** The parts of a document that the reader of its body needs. */
export interface BodyContext {
  /** Levels of headings by the ids of their styles. */
  readonly levels: ReadonlyMap<string, number>;
  readonly budget: TextBudget;
  /** Notes and comments, by their element and id; each is taken by the paragraph that refers to it first. */
  readonly notes: Map<string, string>;
}

/** The paragraphs of a part of a document, and its notes where it is made of some. */
export interface BodyReader extends Required<XmlEvents> {
  readonly blocks: readonly string[];
  /** Texts of its notes by their ids. */
  readonly parts: ReadonlyMap<string, string>;
}

interface Paragraph {
  text: string;
  /** The level of a heading; 0 for other paragraphs. */
  level: number;
  isItem: boolean;
  /** Blocks that follow it: boxes that are anchored in it, and notes. */
  readonly behind: string[];
}

interface Table {
  readonly rows: string[][];
  /** Columns that the current cell spans. */
  span: number;
  /** Whether the current cell goes on from the one above. */
  isMerged: boolean;
}

/** Text that was deleted or moved away, earlier forms of properties, and readings beside words (ruby). */
const SKIPPED: ReadonlySet<string> = new Set([
  "w:del",
  "w:moveFrom",
  "w:pPrChange",
  "w:rPrChange",
  "w:rt",
  "w:tcPrChange",
  "w:trPrChange",
]);
/** Elements that stand for signs (ECMA-376, part 1, section 17.3.3). */
const SIGNS: ReadonlyMap<string, string> = new Map([
  ["w:tab", " "],
  ["w:ptab", " "],
  ["w:br", "\n"],
  ["w:cr", "\n"],
  ["w:noBreakHyphen", "-"],
  // Parts of a formula (section 22.1): apart, they stay words.
  ["m:r", " "],
  ["m:den", " /"],
  ["m:sub", " _"],
  ["m:sup", " ^"],
]);
/** Columns of a table that Word takes. */
const MAX_SPAN = 63;
const LABELS: Readonly<Record<string, string>> = { "w:footnote": "Note", "w:endnote": "Note" };

/** Reads the paragraphs and tables of a part; `note` is the element of its notes, if it is made of some. */
export function bodyReader(context: BodyContext, note = ""): BodyReader {
  const state: State = { ...context, note, sinks: [[]], paragraphs: [], tables: [] };
  const parts = new Map<string, string>();
  let [skipping, id, label, isText] = [0, "", "", false];
  return {
    blocks: state.sinks[0] ?? [],
    parts,
    open(name, attributes) {
      if (skipping > 0 || SKIPPED.has(name)) return void skipping++;
      if (name === "w:t" || name === "m:t") isText = true;
      else if (name === note) {
        id = attributes["w:id"] ?? "";
        label = LABELS[name] ?? `Comment by ${attributes["w:author"] ?? "somebody"}`;
        state.sinks.push([]);
      } else opened(state, name, attributes);
    },
    text(text) {
      const paragraph = state.paragraphs.at(-1);
      if (!isText || skipping > 0 || paragraph === undefined) return;
      context.budget.take(text.length);
      paragraph.text += withoutSoftHyphens(text);
    },
    close(name) {
      if (skipping > 0) return void skipping--;
      if (name === "w:t" || name === "m:t") isText = false;
      else if (name === note) {
        const text = (state.sinks.pop() ?? []).join(" ");
        if (text !== "") parts.set(id, `${label}: ${text}`);
      } else closed(state, name);
    },
  };
}

interface State extends BodyContext {
  readonly note: string;
  /** The lists that blocks are added to: of the body, a note, a cell, or of a box, which comes behind its paragraph. */
  readonly sinks: string[][];
  readonly paragraphs: Paragraph[];
  readonly tables: Table[];
}

function opened(state: State, name: string, attributes: XmlAttributes): void {
  const { paragraphs, tables, sinks } = state;
  const paragraph = paragraphs.at(-1);
  const value = attributes["w:val"];
  if (name === "w:p") paragraphs.push({ text: "", level: 0, isItem: false, behind: [] });
  else if (name === "w:tbl") tables.push({ rows: [], span: 1, isMerged: false });
  else if (name === "w:tr") tables.at(-1)?.rows.push([]);
  else if (name === "w:tc") {
    Object.assign(tables.at(-1) ?? {}, { span: 1, isMerged: false });
    sinks.push([]);
  } else if (name === "w:txbxContent") sinks.push(paragraph?.behind ?? sinks.at(-1) ?? []);
  else if (name === "w:gridSpan" || name === "w:vMerge") setCell(tables.at(-1), name, value);
  else if (paragraph !== undefined) inParagraph(state, paragraph, name, attributes);
}

function setCell(table: Table | undefined, name: string, value: string | undefined): void {
  if (table === undefined) return;
  if (name === "w:vMerge") table.isMerged = value !== "restart";
  else table.span = Math.min(MAX_SPAN, Math.max(1, Number(value) || 1));
}

function inParagraph(
  { levels, notes, budget }: State,
  paragraph: Paragraph,
  name: string,
  attributes: XmlAttributes,
): void {
  const value = attributes["w:val"] ?? "";
  if (name === "w:pStyle") paragraph.level = levels.get(value) ?? 0;
  else if (name === "w:outlineLvl" && /^[0-5]$/u.test(value)) paragraph.level = Number(value) + 1;
  else if (name === "w:numId") paragraph.isItem = value !== "0";
  else if (name === "w:numPr") paragraph.isItem = true;
  else if (name === "wp:docPr") {
    const text = pictureText(attributes, budget);
    if (text !== "") paragraph.behind.push(text);
  } else if (name.endsWith("Reference")) {
    const key = `${name.slice(0, -"Reference".length)} ${attributes["w:id"] ?? ""}`;
    const text = notes.get(key);
    if (text !== undefined) paragraph.behind.push(text);
    notes.delete(key);
  } else paragraph.text += SIGNS.get(name) ?? "";
}

function closed(state: State, name: string): void {
  const { sinks } = state;
  if (name === "w:p") endParagraph(state);
  else if (name === "w:tc") endCell(state);
  else if (name === "w:tbl") endTable(state);
  else if (name === "w:txbxContent" && sinks.length > 1) sinks.pop();
}

function endParagraph({ paragraphs, sinks, tables }: State): void {
  const paragraph = paragraphs.pop();
  if (paragraph === undefined) return;
  const text = paragraph.text.trim();
  const { level, isItem, behind } = paragraph;
  const mark = tables.length > 0 ? "" : level > 0 ? `${"#".repeat(level)} ` : isItem ? "- " : "";
  // A heading is one line.
  const whole = level > 0 ? text.replaceAll(/\s+/gu, " ") : text;
  if (text !== "") sinks.at(-1)?.push(`${mark}${whole}`);
  appendAll(sinks.at(-1), behind);
}

function endCell({ sinks, tables, budget }: State): void {
  const table = tables.at(-1);
  const row = table?.rows.at(-1);
  const blocks = sinks.length > 1 ? (sinks.pop() ?? []) : [];
  if (table === undefined || row === undefined) return;
  const above = table.isMerged ? table.rows.at(-2)?.[row.length] : undefined;
  budget.take(above?.length ?? 0);
  row.push(above ?? blocks.join(" "), ...Array.from({ length: table.span - 1 }, () => ""));
}

/** A table within a cell becomes a part of that cell's text: Markdown has no tables in tables. */
function endTable({ sinks, tables, budget }: State): void {
  const { rows } = tables.pop() ?? { rows: [] };
  const text =
    tables.length === 0
      ? markdownTable(rows, budget)
      : rows.map((row) => row.filter((cell) => cell !== "").join(" ")).join("; ");
  if (text !== "") sinks.at(-1)?.push(text);
}
