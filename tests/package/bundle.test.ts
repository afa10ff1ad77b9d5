import { build } from "esbuild";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { bundle } from "../../scripts/bundle.ts";
import { root } from "../config/shared.ts";
import { foundations } from "./sources.ts";

// Whoever imports one capability pays for that one: what else a bundle holds is a mistake.

const { exports: entries } = JSON.parse(readFileSync(`${root}deno.json`, "utf8")) as {
  exports: Record<string, string>;
};
const capabilities = Object.entries(entries).filter(([, path]) => /^\.\/core\/.+\//u.test(path));

/** Packages that belong to some capabilities only. */
const owners: Record<string, readonly string[]> = {
  "@orama/stemmers": ["search"],
  aws4fetch: ["gateway", "search"],
  croner: ["agents"],
  "css-what": ["rendering"],
  htmlparser2: ["rendering", "search"],
  re2js: ["rendering"],
  "@cfworker/json-schema": ["rendering"],
};

const bundles = new Map<string, Promise<string[]>>();

/** The files in the bundle of one entry, from the repository's root, made once. Fails on any built-in module. */
function bundledFiles(entry: string, external: string[] = []): Promise<string[]> {
  const key = [entry, ...external].join(" ");
  const made = bundles.get(key) ?? bundleOf(entry, external);
  bundles.set(key, made);
  return made;
}

async function bundleOf(entry: string, external: string[]): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    external,
    bundle: true,
    write: false,
    metafile: true,
    treeShaking: true,
    format: "esm",
    // Neither Node's built-ins nor a browser's: as strict as workerd without Node compatibility.
    platform: "neutral",
    // Those of Wrangler, by which packages give workerd what they give a browser.
    conditions: ["workerd", "worker", "browser", "import", "module"],
    mainFields: ["module", "main"],
    logLevel: "silent",
  });
  return Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs)
      .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      .map(([path]) => path),
  );
}

describe.each(capabilities)("the entry %s", (name, entry) => {
  const capability = name.slice(2).split("/", 1)[0] ?? "";

  test("bundles without any runtime's built-in modules", async () => {
    await expect(bundledFiles(entry)).resolves.not.toEqual([]);
  });

  test("holds no other capability", async () => {
    const own = new RegExp(
      `^core/(?:${[...foundations].join("|")}|${capability})/|^core/[^/]+$`,
      "u",
    );
    const files = await bundledFiles(entry);
    expect(files.filter((path) => path.startsWith("core/") && !own.test(path))).toEqual([]);
  });

  test("holds no package of other capabilities", async () => {
    const files = await bundledFiles(entry);
    const found = Object.entries(owners)
      .filter(([, users]) => !users.includes(capability))
      .filter(([dependency]) => files.some((path) => path.includes(`node_modules/${dependency}/`)));
    expect(found).toEqual([]);
  });
});

test("the entry . bundles without any runtime's built-in modules", async () => {
  await expect(bundledFiles("core/mod.ts")).resolves.not.toEqual([]);
});

test("the entry ./workers needs nothing but workerd's own modules", async () => {
  await expect(bundledFiles("adapters/workers/mod.ts", ["cloudflare:*"])).resolves.not.toEqual([]);
});

