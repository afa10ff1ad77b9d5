/** A Markdown table, in UTF-16 units of its text. */
export interface MarkdownTable {
  /** The start of the rows below the header. */
  readonly start: number;
  readonly end: number;
  /** The names of its columns, joined by " | ". */
  readonly columns: string;
}

const DELIMITER = /^[\s|:-]+$/;
/** Characters of a header row that are kept, and of a delimiter row that are looked at. */
const MOST = 200;

/** Returns the tables of a Markdown text, in their order: a row with bars, a row of dashes, and the rows below. */
export function tablesOf(text: string): MarkdownTable[] {
  const out: MarkdownTable[] = [];
  let before = "";
  let open: { readonly start: number; readonly columns: string } | null = null;
  for (let at = 0; at < text.length;) {
    const newline = text.indexOf("\n", at);
    const next = newline < 0 ? text.length : newline + 1;
    const line = text.slice(at, next);
    if (open !== null && !line.includes("|")) {
      out.push({ ...open, end: at });
      open = null;
    } else if (open === null && before.includes("|") && isDelimiter(line))
      open = { start: next, columns: columnsOf(before) };
    before = line;
    at = next;
  }
  if (open !== null) out.push({ ...open, end: text.length });
  return out;
}

function isDelimiter(line: string): boolean {
  return (
    line.length <= MOST * 5 && line.includes("-") && line.includes("|") && DELIMITER.test(line)
  );
}

function columnsOf(row: string): string {
  return cellsOf(row.slice(0, MOST)).filter(Boolean).join(" | ");
}

/** Returns the cells of a row of a table, without marks of emphasis and code. */
export function cellsOf(row: string): string[] {
  return row
    .trim()
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.replaceAll(/[*_`]/g, "").trim());
}
