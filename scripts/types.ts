// Checks the types of every part with the types of the runtime that it runs on.
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const CORE = ".";
// "adapters" are those of Node and what all local runtimes share.
const adapters = ["adapters"].concat(
  ["memory", "deno", "bun", "workers", "cli"].map((name) => `adapters/${name}`),
);
// "tests" reads scripts/ and bench/ as well.
const projects = [CORE, ...adapters, "console", "snippet", "page-scripts", "tests", "examples"];
const given = process.argv.slice(2);
const wanted = given.length > 0 ? given : projects;

// Not in a folder of the system: the declarations import packages.
mkdirSync("node_modules/.cache", { recursive: true });
const folder = mkdtempSync(resolve("node_modules/.cache/types-"));

/** Writes the configuration of a project with more in it, and returns its path. */
function configOf(project: string, more: object): string {
  const name = project === CORE ? "core" : project.replaceAll("/", "-");
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify({ extends: resolve(project, "tsconfig.json"), ...more }));
  return path;
}

/**
 * Checks the core, and writes the declarations that all other programs read in its place: checking it again in each of them
 * takes half of the CPU.
 */
const core = configOf(CORE, {
  compilerOptions: {
    composite: true,
    noEmit: false,
    emitDeclarationOnly: true,
    // It is checked where it is asked for; others only read it.
    noCheck: !wanted.includes(CORE),
    rootDir: resolve("."),
    outDir: folder,
    tsBuildInfoFile: join(folder, "core.tsbuildinfo"),
  },
  include: [resolve("core"), resolve("core/**/*.json")],
});
const others = {
  // Paths that lead to another program are not rewritten.
  compilerOptions: { rewriteRelativeImportExtensions: false, allowImportingTsExtensions: true },
  references: [{ path: core }],
};

/** Runs the compiler; returns what it finds. */
function findings(config: string): string[] {
  const { status, stdout } = spawnSync(
    "node_modules/.bin/tsc",
    // Several checkers of one program repeat a part of each other's work, which other steps have a use for.
    ["-p", config, "--pretty", "false", "--singleThreaded"],
    { encoding: "utf8" },
  );
  return status === 0 ? [] : stdout.split("\n").filter((line) => line !== "");
}

/** An error in what adapters share is found by each program that imports it; it is shown once. */
const shown = new Set<string>();
let failed = false;
function tell(project: string, found: readonly string[]): void {
  failed ||= found.length > 0;
  const lines = found.filter((line) => !shown.has(line));
  for (const line of lines) shown.add(line);
  if (lines.length > 0) console.log([`In ${project}:`, ...lines, ""].join("\n"));
}

tell(CORE, findings(core));
for (const project of wanted) {
  const sources = `${project}/**/*.{ts,tsx}`;
  // tsc refuses a project without any file.
  if (project === CORE || globSync(sources, { exclude: ["**/node_modules"] }).length === 0)
    continue;
  tell(project, findings(configOf(project, others)));
}
rmSync(folder, { recursive: true, force: true });
process.exitCode = failed ? 1 : 0;
