/** The files in which a release writes its version, by their paths. */
export const versionFiles = [
  "package.json",
  "package-lock.json",
  "deno.json",
  "core/version.ts",
  "CHANGELOG.md",
] as const;

/** The texts of {@link versionFiles}. */
export type VersionTexts = Readonly<Record<(typeof versionFiles)[number], string>>;

/** The version to release, and its day as `YYYY-MM-DD`. */
export interface Release {
  readonly version: string;
  readonly date: string;
}

/** A version as npm and JSR take it (semver.org), without build metadata. */
const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-[\w.]+)?$/u;

/**
 * Returns the files as a release writes them: the version everywhere, and its day in the changelog.
 *
 * @throws Error with one line when the version is not one, goes back, or has no section or no line in the changelog.
 */
export function releaseTexts(texts: VersionTexts, { version, date }: Release): VersionTexts {
  if (!VERSION.test(version)) throw new Error(`"${version}" is not a version such as "0.2.0"`);
  const { version: present } = JSON.parse(texts["package.json"]) as { version: string };
  if (isOlder(version, present)) throw new Error(`${version} is older than ${present}`);
  const manifest = (text: string): string =>
    // Of a lockfile the first two: its own, and that of its root package.
    text.replaceAll(/^( {2}| {6})"version": "[^"]*"/gmu, (found, indent: string, at: number) =>
      at < MANIFEST_HEAD ? `${indent}"version": "${version}"` : found,
    );
  return {
    "package.json": manifest(texts["package.json"]),
    "package-lock.json": manifest(texts["package-lock.json"]),
    "deno.json": manifest(texts["deno.json"]),
    "core/version.ts": texts["core/version.ts"].replace(/"[^"]+";/u, `"${version}";`),
    "CHANGELOG.md": datedChangelog(texts["CHANGELOG.md"], { version, date }),
  };
}

/** The characters within which a manifest names its own version. */
const MANIFEST_HEAD = 300;

function isOlder(one: string, other: string): boolean {
  const numbers = (text: string): number[] => (VERSION.exec(text) ?? []).slice(1, 4).map(Number);
  const [a, b] = [numbers(one), numbers(other)];
  const at = a.findIndex((number, index) => number !== b[index]);
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0);
}

function datedChangelog(text: string, { version, date }: Release): string {
  const heading = `## ${version} (unreleased)`;
  if (!text.includes(`${heading}\n`)) throw new Error(`CHANGELOG.md has no section "${heading}"`);
  const dated = text.replace(heading, `## ${version} (${date})`);
  if (sectionOf(dated, version) === "") throw new Error(`The section "${heading}" is empty`);
  return dated;
}

/** Returns what a changelog says of a version, without the heading: the text of the release. */
export function sectionOf(changelog: string, version: string): string {
  const [, ...sections] = changelog.split(/^## /mu);
  const section = sections.find((one) => one.startsWith(`${version} `)) ?? "";
  return section.slice(section.indexOf("\n") + 1).trim();
}
