import { appendAll } from "../../text/append-all.ts";
import type { TextBudget } from "../../files/text-budget.ts";
import { withoutSoftHyphens } from "../read/soft-hyphens.ts";
import { type CoveringRows, coveringRows } from "../read/covering-rows.ts";
import { checkParts, type XmlEvents } from "./package-parts.ts";
import type { XmlAttributes } from "./xml-names.ts";

/** A slide of a presentation, or a page of a drawing. */
export interface DrawnPage {
  title: string;
  readonly blocks: string[];
}

/** The content of one part of an OpenDocument file. */
export interface OpenDocumentBody extends Required<XmlEvents> {
  /** Says what the document is: `text`, `spreadsheet`, `presentation`, `drawing`, or nothing in a part of it. */
  readonly about: { readonly kind: string };
  /** Text that stands neither on a page nor in a margin. */
  readonly blocks: readonly string[];
  readonly pages: readonly DrawnPage[];
  /** Headers and footers. */
  readonly margins: readonly string[];
}

/** Elements that are passed over: deleted text, marks of notes, readings beside words, numbers of pages, and nameless parts of slides. */
const SKIPPED: ReadonlySet<string> = new Set([
  "office:forms",
  "table:tracked-changes",
  "text:note-citation",
  "text:ruby-text",
  "text:tracked-changes",
]);
/** Shapes whose text is not the slide's own. */
const APART: ReadonlySet<string> = new Set(["date-time", "footer", "header", "page-number"]);
const KINDS: ReadonlySet<string> = new Set([
  "office:drawing",
  "office:presentation",
  "office:spreadsheet",
  "office:text",
]);
/** Elements with the alternative text of a picture: its name, and its description. */
const PICTURE: ReadonlySet<string> = new Set(["svg:desc", "svg:title"]);
/** Elements of a formula that hold its letters, numbers and operators. */
const SIGN = /^math:(?:m[inos]|mtext)$/u;
const MARGIN = /^style:(?:header|footer)(?:-left|-first)?$/u;
/** Blanks that one element may stand for. */
const MAX_BLANKS = 100;

interface State {
  readonly budget: TextBudget;
  /** The places for blocks, the innermost last: the body, a page, a note, a cell, or behind the paragraph that they are anchored in. */
  readonly sinks: string[][];
  readonly paragraphs: { text: string }[];
  readonly tables: {
    readonly grid: CoveringRows;
    readonly comments: string[];
    readonly objects: string[];
  }[];
  /** Blocks of charts that have not been placed yet, by the folders of their files. */
  readonly objects: Map<string, readonly string[]>;
  readonly pages: DrawnPage[];
  readonly margins: string[];
  kind: string;
  /** Whether the next paragraph begins an item of a list. */
  isItem: boolean;
  /** The author of the comment that is read. */
  author: string;
  /** The alternative text of the picture that is read. */
  picture: string;
}

/** Does what the end of an element asks for. */
type End = () => void;

/** Reads the text of `content.xml` or `styles.xml` (OpenDocument 1.3, part 3), and takes the charts that stand in it. */
export function openDocumentBody(
  budget: TextBudget,
  objects: Map<string, readonly string[]> = new Map(),
): OpenDocumentBody {
  const blocks: string[] = [];
  const state: State = {
    budget,
    sinks: [blocks],
    paragraphs: [],
    tables: [],
    objects,
    pages: [],
    margins: [],
    kind: "",
    isItem: false,
    author: "",
    picture: "",
  };
  const elements: { readonly name: string; readonly end: End | undefined }[] = [];
  let skipping = 0;
  return {
    about: state,
    blocks,
    pages: state.pages,
    margins: state.margins,
    open(name, attributes) {
      if (skipping > 0 || SKIPPED.has(name) || APART.has(attributes["presentation:class"] ?? ""))
        return void skipping++;
      elements.push({ name, end: opened(state, name, attributes) });
    },
    text(text) {
      const parent = elements.at(-1)?.name ?? "";
      if (skipping > 0) return;
      if (parent === "dc:creator") state.author += text;
      if (PICTURE.has(parent)) state.picture += text;
      // Names of authors and pictures stand in paragraphs, too.
      const isSign = SIGN.test(parent);
      const own = isSign || parent.startsWith("text:") ? state.paragraphs.at(-1) : undefined;
      if (own === undefined) return;
      budget.take(text.length);
      // Signs of a formula are written one after the other, without what their places mean.
      if (isSign) own.text += " ";
      const shown = withoutSoftHyphens(text).replaceAll("\u2011", "-");
      own.text += shown.replaceAll(/[ \t\r\n]+/gu, " ");
    },
    close() {
      if (skipping > 0) return void skipping--;
      elements.pop()?.end?.();
    },
  };
}

