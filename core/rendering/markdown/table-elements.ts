import { languageOf } from "./code-block.ts";
import {
  type Context,
  type Element,
  flushBlock,
  type OpenTable,
  writeBlocks,
  writeTable,
} from "./context.ts";
import type { Attributes } from "./html-events.ts";
import { preformatted } from "./preformatted.ts";
import { type Alignment, tableCollector } from "./table.ts";

/** Begins preformatted text; no cell can hold its lines. */
export function openPre(context: Context, attributes: Attributes, name = "pre"): void {
  flushBlock(context);
  dissolveTable(context);
  context.pre = preformatted(name, languageOf(attributes));
}

/** GitHub shows a file, and a gist, as a table with a row for each line. */
const FILE = /(?:^|\s)js-file-line-container(?:\s|$)/u;

const table: Element = {
  open(context, attributes) {
    if (FILE.test(attributes["class"] ?? "")) return openPre(context, attributes, "table");
    flushBlock(context);
    dissolveTable(context);
    const cellKind = { header: false, columns: 1, rows: 1, align: null };
    context.tables.push({
      table: tableCollector(),
      cell: null,
      cellKind,
      filled: 0,
      first: [],
      last: [],
      inHead: false,
      layout: false,
    });
  },
  close(context) {
    flushBlock(context);
    const ended = context.tables.pop();
    if (ended !== undefined && !ended.layout) writeTable(context, ended);
  },
};

/**
 * Turns the open table into ordinary blocks, for what no cell can hold, such as another table or lines of code: nothing of it
 * is lost.
 */
function dissolveTable(context: Context): void {
  const open = context.tables.at(-1);
  if (open !== undefined && !open.layout) dissolve(context, open);
}

function dissolve(context: Context, outer: OpenTable): void {
  const isOpen = (outer.cell ?? []).length > 0;
  outer.layout = true;
  outer.cell = null;
  const closed = outer.filled - (isOpen ? 1 : 0);
  if (closed > 0) writeTable(context, { ...outer, filled: closed });
  if (isOpen) writeBlocks(context, outer.last);
}

const section = (inHead: boolean): Element => ({
  open(context) {
    flushBlock(context);
    const top = context.tables.at(-1);
    if (top !== undefined) top.inHead = inHead;
  },
  close: flushBlock,
});

const row: Element = {
  open(context) {
    flushBlock(context);
    const top = context.tables.at(-1);
    if (top !== undefined && !top.layout) top.table.row(top.inHead);
  },
  close: flushBlock,
};

const cell = (header: boolean): Element => ({
  open(context, attributes) {
    flushBlock(context);
    const top = context.tables.at(-1);
    if (top === undefined || top.layout) return;
    top.cell = [];
    top.cellKind = {
      header: header || top.inHead,
      columns: span(attributes["colspan"]),
      rows: span(attributes["rowspan"]),
      align: alignmentOf(attributes),
    };
  },
  close(context) {
    flushBlock(context);
    const top = context.tables.at(-1);
    if (top === undefined || top.layout || top.cell === null) return;
    top.table.cell(top.cell.join("<br>"), top.cellKind);
    top.cell = null;
  },
});

function alignmentOf(attributes: Attributes): Alignment | null {
  const styled = /text-align\s*:\s*(left|center|right)/iu.exec(
    (attributes["style"] ?? "").slice(0, 1000),
  );
  switch ((styled?.[1] ?? attributes["align"] ?? "").toLowerCase()) {
    case "left":
      return "left";
    case "center":
      return "center";
    case "right":
      return "right";
    default:
      return null;
  }
}

function span(text: string | undefined): number {
  const value = Number.parseInt(text ?? "1", 10);
  return value >= 1 ? Math.min(value, 1000) : 1;
}

export const tableElements: readonly (readonly [name: string, element: Element])[] = [
  ["table", table],
  ["tbody", section(false)],
  ["td", cell(false)],
  ["tfoot", section(false)],
  ["th", cell(true)],
  ["thead", section(true)],
  ["tr", row],
];
