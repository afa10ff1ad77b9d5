// Builds the site of the documents into tools/site/dist: `npm run site`. `npm run site -- --base /causey/` builds it for a path,
// `npm run site -- serve` shows what was built.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { llmsText } from "./site/llms.ts";
import { navigation, sitePages } from "./site/pages.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const site = join(root, "tools/site");
const pagesFolder = join(site, "pages");

/** Runs a program of the site's own packages, and ends with it when it fails. */
function run(program: string, parameters: readonly string[]): void {
  const file = join(site, "node_modules", program);
  const { status } = spawnSync(process.execPath, [file, ...parameters], {
    cwd: site,
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Writes the API reference: a page for each entry of the package, from the types and their comments. */
function writeReference(): { text: string; link: string }[] {
  const { exports } = JSON.parse(readFileSync(join(root, "deno.json"), "utf8")) as {
    exports: Record<string, string>;
  };
  const entries = join(site, "entries");
  rmSync(entries, { recursive: true, force: true });
  const names = Object.keys(exports).map((name) => name.replace(/^\.\/?/u, "") || "causey");
  for (const [index, source] of Object.values(exports).entries()) {
    const name = names[index] ?? "";
    const up = "../".repeat(3 + name.split("/").length - 1);
    const isCore = name === "causey";
    const title = isCore ? "causey" : `causey/${name}`;
    write(
      join(entries, `${name}.ts`),
      `/** @module ${title} */\nexport * from "${up}${source.slice(2)}";\n`,
    );
  }
  run("typedoc/bin/typedoc", []);
  renameSync(join(pagesFolder, "reference/README.md"), join(pagesFolder, "reference/index.md"));
  return names.map((name) => {
    const title = name === "causey" ? name : `causey/${name}`;
    return { text: title, link: `/reference/${title}` };
  });
}

function build(parameters: readonly string[]): void {
  rmSync(pagesFolder, { recursive: true, force: true });
  const pages = sitePages();
  for (const { path, text } of pages) write(join(pagesFolder, path), text);
  // For models, which read Markdown: the list of the pages, and each page as it is.
  write(join(pagesFolder, "public/llms.txt"), llmsText(pages, navigation));
  for (const { path, text } of pages) write(join(pagesFolder, "public", path), text);
  cpSync(join(site, "index.md"), join(pagesFolder, "index.md"));
  const reference = writeReference();
  const parts = navigation.map(({ text, pages: sources }) => ({
    text,
    items: pages
      .filter(({ source }) => sources.includes(source))
      .map(({ path, title }) => ({ text: title, link: `/${path.replace(/\.md$/u, "")}` })),
  }));
  const sidebar = [
    ...parts.slice(0, -1),
    { text: "API reference", link: "/reference/", items: reference },
    ...parts.slice(-1),
  ];
  write(join(site, ".vitepress/sidebar.json"), JSON.stringify(sidebar));
  run("vitepress/bin/vitepress.js", ["build", ...parameters]);
}

const [task, ...parameters] = process.argv.slice(2);
if (task === "serve") run("vitepress/bin/vitepress.js", ["preview", ...parameters]);
else build(process.argv.slice(2));
