/** Returns the rows of a CSV text (RFC 4180): quoted cells may hold separators, quotes and line breaks. */
export function* csvRows(
  text: string,
  separator: string,
  most: number = Infinity,
): Generator<void, string[][], void> {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < text.length && rows.length < most) {
    const { cell, end } = cellAt(text, at, separator);
    row.push(cell);
    at = end + 1;
    if (text[end] === separator && at < text.length) continue;
    if (text[end] === separator) row.push("");
    if (text[end] === "\r" && text[at] === "\n") at++;
    rows.push(row);
    row = [];
    if (rows.length % 2000 === 0) yield;
  }
  return rows;
}

/** Returns the cell that begins at a place, and where the separator or line break behind it is. */
function cellAt(text: string, at: number, separator: string): { cell: string; end: number } {
  const quoted = text[at] === '"' ? quotedCell(text, at, separator) : null;
  if (quoted !== null) return quoted;
  const end = endOfCell(text, at, separator);
  return { cell: text.slice(text[at] === '"' ? at + 1 : at, end), end };
}

/**
 * Returns a cell in quotes; null for a quote that is never closed: the text up to the next quote is then not one cell, but
 * the rest of this line and the rows below it.
 */
function quotedCell(
  text: string,
  at: number,
  separator: string,
): { cell: string; end: number } | null {
  let cell = "";
  let from = at + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote < 0) return null;
    cell += text.slice(from, quote);
    if (text[quote + 1] !== '"') {
      const end = endOfCell(text, quote + 1, separator);
      const behind = text.slice(quote + 1, end);
      // A quote inside a word of a later line opens or closes a cell of its own.
      if (behind.trim() !== "" && /[\r\n]/.test(cell)) return null;
      return { cell: cell + behind, end };
    }
    cell += '"';
    from = quote + 2;
  }
}

function endOfCell(text: string, at: number, separator: string): number {
  let end = at;
  while (end < text.length && text[end] !== separator && text[end] !== "\n" && text[end] !== "\r")
    end++;
  return end;
}
