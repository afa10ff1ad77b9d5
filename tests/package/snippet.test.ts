import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { unpacked } from "../../core/http/built-text.ts";
import { searchScript } from "../../core/search/snippet/search-script.ts";
import { bundleSnippet } from "../../scripts/snippet.ts";

test("the search box is what its sources give: npm run snippet", async () => {
  expect((await unpacked(searchScript)).text).toBe(await bundleSnippet());
});

test("the search box is at most 15 kB compressed, and needs no page that allows code from texts", async () => {
  const script = await bundleSnippet();
  expect(gzipSync(script).byteLength).toBeLessThan(15_000);
  expect(script).not.toMatch(
    /\beval\b|new Function|innerHTML|insertAdjacentHTML|\.style\b|<style/u,
  );
});
