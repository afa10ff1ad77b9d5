import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { root } from "../config/shared.ts";

const source = readFileSync(`${root}tests/fakes/agents-shown.ts`, "utf8");
const page = readFileSync(`${root}docs/agents.md`, "utf8");
const shown = [...source.matchAll(/^\/\/ shown: (\w+)\n([\s\S]*?)^\/\/ end$/gmu)];

it.each(shown.map(([, name = "", code = ""]) => [name, code]))(
  "docs/agents.md shows the tested code of %s",
  (_, code) => {
    expect(page).toContain(`\`\`\`ts\n${code.replaceAll(/^export /gmu, "")}\`\`\`\n`);
  },
);

it("there is code to show", () => {
  expect(shown.length).toBeGreaterThan(0);
});
