import { cellsOf } from "../text/tables.ts";

/** A part of a text that is quoted whole: a paragraph, a list or a table, with the line that introduces it. */
export interface Passage {
  readonly text: string;
  /** The rows of a table below its header; empty for all else. */
  readonly rows: readonly string[];
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ITEM = /^\s*(?:[-*+]|\d+[.)])\s/;
const HEADING = /^ {0,3}#{1,6}\s/;
/** A link to a place of the same page. */
const PLACE_LINK = /\[[^\]]*\]\(#[^)]*\)/g;
/** Cells of dashes, which part the header of a table from its rows. */
const DELIMITER = /^[\s|:-]*-[\s|:-]*$/;

type Kind = "paragraph" | "list" | "table" | "code";

interface Block {
  readonly kind: Kind;
  readonly lines: readonly string[];
  readonly isBelowHeading: boolean;
}

/**
 * Returns the passages of a chunk, in their order. Headings and lists of contents are left out. Code follows the paragraph above it. A table that goes on from the chunk before gets its header from the columns that end `heading`.
 */
export function passagesOf(text: string, heading: string): Passage[] {
  const out: Passage[] = [];
  let intro: string | null = null;
  let isParagraph = false;
  for (const block of blocksOf(text)) {
    const own = block.lines.join("\n").trim();
    const before: string = intro === null ? "" : `${intro}\n\n`;
    if (block.kind === "paragraph" && own.endsWith(":")) intro = `${before}${own}`;
    else {
      if (block.kind === "table") out.push(tableOf(block.lines, before, heading));
      else if (block.kind !== "code") out.push({ text: before + own, rows: [] });
      else {
        const explained = isParagraph && !block.isBelowHeading ? out.pop() : undefined;
        const above = explained === undefined ? before : `${explained.text}\n\n`;
        out.push({ text: above + closed(own), rows: [] });
      }
      intro = null;
    }
    isParagraph = block.kind === "paragraph" && intro === null;
  }
  if (intro !== null) out.push({ text: intro, rows: [] });
  return out.filter(
    ({ text: own, rows }) => /[\p{L}\p{N}]/u.test(own + rows.join("")) && !isContents(own),
  );
}

/** Whether a passage lists the places of its page: two or more links, with a word in front at most. */
function isContents(text: string): boolean {
  const links = text.match(PLACE_LINK)?.length ?? 0;
  const rest = text.replace(PLACE_LINK, "").match(/[\p{L}\p{N}]+/gu) ?? [];
  return links > 1 && rest.length <= 1;
}

function tableOf(lines: readonly string[], before: string, heading: string): Passage {
  const [first = "", second = ""] = lines;
  if (DELIMITER.test(second))
    return { text: `${before}${first.trim()}\n${second.trim()}`, rows: lines.slice(2) };
  const columns = heading.slice(heading.lastIndexOf(" > ") + 1).split(" | ");
  const isKnown = columns.length === cellsOf(first).length && columns.length > 1;
  const header = isKnown
    ? `| ${columns.map((column) => column.replace(/^> /, "")).join(" | ")} |\n|${columns.map(() => " --- |").join("")}`
    : "";
  return { text: `${before}${header}`, rows: lines };
}

/** Code whose end the chunk cuts off gets one. */
function closed(code: string): string {
  const fence = FENCE.exec(code)?.[1] ?? "```";
  return code.lastIndexOf(fence) > code.indexOf(fence) + fence.length ? code : `${code}\n${fence}`;
}

/** How far the blocks of a text were read. */
interface Reading {
  readonly blocks: { kind: Kind; lines: string[]; isBelowHeading: boolean }[];
  /** The fence that ends the current code block; null outside of code. */
  fence: string | null;
  /** Whether the next line begins a block: after a blank line, a heading or the end of code. */
  isApart: boolean;
  afterHeading: boolean;
}

function blocksOf(text: string): Block[] {
  const reading: Reading = { blocks: [], fence: null, isApart: true, afterHeading: false };
  for (const line of text.split("\n")) {
    if (reading.fence === null) readLine(reading, line);
    else readCode(reading, line, reading.fence);
  }
  return reading.blocks;
}

function readCode(reading: Reading, line: string, fence: string): void {
  put(reading, "code", line);
  if (FENCE.exec(line)?.[1]?.startsWith(fence) !== true) return;
  reading.fence = null;
  reading.isApart = true;
}

function readLine(reading: Reading, line: string): void {
  const mark = FENCE.exec(line)?.[1];
  const isHeading = HEADING.test(line);
  if (mark !== undefined) {
    reading.fence = mark;
    reading.isApart = true;
    put(reading, "code", line);
  } else if (isHeading || line.trim() === "") {
    reading.afterHeading ||= isHeading;
    reading.isApart = true;
  } else {
    const last = reading.blocks.at(-1)?.kind;
    const kind = kindOf(line, reading.isApart ? undefined : last);
    // The items of a list may stand apart from one another.
    if (kind === "list" && last === "list" && !reading.afterHeading) reading.isApart = false;
    put(reading, kind, line);
  }
}

function put(reading: Reading, kind: Kind, line: string): void {
  const last = reading.blocks.at(-1);
  if (last === undefined || reading.isApart || last.kind !== kind)
    reading.blocks.push({ kind, lines: [line], isBelowHeading: reading.afterHeading });
  else last.lines.push(line);
  reading.isApart = false;
  reading.afterHeading = false;
}

function kindOf(line: string, before: Kind | undefined): Kind {
  if (/^\s*\|/.test(line)) return "table";
  // Lines right below an item belong to it.
  return ITEM.test(line) || before === "list" ? "list" : "paragraph";
}
