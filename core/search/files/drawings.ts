import { appendAll } from "../../text/append-all.ts";
import type { TextBudget } from "../../files/text-budget.ts";
import type { FileWarning } from "../read/file-warning.ts";
import { markdownTable } from "../read/markdown-table.ts";
import { withoutSoftHyphens } from "../read/soft-hyphens.ts";
import { type PackageParts, parseXml, type Relation } from "./package-parts.ts";

/** The package that drawings lie in, and what is known of it while it is read. */
export interface DrawingReader {
  readonly parts: PackageParts;
  readonly budget: TextBudget;
  readonly warnings: FileWarning[];
}

/** Parts with the texts of diagrams (SmartArt) and charts, by the types of their relations. */
const DIAGRAM = "diagramData";
const CHARTS: ReadonlySet<string> = new Set(["chart", "chartEx"]);

/** Returns the texts of diagrams and charts that a part is related to, each as a block of Markdown. */
export function* drawingTexts(
  related: readonly Relation[],
  { parts, budget, warnings }: DrawingReader,
  page?: number,
): Generator<void, string[], void> {
  const blocks: string[] = [];
  for (const { type, target } of related) {
    if (type !== DIAGRAM && !CHARTS.has(type)) continue;
    const xml = parts.optional(target, warnings, page);
    if (type === DIAGRAM)
      blocks.push((yield* drawnParagraphs(xml, budget)).map((one) => `- ${one}`).join("\n"));
    else appendAll(blocks, yield* chartText(xml, budget));
    yield;
  }
  return blocks.filter((block) => block !== "");
}

/**
 * Returns the alternative text of a drawing or picture, from its properties (`cNvPr`, `docPr`: ECMA-376, part 1, section
 * 20.1.2.2.8); empty for none.
 */
export function pictureText(
  { title = "", descr = "" }: Readonly<Record<string, string>>,
  budget: TextBudget,
): string {
  const said = [...new Set([title.trim(), descr.trim()])].filter((text) => text !== "");
  const text = withoutSoftHyphens(said.join(": ").replaceAll(/\s+/gu, " "));
  budget.take(text.length);
  return text === "" ? "" : `Picture: ${text}`;
}

/** Returns the paragraphs of text in a drawing (`a:p`), and the texts of its pictures, wherever they stand. */
export function* drawnParagraphs(xml: string, budget: TextBudget): Generator<void, string[], void> {
  const out: string[] = [];
  const paragraph = drawnText(budget);
  yield* parseXml(xml, {
    open(name, attributes) {
      paragraph.open(name);
      const picture = name === "xdr:cNvPr" ? pictureText(attributes, budget) : "";
      if (picture !== "") out.push(picture);
    },
    text: (text) => paragraph.text(text),
    close(name) {
      const text = paragraph.close(name);
      if (text !== null && text !== "") out.push(text);
    },
  });
  return out;
}

/** Gathers the text of paragraphs of DrawingML (ECMA-376, part 1, section 21.1.2), one after the other. */
export interface DrawnText {
  open(name: string): void;
  text(text: string): void;
  /** Returns a paragraph's text when it ends, else null. */
  close(name: string): string | null;
}

export function drawnText(budget: TextBudget): DrawnText {
  let paragraph = "";
  let isText = false;
  return {
    open(name) {
      if (name === "a:p") paragraph = "";
      else if (name === "a:t" || name === "m:t") isText = true;
      else if (name === "a:br" || name === "a:tab" || name === "m:r") paragraph += " ";
    },
    text(text) {
      if (!isText) return;
      budget.take(text.length);
      paragraph += withoutSoftHyphens(text);
    },
    close(name) {
      if (name === "a:t" || name === "m:t") isText = false;
      return name === "a:p" ? paragraph.trim() : null;
    },
  };
}

/** One row of numbers of a chart. */
interface Series {
  name: string;
  readonly categories: string[];
  readonly values: string[];
}

/** Points of one series that are read. */
const MAX_POINTS = 10_000;

/** Returns the titles of a chart, and a table of its values as the file keeps them (ECMA-376, part 1, section 21.2). */
function* chartText(xml: string, budget: TextBudget): Generator<void, string[], void> {
  const titles: string[] = [];
  const all: Series[] = [];
  const paragraph = drawnText(budget);
  let part = "";
  let point = 0;
  let value: string | null = null;
  yield* parseXml(xml, {
    open(name, { idx = "" }) {
      paragraph.open(name);
      if (name === "c:ser") all.push({ name: "", categories: [], values: [] });
      else if (SERIES_PARTS.has(name)) part = name;
      else if (name === "c:pt") point = Number(idx);
      else if (name === "c:v") value = "";
    },
    text(text) {
      paragraph.text(text);
      if (value === null) return;
      budget.take(text.length);
      value += withoutSoftHyphens(text);
    },
    close(name) {
      const title = paragraph.close(name);
      if (title !== null && title !== "") titles.push(title);
      if (SERIES_PARTS.has(name)) part = "";
      if (name !== "c:v") return;
      const series = all.at(-1);
      if (series !== undefined) addPoint(series, { part, point, value: value ?? "" });
      value = null;
    },
  });
  return [titles.join("\n\n"), seriesTable(all, budget)];
}

const SERIES_PARTS: ReadonlySet<string> = new Set(["c:tx", "c:cat", "c:xVal", "c:val", "c:yVal"]);

function addPoint(
  series: Series,
  { part, point, value }: { readonly part: string; readonly point: number; readonly value: string },
): void {
  if (part === "c:tx") series.name = `${series.name} ${value}`.trim();
  if (!Number.isInteger(point) || point < 0 || point >= MAX_POINTS) return;
  if (part === "c:cat" || part === "c:xVal")
    series.categories[point] = `${series.categories[point] ?? ""} ${value}`.trim();
  else if (part === "c:val" || part === "c:yVal") series.values[point] = shortNumber(value);
}

function seriesTable(all: readonly Series[], budget: TextBudget): string {
  const [first] = all;
  if (first === undefined) return "";
  const length = Math.max(
    ...all.map(({ categories, values }) => Math.max(categories.length, values.length)),
  );
  const rows = Array.from({ length }, (_, n) => {
    const category = all.find(({ categories }) => categories[n] !== undefined)?.categories[n] ?? "";
    return [category, ...all.map(({ values }) => values[n] ?? "")];
  });
  return markdownTable([["", ...all.map(({ name }) => name)], ...rows], budget);
}

/** Writes a number as programs show it: with the 15 digits that are exact (0.1 + 0.2 is 0.3). */
export function shortNumber(value: string): string {
  const number = Number(value);
  const isLong = value.length > 16 && /^-?\d*\.\d+(?:e[-+]?\d+)?$/iu.test(value);
  return isLong && Number.isFinite(number) ? String(Number(number.toPrecision(15))) : value;
}