/** Packages that an application installs for one entry, which alone may hold them. */
const optional = [
  ["./rendering/extract", /node_modules\/(?:linkedom|@mozilla\/readability)\//u],
  ["./search/files", /node_modules\/(?:unpdf|fflate|jschardet|postal-mime)\//u],
  ["./rendering/pdf", /node_modules\/unpdf\//u],
  ["./rendering/pdf-edit", /node_modules\/@cantoo\//u],
  ["./rendering/turndown", /node_modules\/linkedom\//u],
  ["./rendering/mcp", /node_modules\/(?:@modelcontextprotocol|zod)\//u],
  ["./search/mcp", /node_modules\/(?:@modelcontextprotocol|zod)\//u],
] as const;

test.each(optional)("only the entry %s holds its packages", async (owner, packages) => {
  const holds = async (entry = ""): Promise<boolean> =>
    (await bundledFiles(entry, ["cloudflare:*"])).some((path) => packages.test(path));
  for (const name of [".", "./gateway", "./rendering", "./search", "./workers"])
    await expect(holds(entries[name])).resolves.toBe(false);
  await expect(holds(entries[owner])).resolves.toBe(true);
});

test("the entry ./gateway holds neither the semantic cache nor streams that are resumed", async () => {
  const parts = /^core\/gateway\/(?:semantic-cache|resume)\//u;
  const files = await bundledFiles(entries["./gateway"] ?? "");
  expect(files.filter((path) => parts.test(path))).toEqual([]);
  expect((await bundledFiles("core/mod.ts")).some((path) => parts.test(path))).toBe(true);
});

test("only the entries ./console and ./openapi hold what they serve", async () => {
  const built = /^core\/(?:console\/assets|openapi\/document)\.ts$/u;
  const holds = async (entry = ""): Promise<boolean> =>
    (await bundledFiles(entry, ["cloudflare:*"])).some((path) => built.test(path));
  for (const name of [".", "./gateway", "./workers"])
    await expect(holds(entries[name])).resolves.toBe(false);
  for (const name of ["./console", "./openapi"])
    await expect(holds(entries[name])).resolves.toBe(true);
});

const SQLITE = "@sqlite.org/sqlite-wasm";

test("the entry ./memory needs no runtime's built-in modules", async () => {
  await expect(bundledFiles("adapters/memory/mod.ts")).resolves.toContainEqual(
    expect.stringContaining(SQLITE),
  );
});

test.each(Object.entries(entries).filter(([name]) => name !== "./memory"))(
  "the entry %s holds no SQLite of memoryPlatform()",
  async (_, entry) => {
    const external = ["cloudflare:*", "node:*", "bun", "undici", "ws", "@hono/node-server"];
    const files = await bundledFiles(entry, external);
    expect(files.filter((path) => path.includes(SQLITE))).toEqual([]);
  },
);

/** A minified bundle as Wrangler makes it: one file, or divided by `import()`, where the first ones are what a start loads. */
async function minified(
  entry: string,
  splitting = false,
): Promise<{ readonly bytes: number; readonly start: number }> {
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outdir: "out",
    bundle: true,
    minify: true,
    splitting,
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
    target: "es2024",
    conditions: ["workerd", "worker", "browser", "import", "module"],
    mainFields: ["module", "main"],
    external: ["cloudflare:*"],
    logLevel: "silent",
  });
  const first = Object.keys(metafile.outputs).find(
    (path) => metafile.outputs[path]?.entryPoint === entry,
  );
  const loaded = new Set([first ?? ""]);
  for (const path of loaded)
    for (const { path: next, kind, external } of metafile.outputs[path]?.imports ?? [])
      if (kind === "import-statement" && external !== true) loaded.add(next);
  const isFirst = (path: string): boolean =>
    [...loaded].some((one) => path.replaceAll("\\", "/").endsWith(`/${one}`));
  return {
    bytes: outputFiles.reduce((sum, { contents }) => sum + contents.byteLength, 0),
    start: outputFiles
      .filter(({ path }) => isFirst(path))
      .reduce((sum, { contents }) => sum + gzipSync(contents).byteLength, 0),
  };
}

// The figures of a day, and a hundredth more: a change that needs more gives its reason here. The last ones:
// what compiles patterns, and the script of the search box, are loaded when first needed; a page's author, date and
// language are read, also loaded when first needed. 2026-11-29: two kilobytes for edits of images, completions and
// compactions by provider/model, and for conversations that go on with another provider; a kilobyte for streams that end
// with the rights of their key; a hundredth of a MiB for XHTML that is read as XML, the source of feeds in a browser, and missing fonts.

test("a program that imports causey starts with at most 536 kB, compressed", async () => {
  const { start } = await minified("core/mod.ts", true);
  expect(start).toBeGreaterThan(100_000);
  expect(start).toBeLessThanOrEqual(536_000);
});

test("causey in one file has at most 672 kB, compressed", async () => {
  const { start } = await minified("core/mod.ts");
  expect(start).toBeGreaterThan(100_000);
  expect(start).toBeLessThanOrEqual(672_000);
});

test.each([
  ["the Worker of the README", "examples/workers/main.ts", 1.92],
  ["a made Worker, with the console", "examples/projects/workers/main.ts", 2.09],
  ["the product, with what finds main content", "adapters/workers/main.ts", 2.32],
])("the upload of %s is bounded", async (_, entry, mebibytes) => {
  const { bytes } = await minified(entry);
  expect(bytes).toBeGreaterThan(1_000_000);
  expect(bytes).toBeLessThanOrEqual(mebibytes * 1024 * 1024);
});

test("the files of the package are ASCII: V8 keeps two bytes for each character of any other", async () => {
  const folder = mkdtempSync(join(tmpdir(), "causey-bundle-"));
  try {
    await bundle(folder, [{ in: `${root}adapters/cli/main.ts`, out: "cli/main" }]);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const codes = files
      .filter((path) => path.endsWith(".js"))
      .map((path) => readFileSync(join(folder, path), "utf8"));
    expect(codes.some((code) => code.includes(String.raw`/[\u4e0d\u6ca1`))).toBe(true);
    expect(codes.flatMap((code) => code.match(/^.*[^\0-\x7f].*$/gmu) ?? [])).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a server's start loads neither an HTML parser nor an engine for patterns: the first page loads them", async () => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ["adapters/cli/serve/serve.ts", "adapters/node/mod.ts", "adapters/bun/mod.ts"],
    outdir: "out",
    packages: "bundle",
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "node",
    external: ["bun", "cloudflare:*"],
    logLevel: "silent",
  });
  const { outputs } = metafile;
  const starts = Object.entries(outputs).filter(([, { entryPoint = "" }]) =>
    /^adapters\/(?:cli\/serve\/serve|node\/mod|bun\/mod)\.ts$/u.test(entryPoint),
  );
  expect(starts).toHaveLength(3);
  const loaded = new Set(starts.map(([path]) => path));
  for (const path of loaded)
    for (const { path: next, kind } of outputs[path]?.imports ?? [])
      if (kind === "import-statement") loaded.add(next);
  const files = [...loaded].flatMap((path) => Object.keys(outputs[path]?.inputs ?? {}));
  expect(files).toContain("core/rendering/input/markdown.ts");
  const later = /node_modules\/(?:htmlparser2|re2js)\//u;
  expect(files.filter((path) => later.test(path))).toEqual([]);
});
