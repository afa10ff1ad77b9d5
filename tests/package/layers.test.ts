import { expect, test } from "vitest";
import { foundations, readSources, type Source } from "./sources.ts";

// The rules of who may import whom: ARCHITECTURE.md, "Invariants".

const sources = readSources("core", "adapters");
/** What is in there as texts runs in a browser. */
const BUILT = new Set([
  "core/console/assets.ts",
  "core/rendering/page/scripts/page-scripts.ts",
  "core/search/snippet/search-script.ts",
]);
const core = sources.filter(({ path }) => path.startsWith("core/") && !BUILT.has(path));
/** What puts the capabilities together; nothing else in the core imports it. */
const assembly = /^core\/(?:api\.ts|mod\.ts|config\/.+)$/u;

/** The part of the core that a file belongs to: a folder's name, or "" for files directly in core/. */
function partOf(path: string): string {
  return /^core\/([^/]+)\//u.exec(path)?.[1] ?? "";
}

function mayCoreImport(from: string, to: string): boolean {
  if (!to.startsWith("core/")) return false;
  if (assembly.test(from)) return true;
  if (assembly.test(to)) return false;
  const part = partOf(to);
  return part === "" || foundations.has(part) || part === partOf(from);
}

function mayAdapterImport(from: string, to: string): boolean {
  if (to.startsWith("core/")) return true;
  const adapter = from.split("/")[1];
  if (adapter === "cli") return to.startsWith("adapters/");
  return (
    /^adapters\/(?:peers|postgres|processes|shared)\//u.test(to) ||
    to.startsWith(`adapters/${adapter}/`)
  );
}

function isOwn(specifier: string): boolean {
  return specifier.endsWith(".ts") || specifier.startsWith("core/") || specifier.startsWith("..");
}

function breaches(
  files: readonly Source[],
  allowed: (from: string, to: string) => boolean,
): string[] {
  return files.flatMap(({ path, imports }) =>
    imports.filter((to) => isOwn(to) && !allowed(path, to)).map((to) => `${path} imports ${to}`),
  );
}

/** The places in the core's code, `path:line: text`, that a pattern matches. */
function occurrences(pattern: RegExp): string[] {
  return core.flatMap(({ path, code }) =>
    code
      .split("\n")
      .flatMap((line, index) =>
        pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [],
      ),
  );
}

/** The files on a circle of imports, and on ways between circles; what is imported for its types alone counts too. */
function onCircles(files: readonly Pick<Source, "path" | "imports">[]): string[] {
  let left = files;
  for (;;) {
    const present = new Set(left.map(({ path }) => path));
    const imported = new Set(left.flatMap(({ imports }) => imports));
    const next = left.filter(
      ({ path, imports }) => imported.has(path) && imports.some((to) => present.has(to)),
    );
    if (next.length === left.length) return next.map(({ path }) => path);
    left = next;
  }
}

test("a capability imports itself, the foundations and the ports, and no other capability", () => {
  expect(breaches(core, mayCoreImport)).toEqual([]);
});

test("an adapter imports the core, what adapters share and itself, and no other runtime's", () => {
  const adapters = sources.filter(({ path }) => path.startsWith("adapters/"));
  expect(breaches(adapters, mayAdapterImport)).toEqual([]);
});

test("the core imports no runtime's own modules", () => {
  const found = core.flatMap(({ path, imports }) =>
    imports
      .filter((name) => /^(?:node|bun|cloudflare|deno|jsr|npm):/u.test(name))
      .map((name) => [path, name]),
  );
  expect(found).toEqual([]);
});

test("the core reads no clock but for a host of the deprecations that gives none", () => {
  const found = occurrences(/\bDate\.now\b|new Date\(\)|\bperformance\.now\b/u);
  expect(found.map((line) => line.split(":")[0])).toEqual(["core/deprecations/options.ts"]);
});

test("the core keeps no state in modules", () => {
  expect(occurrences(/^(?:export )?(?:let|var) /u)).toEqual([]);
  // Weak ones only say more of an object that somebody else keeps.
  expect(occurrences(/^(?:export )?const \w+ = new (?:Map|Set)\b[^(]*\(\);/u)).toEqual([]);
});

test("the core throws errors that have a code, not bare ones", () => {
  expect(occurrences(/\bnew Error\(/u)).toEqual([]);
});

test("no file imports itself by way of others, types included", () => {
  expect(onCircles(sources)).toEqual([]);
});

test("no folder of a part imports itself by way of others", () => {
  const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));
  // A part is a folder below core/ or adapters/; its own files stand above its folders.
  const partOfPath = (path: string): string => path.split("/").slice(0, 2).join("/");
  const folders = new Map<string, Set<string>>();
  for (const { path, imports } of sources) {
    const within = imports.filter(
      (to) => partOfPath(to) === partOfPath(path) && folderOf(to) !== folderOf(path),
    );
    const known = folders.get(folderOf(path)) ?? new Set();
    folders.set(folderOf(path), new Set([...known, ...within.map(folderOf)]));
  }
  const asSources = [...folders].map(([path, imports]) => ({ path, imports: [...imports] }));
  expect(onCircles(asSources)).toEqual([]);
});

test("a folder holds 20 files at most", () => {
  const files = new Map<string, number>();
  for (const { path } of sources) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    files.set(folder, (files.get(folder) ?? 0) + 1);
  }
  expect([...files].filter(([, count]) => count > 20)).toEqual([]);
});

test("a name is exported by one file, so that it means one thing", () => {
  // Each runtime's package has them, and they do the same there.
  const perRuntime = new Set(["acceptWebSockets", "closeServer", "serve"]);
  const homes = new Map<string, string[]>();
  const declaration =
    /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:const|function\*?|class|interface|type) (\w+)/gmu;
  for (const { path, code } of sources) {
    for (const name of new Set([...code.matchAll(declaration)].map(([, found = ""]) => found)))
      homes.set(name, [...(homes.get(name) ?? []), path]);
  }
  const several = [...homes].filter(([name, at]) => at.length > 1 && !perRuntime.has(name));
  expect(several).toEqual([]);
});

test("relative imports name the file, with its .ts", () => {
  const found = sources.flatMap(({ path, imports }) =>
    imports
      .filter((to) => /^(?:core|adapters)\//u.test(to) && !/\.(?:ts|json)$/u.test(to))
      .map((to) => `${path} imports ${to}`),
  );
  expect(found).toEqual([]);
});
