import { expect, it } from "vitest";
import { siteCrawlBody } from "../../../../core/rendering/crawl/begin/site-crawler.ts";

it("crawls a website to its limit, however alike the addresses of its pages are", () => {
  const wish = {
    url: "https://example.com/",
    limit: 2000,
    source: "all",
    subdomains: false,
    include: [],
    exclude: [],
    inBrowser: false,
  } as const;
  expect(siteCrawlBody(wish, false)).toMatchObject({
    limit: 2000,
    options: { maxPerPattern: 2000 },
  });
});
