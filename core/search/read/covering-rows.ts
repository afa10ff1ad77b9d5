import type { TextBudget } from "../../files/text-budget.ts";
import { markdownTable } from "./markdown-table.ts";

/** Columns of a table that are read. */
const MAX_COLUMNS = 200;
/** Equal rows that are kept: programs write a row that goes on to the end of a sheet once. */
const MAX_EQUAL = 1000;

export interface CellSize {
  readonly columns: number;
  readonly rows: number;
  /** Equal cells beside each other. */
  readonly repeated: number;
}

/** The rows of a table whose cells may reach over others; each of these has the same text. */
export interface CoveringRows {
  begin(): void;
  add(text: string, size: CellSize): void;
  /** Adds cells over which another one reaches. */
  addCovered(count: number): void;
  /** Ends a row of which there are so many. */
  end(count: number): void;
  asTable(): string;
  /** The table as a part of a cell: Markdown has no tables in tables. */
  asText(): string;
}

export function coveringRows(budget: TextBudget): CoveringRows {
  const rows: string[][] = [];
  /** By column: the text that reaches into it, and the rows that it does so in. */
  const covers = new Map<number, { readonly text: string; rows: number }>();
  let row: string[] = [];
  let column = 0;
  const put = (text: string, count: number): void => {
    for (let n = 0; n < count && column < MAX_COLUMNS; n++, column++) {
      if (text === "") continue;
      budget.take(text.length + column - row.length);
      while (row.length < column) row.push("");
      row.push(text);
    }
  };
  return {
    begin() {
      row = [];
      column = 0;
    },
    add(text, { columns, rows: high, repeated }) {
      const from = column;
      put(text, repeated);
      if (columns * high === 1) return;
      const last = Math.min(MAX_COLUMNS, from + columns);
      for (let at = from; at < last; at++) covers.set(at, { text, rows: high });
    },
    addCovered(count) {
      const last = Math.min(MAX_COLUMNS, column + count);
      for (let at = column; at < last; at++) put(covers.get(at)?.text ?? "", 1);
    },
    end(count) {
      const equal = row.length > 0 ? Math.min(count, MAX_EQUAL) : 0;
      budget.take(equal);
      for (let n = 0; n < equal; n++) rows.push(row);
      for (const [at, cover] of covers) if (--cover.rows === 0) covers.delete(at);
    },
    asTable: () => markdownTable(rows, budget),
    asText: () => rows.map((cells) => cells.filter((cell) => cell !== "").join(" ")).join("; "),
  };
}
