import { readFileSync } from "node:fs";
import type { Failure, FileReport, Report, SuiteCounts } from "../tests/config/report.ts";

/** Reads what a test run wrote; a run that was ended by force wrote nothing. */
export function readReport(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Report;
  } catch {
    return undefined;
  }
}

/** Returns the paths below tests/ of the files in which something failed. */
export function failedFiles(report: Report | undefined): string[] {
  return Object.entries(report?.files ?? {}).flatMap(([path, { failed }]) =>
    failed > 0 ? [path] : [],
  );
}

/** Lists every failure of a report, with errors that no test caught. */
export function failuresOf(report: Report | undefined): Failure[] {
  const files = Object.values(report?.files ?? {});
  return [...files.flatMap(({ failures }) => failures), ...(report?.unhandled ?? [])];
}

/** Adds a report up by suite. */
export function suitesOf(report: Report | undefined): Map<string, SuiteCounts> {
  const byFolder = Map.groupBy(Object.entries(report?.files ?? {}), ([path]) => suiteOf(path));
  const suites = new Map(
    [...byFolder].map(([suite, files]) => [suite, add(files.map(([, file]) => file))]),
  );
  const unhandled = report?.unhandled.length ?? 0;
  if (unhandled > 0) suites.set("unhandled errors", { passed: 0, failed: unhandled, skipped: 0 });
  return suites;
}

/** Returns the suite of a file: its folder of tests/. */
export function suiteOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : "other";
}

function add(files: readonly FileReport[]): SuiteCounts {
  const total: SuiteCounts = { passed: 0, failed: 0, skipped: 0 };
  for (const { passed, failed, skipped } of files) {
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
  }
  return total;
}
