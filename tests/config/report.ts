import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, TestCase, TestModule } from "vitest/node";
import { workSoFar } from "../platform/children-work.ts";

/** How the tests of one suite (a folder of tests/) ended. */
export interface SuiteCounts {
  passed: number;
  failed: number;
  skipped: number;
}

/** A test that failed, or a file that could not be loaded, with the first line of its error. */
export interface Failure {
  name: string;
  message: string;
}

/** How one test file ended. */
export interface FileReport extends SuiteCounts {
  /** Milliseconds of the CPU since the file before, with all processes of the run: exact where files run one at a time. */
  cpuMs: number;
  skips: { name: string; reason: string | undefined }[];
  failures: Failure[];
}

/** What scripts/ok.ts reads to draw its table. */
export interface Report {
  /** By the path below tests/. */
  files: Record<string, FileReport>;
  /** Errors that no test caught. */
  unhandled: Failure[];
}

/**
 * Writes the counts per file and the reason of every skip. vitest's own JSON report has no reasons,
 * and a skip without one must be visible.
 */
export class SummaryReporter implements Reporter {
  readonly #file: string;
  readonly #cpuMs = new Map<string, number>();
  #spentMs = 0;

  constructor(file: string) {
    this.#file = file;
  }

  onTestRunStart(): void {
    this.#spentMs = workSoFar();
  }

  onTestModuleEnd({ moduleId }: TestModule): void {
    const before = this.#spentMs;
    this.#spentMs = workSoFar();
    this.#cpuMs.set(moduleId, Math.round(this.#spentMs - before));
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const files = modules.map((module) => {
      const cpuMs = this.#cpuMs.get(module.moduleId) ?? 0;
      return [pathOf(module.moduleId), fileReport(module, cpuMs)] as const;
    });
    const unhandled = errors.map((error) => named("unhandled error", error));
    const report: Report = { files: Object.fromEntries(files), unhandled };
    writeFileSync(this.#file, JSON.stringify(report));
  }
}

function fileReport(module: TestModule, cpuMs: number): FileReport {
  const report: FileReport = {
    passed: 0,
    failed: 0,
    skipped: 0,
    cpuMs,
    skips: [],
    failures: [],
  };
  for (const test of module.children.allTests()) record(test, report);
  // The tests of a file that cannot be loaded, or of a group whose hook fails, have not run: that must not look like a pass.
  for (const part of [module, ...module.children.allSuites()]) {
    const name = part.type === "module" ? pathOf(part.moduleId) : part.fullName;
    for (const error of part.errors()) {
      report.failed += 1;
      report.failures.push(named(name, error));
    }
  }
  return report;
}

/** The path below tests/. */
function pathOf(file: string): string {
  return /^tests\/(.+)$/u.exec(relative(process.cwd(), file).replaceAll("\\", "/"))?.[1] ?? file;
}

function record(test: TestCase, report: FileReport): void {
  const result = test.result();
  if (result.state === "passed") {
    report.passed += 1;
  } else if (result.state === "skipped") {
    report.skipped += 1;
    report.skips.push({ name: test.fullName, reason: result.note });
  } else {
    report.failed += 1;
    report.failures.push(named(test.fullName, result.errors?.[0]));
  }
}

function named(name: string, error: unknown): Failure {
  // Those of workerd's process are no instances of this one's Object.
  const isError = typeof error === "object" && error !== null && "message" in error;
  const message = isError ? String(error.message) : "";
  return { name, message: message.split("\n", 1)[0]?.slice(0, 300) ?? "" };
}
