import { fenced } from "./code-block.ts";
import { codeSpan, escapeHeadingEnd, escapeLineStart } from "./escape.ts";
import type { Attributes } from "./html-events.ts";
import { inlineCollector, type Inline } from "./inline.ts";
import { lineWriter, type LineWriter } from "./lines.ts";
import type { CellKind, Table } from "./table.ts";

/** A list that is open. */
export interface List {
  readonly ordered: boolean;
  readonly marker: string;
  next: number;
}

/** A table that is open. */
export interface OpenTable {
  readonly table: Table;
  /** Blocks of the open cell; null between cells. */
  cell: string[] | null;
  cellKind: CellKind;
  inHead: boolean;
  /** A table with another one inside lays out the page: its cells are ordinary blocks. */
  layout: boolean;
}

/** The state of a conversion. */
export interface Context {
  readonly inline: Inline;
  readonly writer: LineWriter;
  readonly lists: List[];
  readonly tables: OpenTable[];
  /** For each open `a`, whether it is a link. */
  readonly links: boolean[];
  base: string | null;
  /** Whether the document named a base. */
  baseSet: boolean;
  /** Depth inside elements that are left out. */
  skipped: number;
  heading: number;
  /** Depth inside code, and its text so far. */
  code: { depth: number; text: string };
  /** Preformatted text in pieces: looking at the end of one long text after every piece would copy it each time. */
  pre: { readonly parts: string[]; language: string } | null;
  title: string | null;
  readingTitle: boolean;
  metaTitle: string;
  description: string;
  image: string;
  /** The formula that is open: its text, its TeX, and whether the latter is being read. */
  math: { text: string; tex: string; readingTex: boolean; readonly isBlock: boolean } | null;
  /** The languages that open `div` and `figure` elements name for the code in them; empty for none. */
  readonly languages: string[];
  /** The list that ended last, and how much had been written then. */
  lastList: { readonly list: List; readonly written: number } | null;
}

/** What an element does to the text when it opens and when it closes. */
export interface Element {
  readonly open?: (context: Context, attributes: Attributes) => void;
  readonly close?: (context: Context) => void;
}

/** A fresh state. */
export function newContext(base: string | null): Context {
  return {
    inline: inlineCollector(),
    writer: lineWriter(),
    lists: [],
    tables: [],
    links: [],
    base,
    baseSet: false,
    skipped: 0,
    heading: 0,
    code: { depth: 0, text: "" },
    pre: null,
    title: null,
    readingTitle: false,
    metaTitle: "",
    description: "",
    image: "",
    math: null,
    languages: [],
    lastList: null,
  };
}

/** The open cell of a data table; null when blocks go to the page. */
export function openCell(context: Context): string[] | null {
  const top = context.tables.at(-1);
  return top === undefined || top.layout ? null : top.cell;
}

/** Ends the paragraph or heading that is being collected. */
export function flushBlock(context: Context): void {
  const { inline, writer, heading } = context;
  if (inline.empty) {
    inline.flush();
    return;
  }
  const lines = inline.flush();
  if (lines.length === 0) return;
  const cell = openCell(context);
  if (cell !== null) return void cell.push(lines.join("<br>").replaceAll("|", "\\|"));
  writer.gap(2);
  if (heading > 0) writer.write([`${"#".repeat(heading)} ${escapeHeadingEnd(lines.join(" "))}`]);
  else writer.write(paragraph(lines));
}

/** Lines with hard breaks in between. */
export function paragraph(lines: readonly string[]): string[] {
  return lines.map((line, i) => escapeLineStart(line) + (i < lines.length - 1 ? "  " : ""));
}

/** Ends preformatted text. */
export function flushPre(context: Context): void {
  const { pre, writer } = context;
  context.pre = null;
  const text = pre?.parts.join("") ?? "";
  if (pre === null || text.trim() === "") return;
  const cell = openCell(context);
  if (cell === null) {
    writer.gap(2);
    return writer.write(fenced(text, pre.language || wrappedLanguage(context)));
  }
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  cell.push(lines.map((line) => codeSpan(line.trim()).replaceAll("|", "\\|")).join("<br>"));
}

/** Highlighters wrap code in a few elements, the outer of which names the language. */
const WRAPPERS = 3;

function wrappedLanguage({ languages }: Context): string {
  return languages.slice(-WRAPPERS).findLast((language) => language !== "") ?? "";
}

/** Writes the lines of a table, as a paragraph when it has one cell only. */
export function writeTable(context: Context, table: Table): void {
  const cells = table.cells();
  const lines = cells.length === 1 ? paragraph(cells[0]?.split("<br>") ?? []) : table.lines();
  if (lines.length === 0) return;
  context.writer.gap(2);
  context.writer.write(lines);
}