/** Begins the part of the text that an element stands for; its attributes change nothing. */
const BEGIN: ReadonlyMap<string, (state: State) => End | undefined> = new Map<
  string,
  (state: State) => End | undefined
>([
  ["text:p", (state) => paragraph(state, 0)],
  // A formula comes behind the paragraph where it stands, or is the only paragraph of a file of its own.
  ["math:math", (state) => paragraph(state, 0)],
  ["svg:title", picture],
  ["svg:desc", picture],
  ["text:note-body", (state) => apart(state, "Note")],
  ["office:annotation", comment],
  ["presentation:notes", (state) => apart(state, "Notes")],
  ["draw:page", page],
]);

function opened(state: State, name: string, attributes: XmlAttributes): End | undefined {
  const begin = BEGIN.get(name);
  if (begin !== undefined) return begin(state);
  if (name === "text:h") return paragraph(state, Number(attributes["text:outline-level"]) || 1);
  if (name === "table:table") return table(state, attributes);
  if (name.startsWith("table:")) return inTable(state, name, attributes);
  if (name === "text:list-item") state.isItem = true;
  else if (KINDS.has(name)) state.kind = name.slice("office:".length);
  else if (name === "draw:object") placeObject(state, attributes);
  else if (attributes["presentation:class"] === "title") return title(state);
  else if (MARGIN.test(name))
    return within(state, (blocks) => void state.margins.push(blocks.join("\n\n")));
  else addSign(state, name, attributes);
  return undefined;
}

/** Gathers the blocks up to the end of an element. */
function within({ sinks }: State, ended: (blocks: string[]) => void): End {
  const own: string[] = [];
  const depth = sinks.push(own);
  return () => {
    sinks.length = depth - 1;
    ended(own);
  };
}

/** Blocks that become one, which begins with a word that says where it is from. */
function apart(state: State, label: string): End {
  return within(state, (blocks) => {
    if (blocks.length > 0) state.sinks.at(-1)?.push(`${label}: ${blocks.join(" ")}`);
  });
}

function picture(state: State): End | undefined {
  // Charts, which are files of their own, note the cells of their numbers there.
  if (state.kind === "") return undefined;
  state.picture = "";
  return () => {
    const text = withoutSoftHyphens(state.picture.replaceAll(/\s+/gu, " ").trim());
    state.budget.take(text.length);
    if (text !== "") state.sinks.at(-1)?.push(`Picture: ${text}`);
  };
}

/** A comment on a cell stands before the cell's text. */
function comment(state: State): End {
  const { sinks, paragraphs, tables } = state;
  state.author = "";
  return within(state, (blocks) => {
    const by = state.author === "" ? "" : ` by ${state.author}`;
    const target = paragraphs.length > 0 ? sinks.at(-1) : (tables.at(-1)?.comments ?? sinks.at(-1));
    if (blocks.length > 0) target?.push(`Comment${by}: ${blocks.join(" ")}`);
  });
}

