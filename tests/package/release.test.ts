import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import {
  releaseTexts,
  sectionOf,
  versionFiles,
  type VersionTexts,
} from "../../scripts/release/release-texts.ts";
import { root } from "../config/shared.ts";

const present = Object.fromEntries(
  versionFiles.map((path) => [path, readFileSync(`${root}${path}`, "utf8")]),
) as VersionTexts;
/** The repository as it is before a release of 0.2.0. */
const texts: VersionTexts = {
  ...present,
  "CHANGELOG.md":
    "# Changelog\n\n## 0.2.0 (unreleased)\n\n- More.\n\n## 0.1.0 (2026-01-01)\n\n- All.\n",
};
const folder = mkdtempSync(join(tmpdir(), "causey-release-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a release writes its version and day, and nothing else", () => {
  const after = releaseTexts(texts, { version: "0.2.0", date: "2026-12-01" });
  for (const path of ["package.json", "deno.json"] as const) {
    const manifest = JSON.parse(texts[path]) as object;
    expect(JSON.parse(after[path])).toEqual({ ...manifest, version: "0.2.0" });
  }
  const lock = JSON.parse(texts["package-lock.json"]) as { packages: Record<string, object> };
  expect(JSON.parse(after["package-lock.json"])).toEqual({
    ...lock,
    version: "0.2.0",
    packages: { ...lock.packages, "": { ...lock.packages[""], version: "0.2.0" } },
  });
  expect(after["core/version.ts"]).toContain('VERSION = "0.2.0";');
  expect(after["CHANGELOG.md"]).toContain("## 0.2.0 (2026-12-01)\n\n- More.");
  expect(sectionOf(after["CHANGELOG.md"], "0.2.0")).toBe("- More.");
  expect(sectionOf(after["CHANGELOG.md"], "0.1.0")).toBe("- All.");
});

test.each([
  ["next", '"next" is not a version such as "0.2.0"'],
  ["0.0.9", "0.0.9 is older than"],
  ["0.3.0", 'CHANGELOG.md has no section "## 0.3.0 (unreleased)"'],
])("a release of %s is refused", (version, message) => {
  expect(() => releaseTexts(texts, { version, date: "2026-12-01" })).toThrow(message);
});

test("a section without a line is refused", () => {
  const empty = { ...texts, "CHANGELOG.md": "# Changelog\n\n## 0.2.0 (unreleased)\n" };
  expect(() => releaseTexts(empty, { version: "0.2.0", date: "2026-12-01" })).toThrow("is empty");
});

test("the changelog of this repository has the section that its version takes", () => {
  const { version } = JSON.parse(present["package.json"]) as { version: string };
  const headings = present["CHANGELOG.md"].match(/^## .+$/gmu) ?? [];
  expect(headings[0]).toMatch(/^## \S+ \((?:unreleased|\d{4}-\d\d-\d\d)\)$/u);
  expect(headings[0]?.split(" ")[1]).toBe(version);
});

test("the changelog says of a version what its users need to know, on one page", () => {
  const { version } = JSON.parse(present["package.json"]) as { version: string };
  const lines = sectionOf(present["CHANGELOG.md"], version).split("\n");
  expect(lines.length).toBeGreaterThan(1);
  expect(lines.length).toBeLessThanOrEqual(200);
});

/** Runs a program in the clone of this test, and returns what it printed. */
function run(file: string, ...parameters: string[]): { status: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync(file, parameters, { cwd: folder, encoding: "utf8" });
  return { status, said: `${stdout}${stderr}` };
}

test("the script commits and tags once, from a clean tree alone", () => {
  for (const path of versionFiles) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), texts[path]);
  }
  const commands = [
    ["init", "--quiet"],
    ["config", "user.name", "test"],
    ["config", "user.email", "test@example.com"],
    ["config", "commit.gpgsign", "false"],
    ["config", "tag.gpgsign", "false"],
    ["add", "."],
    ["commit", "--quiet", "--message", "Before"],
  ];
  for (const parameters of commands) expect(run("git", ...parameters).status).toBe(0);
  const script = `${root}scripts/release.ts`;
  const release = (): { status: number | null; said: string } =>
    run(process.execPath, script, "0.2.0", "--date", "2026-12-01", "--no-dry-runs");
  writeFileSync(join(folder, "more.txt"), "");
  expect(release()).toEqual({ status: 1, said: expect.stringContaining("The tree is not clean") });
  rmSync(join(folder, "more.txt"));
  expect(release()).toEqual({ status: 0, said: expect.stringContaining("git push --follow-tags") });
  expect(run("git", "log", "-1", "--format=%s").said).toBe("Release 0.2.0\n");
  expect(run("git", "tag", "--list", "--format=%(contents)", "v0.2.0").said).toContain("- More.");
  expect(run("git", "status", "--porcelain").said).toBe("");
  expect(release()).toEqual({ status: 1, said: expect.stringContaining("is there already") });
});
