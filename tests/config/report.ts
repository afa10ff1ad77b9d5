import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, TestCase, TestModule } from "vitest/node";

/** How the tests of one suite (a folder of tests/) ended. */
export interface SuiteCounts {
  passed: number;
  failed: number;
  skipped: number;
}

/** What scripts/ok.ts reads to draw its table. */
export interface Report {
  suites: Record<string, SuiteCounts>;
  skips: { name: string; reason: string | undefined }[];
  /** One entry per failed test, or file that could not be loaded, with the first line of its error. */
  failures: { name: string; message: string }[];
  /** Tests that passed in their second run alone, with the first line of the error of the first. */
  unsteady: { name: string; message: string }[];
  /** Milliseconds of each test file, its imports included, by its path below tests/. */
  times: Record<string, number>;
}

/**
 * Writes the counts per suite and the reason of every skip. vitest's own JSON report has no reasons,
 * and a skip without one must be visible.
 */
export class SummaryReporter implements Reporter {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const report: Report = { suites: {}, skips: [], failures: [], unsteady: [], times: {} };
    for (const module of modules) {
      const { duration, collectDuration } = module.diagnostic();
      report.times[pathOf(module.moduleId)] = Math.round(duration + collectDuration);
      const counts = countsOf(report, suiteOf(module.moduleId));
      for (const test of module.children.allTests()) record(test, counts, report);
      // A file that cannot be loaded has no tests, and must not look like a pass.
      counts.failed += module.errors().length;
      for (const error of module.errors()) report.failures.push(named(module.moduleId, error));
    }
    if (errors.length > 0) countsOf(report, "unhandled errors").failed += errors.length;
    for (const error of errors) report.failures.push(named("unhandled error", error));
    writeFileSync(this.#file, JSON.stringify(report));
  }
}

function suiteOf(file: string): string {
  return /^([^/]+)\//u.exec(pathOf(file))?.[1] ?? "other";
}

/** The path below tests/. */
function pathOf(file: string): string {
  return /^tests\/(.+)$/u.exec(relative(process.cwd(), file).replaceAll("\\", "/"))?.[1] ?? file;
}

function countsOf(report: Report, suite: string): SuiteCounts {
  return (report.suites[suite] ??= { passed: 0, failed: 0, skipped: 0 });
}

function record(test: TestCase, counts: SuiteCounts, report: Report): void {
  const result = test.result();
  if (result.state === "passed") {
    counts.passed += 1;
    if (test.diagnostic()?.flaky === true)
      report.unsteady.push(named(test.fullName, result.errors?.[0]));
  } else if (result.state === "skipped") {
    counts.skipped += 1;
    report.skips.push({ name: test.fullName, reason: result.note });
  } else {
    counts.failed += 1;
    report.failures.push(named(test.fullName, result.errors?.[0]));
  }
}

function named(name: string, error: unknown): { name: string; message: string } {
  // Those of workerd's process are no instances of this one's Object.
  const isError = typeof error === "object" && error !== null && "message" in error;
  const message = isError ? String(error.message) : "";
  return { name, message: message.split("\n", 1)[0]?.slice(0, 300) ?? "" };
}
