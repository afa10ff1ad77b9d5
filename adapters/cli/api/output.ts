import process from "node:process";

/** A row of a {@link table}: what is undefined or null is shown as `-`. */
export type TableRow = readonly (string | number | boolean | null | undefined)[];

/** Formats rows as lines for people, in columns under a head. */
export function table(head: readonly string[], rows: readonly TableRow[]): string {
  const texts = [head, ...rows.map((row) => row.map((cell) => printable(String(cell ?? "-"))))];
  const widths = head.map((_, at) => Math.max(...texts.map((row) => row[at]?.length ?? 0)));
  return texts
    .map(
      (row) =>
        `${row
          .map((cell, at) => cell.padEnd(widths[at] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

/** Makes a text safe to print: a name may come from anyone, and a terminal must not obey it. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, "�");
}

/** Prints rows: as JSON, one object a line, or as a table. */
export function printRows<T extends object>(
  rows: readonly T[],
  isJson: boolean,
  head: readonly string[],
  toRow: (row: T) => TableRow,
): void {
  if (isJson) process.stdout.write(rows.map((one) => `${JSON.stringify(one)}\n`).join(""));
  else process.stdout.write(table(head, rows.map(toRow)));
}

/** Prints one object: as JSON in one line, or a line for each of its members. */
export function printFacts(facts: object, isJson: boolean): void {
  if (isJson) return void process.stdout.write(`${JSON.stringify(facts)}\n`);
  const entries = Object.entries(facts);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  for (const [name, value] of entries) {
    const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
    process.stdout.write(`${printable(name).padEnd(width)}  ${printable(text)}\n`);
  }
}
