import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { errorKinds } from "../../core/http/codes.ts";
import { errorPage, errorReference } from "../../scripts/error-reference.ts";

test("docs/errors.md is what the table gives: npm run errors", () => {
  expect(readFileSync(errorPage, "utf8")).toBe(errorReference());
});

test("docs/errors.md has every error", () => {
  const named = [...errorReference().matchAll(/\| `(\w+)` \|$/gm)].map(([, name]) => name);
  expect(named).toEqual(Object.keys(errorKinds));
});
