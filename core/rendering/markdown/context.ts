import { fenced } from "./code-block.ts";
import { escapeHeadingEnd, escapeLineStart } from "./escape.ts";
import type { Attributes } from "./html-events.ts";
import { inlineCollector, type Inline } from "./inline.ts";
import { lineWriter, type LineWriter } from "./lines.ts";
import type { MathReader } from "./mathml.ts";
import { isNumbering, type Preformatted } from "./preformatted.ts";
import type { CellKind, Table } from "./table.ts";

export interface List {
  readonly ordered: boolean;
  isItemOpen: boolean;
  /** The width of the last item's marker; 0 before the first one. */
  width: number;
  /** Whether it continues an item of the list around it. */
  readonly isContinued: boolean;
  readonly marker: string;
  next: number;
}

export interface OpenTable {
  readonly table: Table;
  /** Blocks of the open cell; null between cells. */
  cell: string[] | null;
  cellKind: CellKind;
  /** Cells that have blocks, the open one included. */
  filled: number;
  /** The blocks of the first and of the last of them, as they are outside of a table. */
  first: string[][];
  last: string[][];
  inHead: boolean;
  /** A table with another one inside lays out the page: its cells are ordinary blocks. */
  layout: boolean;
}

export interface OpenMath {
  /** Its text, for a formula without TeX. */
  text: string;
  /** The TeX that it brings. */
  tex: string;
  /** The part of it that text belongs to: the formula, its TeX, or a note in another language. */
  reads: "formula" | "tex" | "note";
  readonly isBlock: boolean;
  readonly reader: MathReader;
  /** Set for a formula in a script, as MathJax 2 keeps the sources of a page: `type="math/tex"` or `math/mml`. */
  readonly script: "tex" | "mml" | null;
}

/** A `video` or `audio` that is open: the content between its tags is for browsers that cannot play it. */
export interface OpenMedia {
  readonly label: string;
  address: string | null;
  /** Elements that are open inside. */
  depth: number;
}

export interface OpenLink {
  /** Unset for one that leads nowhere, or stands in code. */
  readonly isLink: boolean;
  /** The label for readers of a link that has no text. */
  readonly label: string;
  /** Whether a block has ended in it. */
  hasBlocks: boolean;
  /** The level of the heading that it began with; else 0. */
  heading: number;
}

/** The state of a conversion. */
export interface Context {
  readonly inline: Inline;
  readonly writer: LineWriter;
  readonly lists: List[];
  readonly tables: OpenTable[];
  /** The open `a`. */
  readonly links: OpenLink[];
  /** The text that an icon in a link has for readers. */
  icon: { isOpen: boolean; text: string };
  base: string | null;
  /** Whether the document named a base. */
  baseSet: boolean;
  /** Depth inside elements that are left out. */
  skipped: number;
  heading: number;
  /** Depth inside code, and its text so far. */
  code: { depth: number; text: string };
  pre: Preformatted | null;
  title: string | null;
  readingTitle: boolean;
  metaTitle: string;
  description: string;
  image: string;
  math: OpenMath | null;
  media: OpenMedia | null;
  /** The address of the largest picture of the `picture` that is open. */
  picture: string | null;
  /** The address of the picture that was written last. */
  lastPicture: string | null;
  /** The picture of `noscript` that was written last, until the next picture: that may be the one that scripts load. */
  fallback: { readonly address: string; readonly alt: string } | null;
  /** Set inside `noscript`, of which only pictures are taken. */
  inNoscript: boolean;
  /**
   * The languages that open `div` and `figure` elements name for the code in them; empty strings for elements without one.
   */
  readonly languages: string[];
  /** The list that ended last, and how much had been written then. */
  lastList: { readonly list: List; readonly written: number } | null;
}

/** The effect of an element on the text when it opens and when it closes. */
export interface Element {
  readonly open?: (context: Context, attributes: Attributes) => void;
  readonly close?: (context: Context) => void;
}

/** Makes a fresh state. */
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
    media: null,
    picture: null,
    lastPicture: null,
    fallback: null,
    inNoscript: false,
    icon: { isOpen: false, text: "" },
    languages: [],
    lastList: null,
  };
}

/** Returns the open cell of a data table; null when blocks go to the page. */
export function openCell(context: Context): string[] | null {
  const top = context.tables.at(-1);
  return top === undefined || top.layout ? null : top.cell;
}

/** Adds a block to the open cell: as a cell has it, and as it is outside of a table. */
function addToCell(context: Context, inCell: string, outside: string[]): void {
  const top = context.tables.at(-1);
  if (top === undefined || top.cell === null) return;
  if (top.cell.length === 0) {
    top.filled += 1;
    top.last = [];
    if (top.filled === 1) top.first = top.last;
  }
  top.cell.push(inCell);
  top.last.push(outside);
}

/** An `a` without a link. */
export function noLink(): OpenLink {
  return { isLink: false, label: "", hasBlocks: false, heading: 0 };
}

/** Ends a block; in a link, which goes on, only its line. */
export function endBlock(context: Context): void {
  const link = context.links.at(-1);
  if (link?.isLink !== true || openCell(context) !== null) return flushBlock(context);
  if (!context.inline.breakInLink()) return flushBlock(context);
  if (!link.hasBlocks) link.heading = context.heading;
  link.hasBlocks = true;
}

/** Characters of a heading of several lines: a link around one goes on to what stands below it. */
const TITLE_LIMIT = 400;

/** Ends the paragraph or heading that is being collected. */
export function flushBlock(context: Context, heading: number = context.heading): void {
  const { inline, writer } = context;
  if (inline.empty) {
    inline.flush();
    return;
  }
  const lines = inline.flush();
  if (lines.length === 0) return;
  const isTitle = lines.length === 1 || lines.join("").length <= TITLE_LIMIT;
  const outside =
    heading > 0 && isTitle
      ? [`${"#".repeat(heading)} ${escapeHeadingEnd(lines.join(" "))}`]
      : paragraph(lines);
  if (openCell(context) !== null)
    return addToCell(context, lines.join("<br>").replaceAll("|", "\\|"), outside);
  writer.gap(2);
  writer.write(outside);
}

/** Returns lines with hard breaks in between. */
export function paragraph(lines: readonly string[]): string[] {
  return lines.map((line, i) => escapeLineStart(line) + (i < lines.length - 1 ? "  " : ""));
}

/** Ends preformatted text. */
export function flushPre(context: Context): void {
  const { pre, writer } = context;
  context.pre = null;
  const text = pre?.parts.join("") ?? "";
  if (pre === null || text.trim() === "") return;
  // Pygments, Rouge, Chroma and Hexo write the numbers of lines into a cell in front of that of the code.
  if (context.tables.length > 0 && isNumbering(text)) return;
  writer.gap(2);
  writer.write(fenced(text, pre.language || wrappedLanguage(context)));
}

/** Highlighters wrap code in a few elements, the outer of which names the language. */
const WRAPPERS = 3;

function wrappedLanguage({ languages }: Context): string {
  return languages.slice(-WRAPPERS).findLast((language) => language !== "") ?? "";
}

/** Writes the `filled` cells of a table that are closed; a single one as what is in it. */
export function writeTable(context: Context, { table, first, filled }: OpenTable): void {
  writeBlocks(context, filled > 1 ? [table.lines()] : first);
}

/** Writes blocks below each other. */
export function writeBlocks({ writer }: Context, blocks: readonly string[][]): void {
  for (const lines of blocks) {
    if (lines.length === 0) continue;
    writer.gap(2);
    writer.write(lines);
  }
}
