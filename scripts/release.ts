// Prepares a release: `node scripts/run.mjs release -- 0.2.0`. It writes the version and its day, packs the package for npm and for
// JSR without sending anything, commits, and sets the tag. Nothing leaves this machine: the tag, once pushed, does
// (.github/workflows/release.yml). `--date YYYY-MM-DD` names another day, `--no-dry-runs` leaves the packing out.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import {
  releaseTexts,
  sectionOf,
  versionFiles,
  type VersionTexts,
} from "./release/release-texts.ts";

const root = process.cwd();

/** Runs a program, and returns what it prints; throws one line when it fails. */
function run(file: string, ...parameters: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(file, parameters, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  if (status === 0) return stdout;
  const said = `${error?.message ?? ""}${stdout}${stderr}`.trim();
  throw new Error(`${[file, ...parameters].join(" ")} failed\n${said}`);
}

function readTexts(): VersionTexts {
  const entries = versionFiles.map((path) => [path, readFileSync(join(root, path), "utf8")]);
  return Object.fromEntries(entries) as VersionTexts;
}

function write(texts: VersionTexts): void {
  for (const path of versionFiles) writeFileSync(join(root, path), texts[path]);
}

/** Packs for both registries as publishing does, and sends nothing. */
function dryRuns(): void {
  run(process.execPath, "scripts/openapi.ts");
  run("npm", "pack", "--dry-run");
  run("tools/node_modules/deno/deno", "publish", "--dry-run", "--allow-dirty");
}

function release(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { date: { type: "string" }, "no-dry-runs": { type: "boolean" } },
  });
  const [version = "", ...more] = positionals;
  if (version === "" || more.length > 0)
    throw new Error("Usage: node scripts/run.mjs release -- VERSION [--date DAY] [--no-dry-runs]");
  if (run("git", "status", "--porcelain") !== "")
    throw new Error("The tree is not clean: commit or stash what is changed");
  const tag = `v${version}`;
  if (run("git", "tag", "--list", tag) !== "") throw new Error(`The tag ${tag} is there already`);
  const date = values.date ?? new Date().toISOString().slice(0, 10);
  const before = readTexts();
  const after = releaseTexts(before, { version, date });
  write(after);
  try {
    if (values["no-dry-runs"] !== true) dryRuns();
  } catch (error) {
    write(before);
    run("git", "checkout", "--", ".");
    throw error;
  }
  run("git", "commit", "--quiet", "--all", "--message", `Release ${version}`);
  const notes = sectionOf(after["CHANGELOG.md"], version);
  run("git", "tag", "--annotate", tag, "--cleanup=verbatim", "--message", `${tag}\n\n${notes}`);
  process.stdout.write(`Committed and tagged ${tag}. To publish it:\n\n  git push --follow-tags\n`);
}

try {
  release();
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
