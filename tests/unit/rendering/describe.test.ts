import { describe, expect, it } from "vitest";
import { utf8 } from "../../../core/crypto/encoding.ts";
import { describePage } from "../../../core/rendering/describe/describe-page.ts";
import { isoTime } from "../../../core/rendering/describe/iso-time.ts";
import type { PageDescription } from "../../../core/rendering/describe/page-description.ts";
import { runThrough } from "../../../core/work/background.ts";

const describeHtml = async (html: string): Promise<PageDescription> => {
  const stepsOf = await describePage.load();
  const url = "https://example.com/news/1";
  return runThrough(stepsOf({ bytes: utf8(html), contentType: "text/html", url }));
};
const data = (value: unknown): string =>
  `<script type="application/ld+json">${JSON.stringify(value)}</script>`;

describe("what a page says about itself", () => {
  it("is in the head", async () => {
    const html = `<html lang="en-GB"><head><base href="/pictures/">
      <meta name="author" content="Ada Byron"><meta property="og:site_name" content="The  Bridge">
      <meta property="article:published_time" content="2026-03-01T10:20:30+01:00">
      <meta property="og:updated_time" content="2026-03-02"><meta name="description" content="a">
      <meta property="og:image" content="bridge.png"><meta property="og:locale" content="en_US">`;
    expect(await describeHtml(html)).toEqual({
      author: "Ada Byron",
      publishedTime: "2026-03-01T10:20:30+01:00",
      modifiedTime: "2026-03-02",
      language: "en-GB",
      siteName: "The Bridge",
      image: "https://example.com/pictures/bridge.png",
      description: "a",
    });
    expect(await describeHtml("<p>Nothing")).toEqual({});
    const locale =
      '<meta property="og:locale" content="pt_BR"><meta property="og:image" content="data:x">';
    expect(await describeHtml(locale)).toEqual({ language: "pt-BR" });
  });

  it("is in linked data, which may refer to its other parts", async () => {
    const graph = {
      "@graph": [
        { "@type": "WebSite", name: "The Bridge" },
        { "@type": "WebPage", datePublished: "2020-01-01", inLanguage: "de" },
        {
          "@type": ["NewsArticle"],
          author: [{ "@id": "#a" }, "Bo\nChen", { name: "Ada" }],
          datePublished: "2026-03-01",
          image: { url: "/a.png" },
          review: { "@type": "Review", author: "Nobody" },
        },
        { "@id": "#a", "@type": "Person", name: "Ada" },
      ],
    };
    expect(await describeHtml(data(graph).replace("\\n", "\n"))).toEqual({
      author: "Ada, Bo Chen",
      publishedTime: "2026-03-01",
      language: "de",
      siteName: "The Bridge",
      image: "https://example.com/a.png",
    });
    expect(await describeHtml('<script type="application/ld+json">{"author": </script>')).toEqual(
      {},
    );
    const deep = `${'{"a":['.repeat(2000)}1${"]}".repeat(2000)}`;
    expect(await describeHtml(`<script type="application/ld+json">${deep}</script>`)).toEqual({});
  });

  it("is what readers see, but for reviews", async () => {
    const line = '<div itemprop="review"><i itemprop="author">Cy</i></div>';
    for (const author of [
      '<span class="post-author">By <b>Ada Byron</b> • 3 min</span>',
      '<a rel="author" href="/ada">Ada Byron</a>',
      '<div itemprop="author"><b>Staff</b> <i itemprop="name">Ada Byron</i> since 2001</div>',
      '<meta name="author" content="https://example.com/ada"><p class="byline">By Ada Byron</p>',
      '<img class="byline"><p class="byline">By Ada Byron</p>',
    ])
      expect([author, await describeHtml(line + author)]).toEqual([
        author,
        { author: "Ada Byron" },
      ]);
    for (const date of [
      '<time datetime="2026-03-01">yesterday</time>',
      '<meta itemprop="datePublished" content="2026-03-01">',
      '<p class="entry-date">Posted on March 1st, 2026</p>',
    ])
      expect([date, await describeHtml(date)]).toEqual([date, { publishedTime: "2026-03-01" }]);
  });

  it("has days in one form, and none with two readings", () => {
    for (const day of [
      "2026-03-01",
      "2026/3/1",
      "20260301",
      "Sun, 01 Mar 2026 10:00:00 GMT",
      "1 March 2026",
      "Published: Mar. 1, 2026",
    ])
      expect([day, isoTime(day)]).toEqual([day, "2026-03-01"]);
    expect(isoTime("2026-03-01 10:20 +0100")).toBe("2026-03-01T10:20+0100");
    expect(isoTime("2026-03-01t10:20:30.5z")).toBe("2026-03-01T10:20:30.5Z");
    for (const none of ["3/4/2020", "2026-13-01", "yesterday", "12345678901", "40 March 2026", ""])
      expect([none, isoTime(none)]).toEqual([none, ""]);
  });
});
