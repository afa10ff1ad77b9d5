// Checks the types of every part with the types of the runtime that it runs on.
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";

// "adapters" are those of Node and what all local runtimes share.
const adapters = ["adapters"].concat(
  ["memory", "deno", "bun", "workers", "cli"].map((name) => `adapters/${name}`),
);
// "tests" reads scripts/ and bench/ as well.
const projects = [".", ...adapters, "console", "snippet", "tests", "examples"];
const only = process.argv.slice(2);
/** An error in the core is found again by every project that imports it; it is shown once. */
const shown = new Set<string>();
let failed = false;

for (const project of only.length > 0 ? only : projects) {
  const sources = project === "." ? "core/**/*.ts" : `${project}/**/*.{ts,tsx}`;
  // tsc refuses a project without any file.
  if (globSync(sources, { exclude: ["**/node_modules"] }).length === 0) continue;
  const { status, stdout } = spawnSync(
    "node_modules/.bin/tsc",
    // Several checkers of one program repeat a part of each other's work, which other steps have a use for.
    ["-p", project, "--pretty", "false", "--singleThreaded"],
    { encoding: "utf8" },
  );
  if (status === 0) continue;
  failed = true;
  const lines = stdout.split("\n").filter((line) => line !== "" && !shown.has(line));
  for (const line of lines) shown.add(line);
  if (lines.length > 0) console.log([`In ${project}:`, ...lines, ""].join("\n"));
}
process.exitCode = failed ? 1 : 0;
