import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { assets } from "../../core/console/assets.ts";
import { unpacked } from "../../core/http/built-text.ts";
import { consoleFiles } from "../../scripts/console.ts";

test("the console's files are those that its sources give: npm run console", async () => {
  const built = await Promise.all(
    Object.entries(assets).map(async ([name, packed]) => [name, (await unpacked(packed)).text]),
  );
  expect(Object.fromEntries(built)).toEqual(await consoleFiles());
});

test("the console is at most 120 kB compressed", async () => {
  const texts = Object.values(await consoleFiles());
  expect(gzipSync(texts.join("")).byteLength).toBeLessThan(120_000);
});
