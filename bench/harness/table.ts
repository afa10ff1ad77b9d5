import type { Figure, Verdict } from "./figure.ts";

/** Figures as tables in Markdown, one per workload. */
export function tableOf(figures: readonly Figure[]): string {
  const groups = Map.groupBy(figures, ({ bench }) => bench);
  return [...groups].map(([bench, rows]) => `\n${bench}\n\n${one(rows)}`).join("\n");
}

function one(all: readonly Figure[]): string {
  const metrics = [...new Set(all.flatMap(({ figures }) => Object.keys(figures)))];
  const rows = [
    ["contestant", ...metrics, "goals"],
    ...all.map(({ contestant, figures, verdicts }) => [
      contestant,
      ...metrics.map((metric) => short(figures[metric])),
      verdicts.map(told).join("; "),
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const padded = rows.map((row) =>
    row.map((cell, n) =>
      n === 0 || n > metrics.length ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!),
    ),
  );
  const rule = widths.map((width, n) =>
    n === 0 || n > metrics.length ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  return [line(padded[0]!), line(rule), ...padded.slice(1).map(line)].join("\n");
}

function told({ what = "CPU", of, atMost, value, hit }: Verdict): string {
  const verdict = hit ? "hit" : "MISSED";
  if (of === undefined) return `${what} ${short(value)} (≤ ${short(atMost)}): ${verdict}`;
  const other = what === "CPU" ? of : `${of}'s ${what}`;
  // "Six times less" reads better than "at most 0.17 times".
  return atMost < 1
    ? `${short(1 / value)} x less than ${other} (≥ ${short(1 / atMost)}): ${verdict}`
    : `${short(value)} x ${other} (≤ ${short(atMost)}): ${verdict}`;
}

function short(value: number | undefined): string {
  if (value === undefined) return "";
  if (value >= 100) return value.toFixed(0);
  return value >= 1 ? value.toFixed(2) : value.toPrecision(3);
}
