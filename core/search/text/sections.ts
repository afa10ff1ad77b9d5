/** A stretch of a Markdown text below one heading, in UTF-16 units. */
export interface Section {
  readonly start: number;
  readonly end: number;
  /** The start of the text below its own heading. */
  readonly body: number;
  /** The headings above it, outermost first, joined by " > ". */
  readonly heading: string;
}

/** Lines of an underlined heading. */
const MAX_LINES = 3;
/** Lines that belong to no paragraph, or begin a block in which a line of dashes does not underline. */
const BLOCK = /^(?: {4}|\t| {0,3}(?:[-*+>|]|\d{1,9}[.)])(?:\s|$))/;

/**
 * Returns the sections between headings, which begin with `#` or are underlined (CommonMark, "ATX headings" and "Setext
 * headings"); lines inside fenced code are not headings.
 */
export function markdownSections(text: string): Section[] {
  const out: Section[] = [];
  const path: string[] = [];
  let fence: string | null = null;
  let start = 0;
  let body = 0;
  let paragraph: Paragraph | null = null;
  const open = ({ at, end, depth, title }: Heading): void => {
    if (at > start)
      out.push({ start, end: at, body, heading: path.filter((part) => part !== "").join(" > ") });
    start = at;
    body = end;
    path.length = Math.min(path.length, depth - 1);
    while (path.length < depth - 1) path.push("");
    path.push(headingText(title));
  };
  for (const { 0: line, index } of text.matchAll(/[^\n]*(?:\n|$)/g)) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    const isFence = mark !== undefined && (fence === null || mark.startsWith(fence));
    if (isFence) fence = fence === null ? mark : null;
    const isText: boolean = fence === null && !isFence;
    const heading: Heading | null = isText ? headingAt(text, { line, at: index, paragraph }) : null;
    if (heading !== null) open(heading);
    paragraph = isText && heading === null ? withLine(paragraph, line, index) : null;
  }
  open({ at: text.length, end: text.length, depth: 1, title: "" });
  return out;
}

interface Heading {
  readonly at: number;
  readonly end: number;
  readonly depth: number;
  readonly title: string;
}

/** Lines that belong together, before they are known to be a heading. */
interface Paragraph {
  readonly start: number;
  readonly lines: number;
  readonly isText: boolean;
}

interface PlacedLine {
  readonly line: string;
  readonly at: number;
  readonly paragraph: Paragraph | null;
}

/** The heading that a line is, or that it underlines; null for another line. */
function headingAt(text: string, { line, at, paragraph }: PlacedLine): Heading | null {
  const marked = /^ {0,3}(#{1,6})[ \t]+(\S.*)/.exec(line);
  const end = at + line.length;
  if (marked !== null) return { at, end, depth: marked[1]?.length ?? 1, title: marked[2] ?? "" };
  const underline = /^ {0,3}(=+|-+)$/.exec(line.trimEnd())?.[1];
  if (underline === undefined || paragraph?.isText !== true || paragraph.lines > MAX_LINES)
    return null;
  const title = text.slice(paragraph.start, at).replaceAll(/\s+/g, " ");
  return { at: paragraph.start, end, depth: underline.startsWith("=") ? 1 : 2, title };
}

function withLine(paragraph: Paragraph | null, line: string, at: number): Paragraph | null {
  if (line.trim() === "") return null;
  const isText = !BLOCK.test(line) && !line.includes("|");
  if (paragraph === null) return { start: at, lines: 1, isText };
  const { start, lines, isText: wasText } = paragraph;
  return { start, lines: lines + 1, isText: wasText && isText };
}

function headingText(source: string): string {
  return source.slice(0, 200).trim().replace(/#+$/, "").replaceAll(/[*_`]/g, "").trim();
}
