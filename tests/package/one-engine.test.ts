import { existsSync, globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fewRuntimes, logicFolders, logicTests } from "../config/one-engine.ts";

const everywhere = logicFolders.flatMap((one) =>
  one.everywhere.map((name) => `tests/unit/${one.folder}/${name}.test.ts`),
);

test("what runs on all four runtimes in folders of logic is there, and is not left out", () => {
  expect(everywhere.filter((path) => !existsSync(path))).toEqual([]);
  const left = new Set(logicTests.flatMap((pattern) => globSync(pattern)));
  expect(everywhere.filter((path) => left.has(path))).toEqual([]);
  for (const { folder } of logicFolders)
    expect(globSync(`tests/unit/${folder}/**/*.test.ts`).some((path) => left.has(path))).toBe(true);
});

test("what runs on some runtimes only is there, and named once", () => {
  const files = fewRuntimes.flatMap((few) => few.files);
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
  expect(new Set(files).size).toBe(files.length);
});

test("a skipped test has a reason, which the summary of npm test prints", () => {
  const found = globSync(
    "tests/{cases,clients,contract,http,local,package,platform,unit,workers}/**/*.ts",
    {
      exclude: ["**/node_modules/**"],
    },
  ).filter((path) => /\.(?:runIf|skipIf|todo)\(/u.test(readFileSync(path, "utf8")));
  expect(found).toEqual([]);
});
