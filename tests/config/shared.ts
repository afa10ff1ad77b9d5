import { fileURLToPath } from "node:url";
import type { Reporter } from "vitest/node";
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

/** Tests may import the package by its public names; they get the sources, so no build is needed. */
export function aliases(runtime: RuntimeName): { find: RegExp; replacement: string }[] {
  return [
    { find: /^#platform$/u, replacement: `${root}tests/platform/${runtime}.ts` },
    { find: /^causey$/u, replacement: `${root}core/mod.ts` },
    { find: /^causey\/(node|deno|bun|workers)$/u, replacement: `${root}adapters/$1/mod.ts` },
    { find: /^causey\/([a-z]+)$/u, replacement: `${root}core/$1/mod.ts` },
  ];
}

/** The usual report for people; for scripts/ok.ts its summary and, in full, only what failed. */
export function reporters(): (string | Reporter)[] {
  const file = process.env["CAUSEY_TEST_REPORT"];
  return file === undefined ? ["default"] : ["minimal", new SummaryReporter(file)];
}