function paragraph(state: State, level: number): End {
  const { paragraphs, sinks, tables } = state;
  const own = { text: "" };
  paragraphs.push(own);
  const isItem = state.isItem;
  state.isItem = false;
  return within(state, (behind) => {
    paragraphs.pop();
    const text = own.text.trim();
    const heading = `${"#".repeat(Math.min(6, level))} `;
    const mark = tables.length > 0 ? "" : level > 0 ? heading : isItem ? "- " : "";
    // A heading is one line.
    const whole = level > 0 ? text.replaceAll(/\s+/gu, " ") : text;
    if (text !== "") sinks.at(-1)?.push(`${mark}${whole}`);
    appendAll(sinks.at(-1), behind);
  });
}

/** A chart stands below its sheet or table, or where it is anchored. */
function placeObject({ objects, tables, sinks }: State, attributes: XmlAttributes): void {
  const folder = (attributes["xlink:href"] ?? "").replace(/^\.\//u, "");
  const target = tables[0]?.objects ?? sinks.at(-1);
  appendAll(target, objects.get(folder) ?? []);
  objects.delete(folder);
}

function page(state: State): End {
  const own: DrawnPage = { title: "", blocks: [] };
  state.pages.push(own);
  checkParts(state.pages);
  return within(state, (blocks) => appendAll(own.blocks, blocks));
}

function title(state: State): End {
  return within(state, (blocks) => {
    const own = state.pages.at(-1);
    if (own !== undefined) own.title = `${own.title} ${blocks.join(" ")}`.trim();
  });
}

function addSign({ paragraphs, budget }: State, name: string, attributes: XmlAttributes): void {
  const own = paragraphs.at(-1);
  if (own === undefined) return;
  const blanks = Math.min(MAX_BLANKS, Math.max(1, Number(attributes["text:c"]) || 1));
  if (name === "text:s" || name === "text:tab") own.text += " ".repeat(blanks);
  else if (name === "text:line-break") own.text += "\n";
  else return;
  budget.take(blanks);
}

function table(state: State, attributes: XmlAttributes): End {
  const { tables, sinks, budget } = state;
  const own = { grid: coveringRows(budget), comments: [], objects: [] };
  tables.push(own);
  return within(state, (behind) => {
    tables.pop();
    const text = tables.length > 0 ? own.grid.asText() : own.grid.asTable();
    const blocks = [text, ...own.comments, ...behind, ...own.objects].filter(
      (block) => block !== "",
    );
    const isSheet = state.kind === "spreadsheet" && tables.length === 0 && blocks.length > 0;
    if (isSheet) blocks.unshift(`## ${attributes["table:name"] ?? "Sheet"}`);
    appendAll(sinks.at(-1), blocks);
  });
}

function inTable(state: State, name: string, attributes: XmlAttributes): End | undefined {
  const grid = state.tables.at(-1)?.grid;
  const number = (said: string): number => Math.max(1, Number(attributes[`table:${said}`]) || 1);
  if (name === "table:table-row") {
    grid?.begin();
    return () => grid?.end(number("number-rows-repeated"));
  }
  if (name === "table:covered-table-cell") {
    grid?.addCovered(number("number-columns-repeated"));
    // Programs keep what is covered, and show it no longer.
    return within(state, () => undefined);
  }
  if (name !== "table:table-cell") return undefined;
  return within(state, (blocks) =>
    grid?.add(valueOf(attributes) ?? blocks.join(" "), {
      columns: number("number-columns-spanned"),
      rows: number("number-rows-spanned"),
      repeated: number("number-columns-repeated"),
    }),
  );
}

/** Returns the value of a cell that is shown as it was written in one country: dates and times, in ISO 8601. */
function valueOf(attributes: XmlAttributes): string | null {
  const type = attributes["office:value-type"];
  if (type === "date")
    return attributes["office:date-value"]?.replace(/T00:00:00(?:\.0+)?$/u, "") ?? null;
  if (type !== "time") return null;
  const time = /^PT(\d+)H(\d+)M(\d+)/u.exec(attributes["office:time-value"] ?? "");
  return time === null
    ? null
    : time
        .slice(1, 4)
        .map((part) => part.padStart(2, "0"))
        .join(":");
}
