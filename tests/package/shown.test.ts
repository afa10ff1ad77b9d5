import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { root } from "../config/shared.ts";

/** Code that tests run, and the pages that show it: what stands between two marks is shown. */
const shownIn: readonly { readonly source: string; readonly pages: readonly string[] }[] = [
  { source: "tests/fakes/agents-shown.ts", pages: ["docs/agents.md", "docs/agents/connecting.md"] },
  {
    source: "tests/fakes/webhooks-shown.ts",
    pages: ["docs/webhooks/answers.md", "docs/webhooks/endpoints.md"],
  },
  { source: "tests/fakes/memory-edge.ts", pages: ["docs/memory.md"] },
  { source: "tests/fakes/deprecations-shown.ts", pages: ["docs/deprecations.md"] },
  { source: "tests/local/memory-shown.test.ts", pages: ["docs/memory.md"] },
];

const read = (path: string): string => readFileSync(`${root}${path}`, "utf8");

/** Whether a page shows the code. A program's exports belong to it; a library's are there for the tests only. */
function shows(page: string, code: string): boolean {
  const blocks = [code, code.replaceAll(/^export (?!default)/gmu, "")];
  return blocks.some((block) => read(page).includes(`\`\`\`ts\n${block}\`\`\`\n`));
}

const shown = shownIn.flatMap(({ source, pages }) =>
  [...read(source).matchAll(/^\/\/ shown: (\w+)\n([\s\S]*?)^\/\/ end$/gmu)].map(
    ([, name = "", code = ""]) => ({ name, source, pages, code }),
  ),
);

it.each(shown)("the code $name of $source is on one of its pages", ({ pages, code }) => {
  expect(pages.filter((page) => shows(page, code))).toHaveLength(1);
});

it.each([...new Set(shownIn.flatMap(({ pages }) => pages))])("%s shows tested code", (page) => {
  expect(shown.some(({ code }) => shows(page, code))).toBe(true);
});
