/** Returns the rows of a CSV text (RFC 4180): quoted cells may hold separators, quotes and line breaks. */
export function* csvRows(text: string, separator: string): Generator<void, string[][], void> {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  while (at < text.length) {
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
  if (text[at] !== '"') {
    const end = endOfCell(text, at, separator);
    return { cell: text.slice(at, end), end };
  }
  let cell = "";
  let from = at + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote < 0) return { cell: cell + text.slice(from), end: text.length };
    cell += text.slice(from, quote);
    if (text[quote + 1] !== '"') {
      const end = endOfCell(text, quote + 1, separator);
      return { cell: cell + text.slice(quote + 1, end), end };
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

/** Returns the separator of a text's cells: the candidate that its first line has most of. */
export function separatorOf(text: string): string {
  const first = text.slice(0, 10_000).split(/[\r\n]/, 1)[0] ?? "";
  const counts = [",", ";", "\t"].map((sign) => [sign, first.split(sign).length] as const);
  return counts.toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? ",";
}
