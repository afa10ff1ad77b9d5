import { expect, it } from "vitest";
import { siteCrawlBody } from "../../../../core/rendering/crawl/begin/site-crawler.ts";
import { crawlUnderTest } from "../../../fakes/rendering-crawl.ts";

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

it("shows its login to the start's origin alone, with robots.txt and sitemaps too", async () => {
  const there = "https://there.example/page";
  const { crawl, asked } = await crawlUnderTest({
    "https://example.com/": `<a href="${there}">there</a>`,
    [there]: "<p>read",
  });
  await crawl({
    url: "https://example.com/",
    authenticate: { username: "ann", password: "s3cret" },
    setExtraHTTPHeaders: { "X-Key": "k" },
    options: { includeExternalLinks: true },
  });
  const seen = asked.map(({ url, headers }) => {
    const names = headers.map(([name]) => name.toLowerCase());
    return [url, names.includes("authorization") && names.includes("x-key")];
  });
  const home = ["", "robots.txt", "sitemap.xml"].map((path) => [
    `https://example.com/${path}`,
    true,
  ]);
  expect(seen).toEqual(
    expect.arrayContaining([...home, [there, false], ["https://there.example/robots.txt", false]]),
  );
});
