import { appendAll } from "../../../text/append-all.ts";
import type { TextBudget } from "../../../files/text-budget.ts";
import { markdownTable } from "../../read/markdown-table.ts";

interface Paragraph {
  level: number;
  isItem: boolean;
  inTable: boolean;
}

/** A text of its own: the body, a note, a box, a header. */
export interface RtfStory {
  readonly blocks: string[];
  text: string;
  paragraph: Paragraph;
  /** Blocks that follow the paragraph which refers to them. */
  readonly behind: string[];
  readonly rows: string[][];
  row: string[];
  cell: string[];
  /** Whether each cell of the row goes on from the one above. */
  merged: boolean[];
  isMerged: boolean;
}

const plain = (): Paragraph => ({ level: 0, isItem: false, inTable: false });

/** Returns an empty text. */
export const rtfStory = (): RtfStory => ({
  blocks: [],
  text: "",
  paragraph: plain(),
  behind: [],
  rows: [],
  row: [],
  cell: [],
  merged: [],
  isMerged: false,
});

/** Texts and styles that words of the layout change or refer to. */
export interface Layout {
  readonly budget: TextBudget;
  readonly stories: readonly RtfStory[];
  /** Levels of headings by the numbers of their styles. */
  readonly levels: ReadonlyMap<number, number>;
}

type LayoutWord = (own: RtfStory, value: number | null, layout: Layout) => void;

const ofParagraph: LayoutWord = (own, _, { budget }) => endParagraph(own, budget);

/** Words that say where a paragraph, a cell or a row ends, and what it is. */
const WORDS: ReadonlyMap<string, LayoutWord> = new Map<string, LayoutWord>([
  ["par", ofParagraph],
  ["sect", ofParagraph],
  ["page", ofParagraph],
  ["\n", ofParagraph],
  ["\r", ofParagraph],
  ["pard", (own) => void (own.paragraph = plain())],
  ["intbl", ({ paragraph }) => void (paragraph.inTable = true)],
  [
    "s",
    ({ paragraph }, value, { levels }) =>
      void (paragraph.level = levels.get(value ?? 0) ?? paragraph.level),
  ],
  [
    "outlinelevel",
    ({ paragraph }, value) => void (paragraph.level = value !== null && value < 6 ? value + 1 : 0),
  ],
  ["ls", ({ paragraph }, value) => void (paragraph.isItem = value !== 0)],
  ["pnlvlblt", ({ paragraph }) => void (paragraph.isItem = true)],
  ["trowd", (own) => void (own.merged = [])],
  ["clvmrg", (own) => void (own.isMerged = true)],
  [
    "cellx",
    (own) => {
      own.merged.push(own.isMerged);
      own.isMerged = false;
    },
  ],
  ["cell", (own) => endCell(own)],
  ["row", (own, _, { budget }) => endRow(own, budget)],
]);

/** Takes a word that has to do with the layout; others are left alone. */
export function takeLayout(layout: Layout, word: string, value: number | null): void {
  const own = layout.stories.at(-1);
  if (own !== undefined) WORDS.get(word)?.(own, value, layout);
}

function endParagraph(own: RtfStory, budget: TextBudget): void {
  const { level, isItem, inTable } = own.paragraph;
  const text = own.text.trim();
  own.text = "";
  if (inTable) {
    own.cell.push(text);
    appendAll(own.cell, own.behind.splice(0));
    return;
  }
  endTable(own, budget);
  const mark = level > 0 ? `${"#".repeat(level)} ` : isItem ? "- " : "";
  // A heading is one line.
  const whole = level > 0 ? text.replaceAll(/\s+/gu, " ") : text;
  if (text !== "") own.blocks.push(`${mark}${whole}`);
  appendAll(own.blocks, own.behind.splice(0));
}

function endCell(own: RtfStory): void {
  const blocks = [...own.cell.splice(0), own.text.trim(), ...own.behind.splice(0)];
  own.text = "";
  own.row.push(blocks.filter((block) => block !== "").join(" "));
}

function endRow(own: RtfStory, budget: TextBudget): void {
  const above = own.rows.at(-1);
  const row = own.row.map((cell, at) => {
    if (cell !== "" || own.merged[at] !== true) return cell;
    budget.take(above?.[at]?.length ?? 0);
    return above?.[at] ?? "";
  });
  own.row = [];
  if (row.length > 0) own.rows.push(row);
}

function endTable(own: RtfStory, budget: TextBudget): void {
  const table = markdownTable(own.rows.splice(0), budget);
  if (table !== "") own.blocks.push(table);
}

/** Ends a text where its group ends. */
export function endStory(own: RtfStory, budget: TextBudget): void {
  endRow(own, budget);
  own.paragraph.inTable = false;
  endTable(own, budget);
  endParagraph(own, budget);
}
