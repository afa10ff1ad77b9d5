import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { buildSnippet, bundleSnippet, snippetFile } from "../../scripts/snippet.ts";

test("the search box is what its sources give: npm run snippet", async () => {
  expect(readFileSync(snippetFile, "utf8")).toBe(await buildSnippet());
});

test("the search box is at most 15 kB compressed, and needs no page that allows code from texts", async () => {
  const script = await bundleSnippet();
  expect(gzipSync(script).byteLength).toBeLessThan(15_000);
  expect(script).not.toMatch(
    /\beval\b|new Function|innerHTML|insertAdjacentHTML|\.style\b|<style/u,
  );
});
