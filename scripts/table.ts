/** Lays out rows of named cells as a text table; empty columns are left out. */
export function table(
  rows: ReadonlyMap<string, ReadonlyMap<string, string>>,
  columns: readonly string[],
): string {
  const used = columns.filter((column) => [...rows.values()].some((row) => row.has(column)));
  const lines = [
    ["suite", ...used],
    ...[...rows].map(([name, row]) => [name, ...used.map((column) => row.get(column) ?? "-")]),
  ];
  const width = (index: number): number =>
    Math.max(...lines.map((line) => line[index]?.length ?? 0));
  return lines
    .map((line) =>
      line
        .map((cell, index) => cell.padEnd(width(index)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
