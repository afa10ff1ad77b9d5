import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { builtPageScripts } from "../../scripts/page-scripts.ts";

const builtFile = new URL("../../core/rendering/page/scripts/page-scripts.ts", import.meta.url);

test("the functions that run in pages are what their sources give: npm run page-scripts", async () => {
  expect(readFileSync(builtFile, "utf8")).toBe(await builtPageScripts());
});
