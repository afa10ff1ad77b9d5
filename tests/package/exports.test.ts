import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { VERSION } from "../../core/version.ts";
import { root } from "../config/shared.ts";

interface Manifest {
  name: string;
  version: string;
  license: string;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  exports: Record<string, string | { types: string; default: string }>;
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(`${root}${path}`, "utf8"));
}

const npm = readJson("package.json") as Manifest;
const jsr = readJson("deno.json") as Pick<Manifest, "name" | "version" | "license"> & {
  exports: Record<string, string>;
};
const entries = Object.entries(jsr.exports);
const file = (source: string, extension: string): string =>
  source.replace(/^\.\//u, "./dist/").replace(/\.ts$/u, extension);

test("npm, JSR and core name the same package, version and licence", () => {
  // JSR allows no name without a scope.
  expect(jsr.name).toBe(`@${npm.name}/${npm.name}`);
  expect([jsr.version, jsr.license]).toEqual([npm.version, npm.license]);
  expect(VERSION).toBe(npm.version);
});

test("npm and JSR export the same entries", () => {
  const expected = entries.map(([name, source]) => [
    name,
    { types: file(source, ".d.ts"), default: file(source, ".js") },
  ]);
  const { "./package.json": own, ...exported } = npm.exports;
  expect(own).toBe("./package.json");
  expect(exported).toEqual(Object.fromEntries(expected));
});

test.each(entries)("the entry %s has a source, and types and code in dist/", (_name, source) => {
  const files = [source, file(source, ".d.ts"), file(source, ".js")];
  expect(files.filter((path) => !existsSync(`${root}${path}`))).toEqual([]);
});

// The others need the globals or modules of their own runtime.
const onNode = entries.filter(([, source]) => !/adapters\/(?:deno|bun|workers)/u.test(source));

test.each(onNode)("the built entry %s loads on Node", async (_name, source) => {
  const loaded: unknown = await import(/* @vite-ignore */ `${root}${file(source, ".js")}`);
  expect(Object.keys(loaded as object)).not.toEqual([]);
});

test("installing the package runs no script of ours", () => {
  const hooks = /^(?:pre|post)?install$|^prepare$/u;
  expect(Object.keys(npm.scripts).filter((name) => hooks.test(name))).toEqual([]);
});

test("hono is the host's: a peer dependency, never a second copy", () => {
  expect(npm.peerDependencies).toHaveProperty("hono");
  expect(npm.dependencies).not.toHaveProperty("hono");
});

test("the lockfiles are up to date", () => {
  for (const folder of ["", "tools/", "tools/releases/", "tests/clients/"]) {
    const { packages } = readJson(`${folder}package-lock.json`) as {
      packages: Record<string, Record<string, unknown>>;
    };
    const manifest = readJson(`${folder}package.json`) as Record<string, unknown>;
    for (const kind of ["dependencies", "devDependencies", "peerDependencies"]) {
      expect(packages[""]?.[kind], `${folder} ${kind}`).toEqual(manifest[kind]);
    }
  }
});
