import { expect, test } from "vitest";
import { readSources } from "./sources.ts";

// The linter limits single files and functions; this keeps the typical file small as well.

test("half of the source files have at most 150 lines, nine of ten at most 300", () => {
  const sizes = readSources("core", "adapters")
    .map(({ lines }) => lines)
    .toSorted((a, b) => a - b);
  expect(sizes[Math.floor(sizes.length * 0.5)]).toBeLessThanOrEqual(150);
  expect(sizes[Math.floor(sizes.length * 0.9)]).toBeLessThanOrEqual(300);
});
