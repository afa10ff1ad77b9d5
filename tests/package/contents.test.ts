import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { expect, test } from "vitest";
import { root } from "../config/shared.ts";
import { pagesOfDocs } from "./sources.ts";

/** Pages with more lines begin with their contents. */
const LONG_PAGE = 150;

const pages = [
  ...pagesOfDocs(),
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
].map((path) => ({ path, text: readFileSync(`${root}${path}`, "utf8") }));

interface Heading {
  readonly level: number;
  readonly title: string;
}

/** The headings below the page's title, without those of code blocks. */
function headingsOf(text: string): Heading[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gmu, "");
  return [...prose.matchAll(/^(##+) (.+)$/gmu)].map(([, marks = "", title = ""]) => ({
    level: marks.length,
    title,
  }));
}

/** How GitHub and npm name the anchor of a heading. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

/** The contents that a page with these headings has: those of the third level in brackets. */
function contentsFor(headings: readonly Heading[]): string {
  const parts: { link: string; below: string[] }[] = [];
  for (const { level, title } of headings) {
    const link = `[${title}](#${anchorOf(title)})`;
    if (level === 2) parts.push({ link, below: [] });
    else if (level === 3) parts.at(-1)?.below.push(link);
  }
  const texts = parts.map(({ link, below }) =>
    below.length === 0 ? link : `${link} (${below.join(", ")})`,
  );
  return `Contents: ${texts.join(" · ")}`;
}

test("each long page of docs/ begins with contents that are its headings", () => {
  for (const { path, text } of pages.filter((page) => page.path.startsWith("docs/"))) {
    const contents = /^Contents: [\s\S]*?(?=\n\n)/mu.exec(text)?.[0].replaceAll(/\s*\n/gu, " ");
    if (contents === undefined) expect(text.split("\n").length, path).toBeLessThan(LONG_PAGE);
    else expect(contents, path).toBe(contentsFor(headingsOf(text)));
  }
});

test("no page of docs/ has more than 300 lines", () => {
  const long = pages.filter(
    ({ path, text }) => path.startsWith("docs/") && text.split("\n").length > 301,
  );
  expect(long.map(({ path }) => path)).toEqual([]);
});

test("every link to a heading of a page finds it", () => {
  const anchors = new Map(
    pages.map(({ path, text }) => [
      path,
      new Set(headingsOf(text).map(({ title }) => anchorOf(title))),
    ]),
  );
  for (const { path, text } of pages)
    for (const [, file = "", anchor = ""] of text.matchAll(/\]\(([\w./-]*)#([^)\s]+)\)/gu)) {
      const target = file === "" ? path : posix.join(posix.dirname(path), file);
      const found = anchors.get(target);
      expect(found, `${target} in ${path}`).toBeDefined();
      expect(found?.has(anchor), `#${anchor} of ${target} in ${path}`).toBe(true);
    }
});
