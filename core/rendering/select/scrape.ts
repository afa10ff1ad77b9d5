import { innerTextOf } from "./inner-text.ts";
import { choose, parseSelector } from "./selector.ts";
import { htmlOf } from "./html-of.ts";
import { readTree, type Tree } from "./tree.ts";

/** One selector of `/scrape` and its matches, without the places that only a browser knows. */
export type StaticScrape = {
  readonly selector: string;
  readonly results: StaticMatch[];
};

type StaticMatch = {
  readonly text: string;
  readonly html: string;
  readonly attributes: { readonly name: string; readonly value: string }[];
};

/** Characters of HTML and of text that are answered: elements stand in each other, and each has its own. */
const CHARACTERS = 16 * 1024 * 1024;

/** Finds the elements that selectors match in a document. @throws ApiError `page_too_large` */
export function* scrape(
  html: string,
  selectors: readonly string[],
): Generator<void, { readonly results: StaticScrape[]; readonly title: string }, void> {
  const tree = yield* readTree(html);
  const budget = { characters: CHARACTERS };
  const results: StaticScrape[] = [];
  for (const selector of selectors) {
    const chosen = yield* choose(tree, parseSelector("elements", selector));
    const found: StaticMatch[] = [];
    for (const [index, element] of tree.entries()) {
      if (chosen[index] !== 1) continue;
      const inner = yield* htmlOf(tree, index, budget);
      const text = yield* innerTextOf(tree, index);
      const attributes = Object.entries(element.attributes);
      found.push({
        text,
        html: inner,
        attributes: attributes.map(([name, value]) => ({ name, value })),
      });
      if (found.length % 256 === 0) yield;
    }
    results.push({ selector, results: found });
    yield;
  }
  return { results, title: titleOf(tree) };
}

function titleOf(tree: Tree): string {
  const title = tree.find(({ name }) => name === "title");
  return (title?.children ?? [])
    .filter((child) => typeof child === "string")
    .join("")
    .replaceAll(/\s+/gu, " ")
    .trim();
}
