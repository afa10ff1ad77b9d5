import { fileURLToPath } from "node:url";
import type { Reporter } from "vitest/node";
import { leftToOthers, logicTests } from "./one-engine.ts";
import { SummaryReporter } from "./report.ts";

/** The repository's root; every vitest config sets it, because these files live two levels down. */
export const root: string = fileURLToPath(new URL("../..", import.meta.url));

/** The runtimes that the product runs on. */
export type RuntimeName = "node" | "deno" | "bun" | "workers";

/** The runtime that executes this config (workerd never does: its config names itself). */
export const host: Exclude<RuntimeName, "workers"> =
  "Deno" in globalThis ? "deno" : "Bun" in globalThis ? "bun" : "node";

/** The same test files run on every runtime; only what `#platform` stands for changes. */
export const portableTests: string[] = ["tests/unit/**/*.test.ts", "tests/contract/**/*.test.ts"];

/** What Node, Deno and Bun share (adapters/shared, adapters/cli) has no place on Workers. */
export const localTests: string[] = ["tests/local/**/*.test.ts"];

/** Tests that start the same children on Node, Deno and Bun wherever they run themselves: once, on Node, is enough. */
export const everyRuntimeTests: string[] =
  host === "node" ? [] : ["tests/local/every-runtime/**/*.test.ts"];

/** What a runtime leaves out because Node, or another runtime with its engine, runs it. */
export function leftOut(runtime: RuntimeName): string[] {
  if (runtime === "node") return [];
  const few = leftToOthers(runtime);
  return runtime === "bun" ? few : [...logicTests, ...few];
}

/** Tests may import the package by its public names; they get the sources, so no build is needed. */
export function aliases(runtime: RuntimeName): { find: RegExp; replacement: string }[] {
  return [
    { find: /^#platform$/u, replacement: `${root}tests/platform/${runtime}.ts` },
    {
      find: /^#sqlite$/u,
      replacement: `${root}tests/platform/sqlite-${runtime === "workers" ? "workers" : "local"}.ts`,
    },
    { find: /^causey$/u, replacement: `${root}core/mod.ts` },
    { find: /^causey\/(node|deno|bun|workers|memory)$/u, replacement: `${root}adapters/$1/mod.ts` },
    { find: /^causey\/([a-z]+)$/u, replacement: `${root}core/$1/mod.ts` },
  ];
}

/**
 * How long a test, a hook or the end of a run may take, in ms. A limit is there to end what hangs: a machine ten
 * times slower keeps it. What has to be fast is a benchmark. A wait for a condition ends sooner, and says which.
 */
const LONGEST_MS = 5 * 60_000;
/** Below it, so that a poll tells what it saw last. */
const POLL_MS = 4 * 60_000;

/** What every test run has in common. */
export const limits: {
  testTimeout: number;
  hookTimeout: number;
  teardownTimeout: number;
  expect: { poll: { timeout: number } };
  maxWorkers?: number;
} = {
  testTimeout: LONGEST_MS,
  hookTimeout: LONGEST_MS,
  teardownTimeout: LONGEST_MS,
  expect: { poll: { timeout: POLL_MS } },
  ...workersOf(process.env["CAUSEY_TEST_WORKERS"]),
};

/** scripts/ok.ts runs several steps at once and shares the cores out; a run by itself takes vitest's own number. */
function workersOf(wanted: string | undefined): { maxWorkers?: number } {
  return wanted === undefined ? {} : { maxWorkers: Number(wanted) };
}

/** The usual report for people; for scripts/ok.ts its summary and, in full, only what failed. */
export function reporters(): (string | Reporter)[] {
  const file = process.env["CAUSEY_TEST_REPORT"];
  return file === undefined ? ["default"] : ["minimal", new SummaryReporter(file)];
}
