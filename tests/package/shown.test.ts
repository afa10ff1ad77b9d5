import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { root } from "../config/shared.ts";

/** Code that tests run, and the pages that show it: what stands between two marks is shown. */
const shownIn: readonly (readonly [source: string, page: string])[] = [
  ["tests/fakes/agents-shown.ts", "docs/agents.md"],
  ["tests/fakes/memory-edge.ts", "docs/memory.md"],
  ["tests/local/memory-shown.test.ts", "docs/memory.md"],
];

const shown = shownIn.flatMap(([source, page]) =>
  [
    ...readFileSync(`${root}${source}`, "utf8").matchAll(
      /^\/\/ shown: (\w+)\n([\s\S]*?)^\/\/ end$/gmu,
    ),
  ].map(([, name = "", code = ""]) => [page, name, code] as const),
);

it.each(shown)("%s shows the tested code of %s", (page, _, code) => {
  const text = readFileSync(`${root}${page}`, "utf8");
  // A program's exports belong to it; a library's are there for the tests only.
  const blocks = [code, code.replaceAll(/^export (?!default)/gmu, "")].map(
    (one) => `\`\`\`ts\n${one}\`\`\`\n`,
  );
  expect(blocks.some((block) => text.includes(block))).toBe(true);
});

it("there is code to show of every page", () => {
  expect(new Set(shown.map(([page]) => page)).size).toBe(
    new Set(shownIn.map(([, page]) => page)).size,
  );
});
