import { expect, it } from "vitest";
import { didYouMean, nearest } from "../../../core/text/nearest.ts";

it.each([
  ["cachettl", ["cache_ttl"], "cache_ttl"],
  ["expiry", ["name", "expires_at"], "expires_at"],
  ["expires", ["name", "expires_on"], "expires_on"],
  ["rate", ["name", "limits"], "limits"],
  ["rate", ["rate_limiting_limit", "rate_limiting_interval"], "rate_limiting_limit"],
  ["topics", ["url", "types"], "types"],
  ["callbackUrl", ["url", "types"], "url"],
  ["model", ["id", "ai_search_model"], "ai_search_model"],
  ["apiKey", ["alias", "secret"], "secret"],
  ["jpg", ["png", "jpeg"], "jpeg"],
])("%s among %j is taken for %s", (word, candidates, meant) => {
  expect(nearest(word, candidates)).toBe(meant);
});

it("no candidate is like a word that is longer than all of them, which may be a whole body", () => {
  expect(nearest(`cache${"_".repeat(56)}ttl`, ["cache_ttl"])).toBe("cache_ttl");
  expect(nearest(`cache${"_".repeat(57)}ttl`, ["cache_ttl"])).toBeUndefined();
  expect(nearest(`expiry${"_".repeat(59)}`, ["expires_at"])).toBeUndefined();
});

it.each([
  ["rate", ["name"]],
  ["size", ["name", "mode"]],
  ["novelty", ["name", "limits"]],
])("%s is taken for none of %j: two of four letters are another word", (word, candidates) => {
  expect(didYouMean(word, candidates)).toBe("");
});
