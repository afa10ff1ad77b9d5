import { appendAll } from "../../text/append-all.ts";
import type { TextBudget } from "../../files/text-budget.ts";
import type { DocumentText } from "../read/file-reader.ts";
import type { FileWarning } from "../read/file-warning.ts";
import { markdownTable } from "../read/markdown-table.ts";
import { refused } from "../read/refused.ts";
import {
  type DrawingReader,
  drawingTexts,
  drawnParagraphs,
  drawnText,
  pictureText,
} from "./drawings.ts";
import {
  checkParts,
  mainPart,
  openPackage,
  parseXml,
  type Relation,
  relations,
} from "./package-parts.ts";
import { pagedText } from "./paged-text.ts";

/**
 * Returns the text of a PPTX presentation: each slide below a heading with its number and title, with its tables, diagrams,
 * charts, comments and notes.
 */
export function* pptxText(
  bytes: Uint8Array,
  budget: TextBudget,
): Generator<void, DocumentText, void> {
  const parts = openPackage(bytes);
  const main = yield* mainPart(parts, /^ppt\/presentation\.xml$/u);
  const related = yield* relations(parts, main);
  const slides: string[] = [];
  yield* parseXml(parts.text(main), {
    open(name, attributes) {
      if (name !== "p:sldId") return;
      slides.push(related.find(({ id }) => id === attributes["r:id"])?.target ?? "");
    },
  });
  if (slides.length === 0) throw refused("the file holds no slides");
  checkParts(slides);
  const warnings: FileWarning[] = [];
  const reader = { parts, budget, warnings };
  const out: { readonly number: number; readonly text: string }[] = [];
  for (const [n, slide] of slides.entries()) {
    const number = n + 1;
    const { title, blocks } = yield* slideText(parts.optional(slide, warnings, number), budget);
    const heading = `## Slide ${number}${title === "" ? "" : `: ${title}`}`;
    const beside = yield* besideSlide(yield* relations(parts, slide), reader, number);
    out.push({ number, text: [heading, ...blocks, ...beside].join("\n\n") });
    yield;
  }
  return { ...pagedText(out), warnings };
}

/** Returns what belongs to a slide and lies in other parts: diagrams, charts, comments and the speaker's notes. */
function* besideSlide(
  related: readonly Relation[],
  reader: DrawingReader,
  number: number,
): Generator<void, string[], void> {
  const { parts, budget, warnings } = reader;
  const blocks = yield* drawingTexts(related, reader, number);
  for (const { type, target } of related) {
    if (type === "comments") {
      const texts = yield* commentTexts(parts.optional(target, warnings, number), budget);
      for (const text of texts) blocks.push(`Comment: ${text}`);
    } else if (type === "notesSlide") {
      const notes = yield* slideText(parts.optional(target, warnings, number), budget);
      if (notes.blocks.length > 0) blocks.push(`Notes: ${notes.blocks.join("\n\n")}`);
    }
  }
  return blocks;
}

/** Comments of older programs are plain text (`p:text`), those of newer ones paragraphs. */
function* commentTexts(xml: string, budget: TextBudget): Generator<void, string[], void> {
  const texts: string[] = [];
  let isText = false;
  yield* parseXml(xml, {
    open(name) {
      if (name === "p:text") texts.push("");
      isText = name === "p:text";
    },
    text(text) {
      if (!isText) return;
      budget.take(text.length);
      texts[texts.length - 1] += text;
    },
    close() {
      isText = false;
    },
  });
  appendAll(texts, yield* drawnParagraphs(xml, budget));
  return texts.filter((text) => text.trim() !== "");
}

/** Placeholders whose text is not the slide's own: its number, and the date. */
const APART: ReadonlySet<string> = new Set(["sldNum", "dt"]);

interface SlideText {
  readonly title: string;
  readonly blocks: readonly string[];
}

function* slideText(xml: string, budget: TextBudget): Generator<void, SlideText, void> {
  const blocks: string[] = [];
  const paragraph = drawnText(budget);
  const table = tableReader(budget);
  let [title, placeholder] = ["", ""];
  const addPicture = (attributes: Readonly<Record<string, string>>): void => {
    const text = pictureText(attributes, budget);
    if (text !== "") blocks.push(text);
  };
  yield* parseXml(xml, {
    open(name, attributes) {
      if (name === "p:ph") placeholder = attributes["type"] ?? "body";
      else if (name === "p:cNvPr") addPicture(attributes);
      else if (!table.open(name, attributes)) paragraph.open(name);
    },
    text: (text) => paragraph.text(text),
    close(name) {
      // Blocks behind a shape are not in its placeholder.
      if (name === "p:sp") placeholder = "";
      const text = paragraph.close(name);
      const done = table.close(name, text);
      if (done !== null) blocks.push(done);
      if (text === null || text === "" || table.isOpen() || APART.has(placeholder)) return;
      if (placeholder === "title" || placeholder === "ctrTitle") title = `${title} ${text}`.trim();
      else blocks.push(text);
    },
  });
  return { title, blocks };
}

/** Reads tables of DrawingML (ECMA-376, part 1, section 21.1.3). */
interface TableReader {
  isOpen(): boolean;
  /** Returns whether the element is of a table. */
  open(name: string, attributes: Readonly<Record<string, string>>): boolean;
  /** Takes the end of an element, and the text of a paragraph that ends. Returns a table that ends. */
  close(name: string, text: string | null): string | null;
}

function tableReader(budget: TextBudget): TableReader {
  let rows: string[][] | null = null;
  let isMerged = false;
  /** Ends the last cell of a row, which may go on from the row above. */
  const endCell = (row: string[], above: readonly string[] | undefined): void => {
    const at = row.length - 1;
    row[at] = above?.[at] ?? row[at] ?? "";
    budget.take(row[at].length);
  };
  return {
    isOpen: () => rows !== null,
    open(name, { vMerge = "" }) {
      if (name === "a:tbl") rows = [];
      else if (name === "a:tr") rows?.push([]);
      else if (name === "a:tc") {
        isMerged = /^(?:1|true)$/u.test(vMerge);
        rows?.at(-1)?.push("");
      } else return false;
      return true;
    },
    close(name, text) {
      const [row, above] = [rows?.at(-1), rows?.at(-2)];
      const at = (row?.length ?? 0) - 1;
      if (row !== undefined && at >= 0) {
        if (text !== null) row[at] = `${row[at]} ${text}`.trim();
        if (name === "a:tc") endCell(row, isMerged ? above : undefined);
      }
      if (name !== "a:tbl" || rows === null) return null;
      const table = markdownTable(rows, budget);
      rows = null;
      return table === "" ? null : table;
    },
  };
}
