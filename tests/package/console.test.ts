import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { buildConsole, builtFile } from "../../scripts/console.ts";

test("the console's files are those that its sources give: npm run console", async () => {
  expect(readFileSync(builtFile, "utf8")).toBe(await buildConsole());
});

test("the console is at most 120 kB compressed", async () => {
  expect(gzipSync(await buildConsole()).byteLength).toBeLessThan(120_000);
});
