import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { navigation, sitePages } from "../../scripts/site/pages.ts";
import { LONG } from "../cases/eventually.ts";
import { root } from "../config/shared.ts";
import { pagesOfDocs } from "./sources.ts";

test("every page of docs/ is in the navigation of the site, once", () => {
  const listed = navigation.flatMap(({ pages }) => pages);
  expect(listed.filter((path) => path.startsWith("docs/")).toSorted()).toEqual(pagesOfDocs());
  expect(new Set(listed).size).toBe(listed.length);
});

test("links lead to pages of the site, or to files of the repository", () => {
  const gateway = sitePages().find(({ path }) => path === "gateway.md");
  expect(gateway?.text).toContain("](gateway/clients.md)");
  expect(gateway?.text).not.toContain("Contents:");
  const operation = sitePages().find(({ path }) => path === "contributing.md");
  expect(operation?.title).toBe("Contributing");
  const overview = sitePages().find(({ path }) => path === "overview.md");
  expect(overview?.text).toContain("](bench/results.md)");
  expect(overview?.text).not.toContain("](docs/");
});

describe("the site", () => {
  const folder = mkdtempSync(join(tmpdir(), "causey-site-"));
  /** The built pages by their paths. */
  const pages = new Map<string, string>();

  beforeAll(() => {
    const build = spawnSync(process.execPath, ["scripts/site.ts", "--outDir", folder], {
      cwd: root,
      encoding: "utf8",
    });
    expect(build.status, build.stdout + build.stderr).toBe(0);
    for (const path of globSync("**/*.html", { cwd: folder }))
      pages.set(path.replaceAll("\\", "/"), readFileSync(join(folder, path), "utf8"));
  }, LONG.timeout);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("has a page for each document and each entry of the package", () => {
    for (const { path } of sitePages())
      expect([...pages.keys()]).toContain(path.replace(/\.md$/u, ".html"));
    const { exports } = JSON.parse(readFileSync(join(root, "deno.json"), "utf8")) as {
      exports: Record<string, string>;
    };
    for (const name of Object.keys(exports))
      expect([...pages.keys()]).toContain(posix.join("reference/causey", name).concat(".html"));
    expect(pages.get("reference/causey/node.html")).toContain("nodePlatform");
  });

  test("has llms.txt, whose links lead to the Markdown of each page", () => {
    const text = readFileSync(join(folder, "llms.txt"), "utf8");
    expect(text).toMatch(/^# causey\n\n> causey is .+\n\n## /u);
    const linked = [...text.matchAll(/^- \[.+?\]\((\S+)\): \S.*$/gmu)].map(([, path = ""]) => path);
    expect(linked.toSorted()).toEqual(
      sitePages()
        .map(({ path }) => path)
        .toSorted(),
    );
    for (const path of linked) expect(readFileSync(join(folder, path), "utf8")).toContain("# ");
  });

  test("has no link to a page or a heading that is not there", () => {
    const dead: string[] = [];
    for (const [path, html] of pages)
      for (const [, href = ""] of html.matchAll(/<a [^>]*?href="([^"]+)"/gu)) {
        if (/^[a-z]+:/u.test(href) || path === "404.html") continue;
        const [, file = "", anchor = ""] = /^([^#]*)(?:#(.*))?$/u.exec(href) ?? [];
        const found = file === "" ? path : posix.join(posix.dirname(path), file);
        const target = file.startsWith("/") ? file.slice(1) : found;
        const page = pages.get(
          target === "" || target.endsWith("/") ? `${target}index.html` : target,
        );
        if (
          page === undefined ||
          (anchor !== "" && !page.includes(`id="${decodeURIComponent(anchor)}"`))
        )
          dead.push(`${href} in ${path}`);
      }
    expect(pages.size).toBeGreaterThan(40);
    expect(dead).toEqual([]);
  });

  test("loads nothing from another origin", () => {
    for (const [path, html] of pages)
      expect(
        [...html.matchAll(/<(?:script|link|img)[^>]*?(?:src|href)="(https?:[^"]+)"/gu)].map(
          ([, url]) => url,
        ),
        path,
      ).toEqual([]);
  });
});
