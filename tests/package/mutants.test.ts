import { existsSync, readFileSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { mutants } from "../config/mutants.ts";

/** Suites that run on changed sources: all others start what was built. */
const SUITES = /^(?:unit|contract|local)[\\/].*\.test\.ts$/u;
const tests = readdirSync("tests", { recursive: true, encoding: "utf8" })
  .filter((path) => SUITES.test(path))
  .map((path) => `tests/${path.replaceAll("\\", "/")}`);

test("each guard of the mutants stands once where it is said to, and has a test", () => {
  for (const { name, file, find, tests: wanted } of mutants) {
    expect(existsSync(file), `${name}: ${file}`).toBe(true);
    expect(readFileSync(file, "utf8").split(find).length - 1, `${name}: times`).toBe(1);
    for (const filter of wanted)
      expect(
        tests.some((path) => path.includes(filter)),
        `${name}: ${filter}`,
      ).toBe(true);
  }
});
