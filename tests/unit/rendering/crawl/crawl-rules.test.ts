import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runThrough } from "../../../../core/work/background.ts";
import { allowNone } from "../../../../core/net/allow-hosts.ts";
import { allowsUse, mayRead, parseRobots } from "../../../../core/rendering/crawl/rules/robots.ts";
import {
  compileScope,
  compileUrlPatterns,
  pageAddress,
} from "../../../../core/rendering/crawl/rules/scope.ts";
import { parseSitemap } from "../../../../core/rendering/crawl/rules/parse-sitemap.ts";

const robots = (text: string) => runThrough(parseRobots(text));
const reads = (text: string, path: string): boolean =>
  mayRead(robots(text), new URL(path, "https://example.com"));
const sitemap = (text: string, most = 100) => runThrough(parseSitemap(text, most));
const escaped = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/gu, String.raw`\$&`);

describe("patterns of addresses", () => {
  const [matches = () => false] = compileUrlPatterns(["https://example.com/*/b/**"], "f");

  it("a star stops at a slash, two do not", () => {
    expect(matches(new URL("https://example.com/a/b/c/d?q=1#f"))).toBe(true);
    expect(matches(new URL("https://example.com/a/x/b/c"))).toBe(false);
  });

  it("a pattern of a path meets every host", () => {
    const [path = () => false] = compileUrlPatterns(["/blog/**"], "f");
    expect(path(new URL("http://a.example/blog/x"))).toBe(true);
    expect(path(new URL("http://a.example/x/blog/x"))).toBe(false);
  });

  it.each([
    ["blog/**", 'f.1: "blog/**" matches no address: begin with http://, https://, / or *'],
    ["/" + "a*".repeat(11), "f.1: A pattern may have at most 10 wildcards"],
    ["/" + "a".repeat(1000), "f.1: A pattern may have at most 1000 characters"],
  ])("refuses %j", (pattern, message) => {
    expect(() => compileUrlPatterns(["*", pattern], "f")).toThrow(message);
  });

  it("means what the regular expression means", () => {
    const part = fc.constantFrom("a", "b", "/", "*", "**", ".");
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 8 }),
        fc.stringMatching(/^[ab/.]{0,12}$/u),
        (made, text) => {
          const pattern = `/${made.join("")}`;
          const source = escaped(pattern)
            .replaceAll(/(?:\\\*){2,}/gu, ".{0,}")
            .replaceAll(String.raw`\*`, "[^/]*");
          const url = new URL("https://example.com");
          url.pathname = text;
          const [compiled = () => false] = compileUrlPatterns([pattern], "f");
          expect(compiled(url)).toBe(new RegExp(`^${source}$`, "u").test(url.pathname));
        },
      ),
    );
  });

  it("takes no longer for a hostile pattern", () => {
    const [hostile = () => true] = compileUrlPatterns([`/${"a**".repeat(10)}b`], "f");
    expect(hostile(new URL(`https://example.com/${"a".repeat(2000)}`))).toBe(false);
  });
});

describe("robots.txt", () => {
  it("the longest pattern decides, and one that allows of two as long", () => {
    const text = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /c\nAllow: /c";
    expect(["/a/x", "/a/b/x", "/c", "/d"].map((path) => reads(text, path))).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  it("groups that name the crawler count instead of the general one, together", () => {
    const text =
      "User-agent: other\nUser-agent: causeycrawler\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\nUser-Agent: CauseyCrawler/1.0 # us\nDisallow: /b\nCrawl-delay: 2.5";
    expect(["/a", "/b", "/c"].map((path) => reads(text, path))).toEqual([false, false, true]);
    expect(robots(text).delay).toBe(2.5);
  });

  it("knows wildcards, ends, comments, line ends and spellings", () => {
    const text =
      "\u{feff}USER-AGENT : *\r\nDisallow: /*.pdf$ # files\rDisallow: /%7Euser\nDisallow: /ü\nDisallow:\n";
    expect(
      ["/a.pdf", "/a.pdf?x", "/~user", "/%C3%BC", "/%c3%bc/x", "/x"].map((path) =>
        reads(text, path),
      ),
    ).toEqual([false, true, false, false, false, true]);
  });

  it("the file itself may always be read", () => {
    expect(reads("User-agent: *\nDisallow: /", "/robots.txt")).toBe(true);
  });

  it("reads sitemaps, delays and signals", () => {
    const text =
      "Sitemap: https://example.com/s.xml\nUser-agent: *\nCrawl-delay: 99999\nContent-Signal: search=yes, ai-train=no, use=reference\nAllow: /";
    expect(robots(text)).toMatchObject({ delay: 3600, sitemaps: ["https://example.com/s.xml"] });
    const may = (purposes: string[], use: string) => allowsUse(robots(text), { purposes, use });
    expect([
      may(["search"], "reference"),
      may(["search"], "full"),
      may(["ai-train"], "reference"),
    ]).toEqual([true, false, false]);
    expect(allowsUse(robots(""), { purposes: ["ai-train"], use: "full" })).toBe(true);
  });

  it("is read whatever it is, and decides about every address", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), fc.webUrl(), (text, url) => {
        const whole = `User-agent: *\nDisallow: ${text}\n${text}`;
        expect(typeof mayRead(robots(whole), new URL(url))).toBe("boolean");
      }),
    );
  });

  it("rules full of wildcards hold nothing up, whatever the address", () => {
    const rules = Array.from({ length: 5000 }, (_, n) => `Disallow: /${"*a/".repeat(9)}b${n}`);
    const read = robots(`User-agent: *\n${rules.join("\n")}`);
    const paths = ["a".repeat(2000), "a/".repeat(1000), "ba/".repeat(600)];
    // If each place of an address were looked at, each would take seconds; all of them take a tenth of one.
    for (const path of [...paths, ...paths, ...paths, ...paths])
      expect(mayRead(read, new URL(path, "https://example.com"))).toBe(true);
  }, 10_000);

  it("a rule means what the regular expression means", () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^\/[ab*/]{0,8}\$?$/u),
        fc.stringMatching(/^\/[ab/]{0,10}$/u),
        (pattern, path) => {
          const source = escaped(pattern)
            .replaceAll(/(?:\\\*)+/gu, ".{0,}")
            .replace(/\\\$$/u, "$");
          const url = new URL("https://example.com");
          url.pathname = path;
          const isMatched = new RegExp(`^${source}`, "u").test(url.pathname);
          expect(mayRead(robots(`User-agent: *\nDisallow: ${pattern}`), url)).toBe(!isMatched);
        },
      ),
    );
  });
});

describe("sitemaps", () => {
  it("names pages with their dates, and other sitemaps", () => {
    const text = `<?xml version="1.0"?><urlset xmlns:image="i"><url><loc> https://example.com/a?x=1&amp;y=2 </loc>
      <image:image><image:loc>https://example.com/i.png</image:loc></image:image><lastmod>2026-01-02</lastmod></url>
      <url><loc><![CDATA[https://example.com/b]]></loc></url><url/></urlset>`;
    expect(sitemap(text)).toEqual({
      pages: [
        { url: "https://example.com/a?x=1&y=2", modified: Date.UTC(2026, 0, 2) },
        { url: "https://example.com/b", modified: null },
      ],
      sitemaps: [],
    });
    const index =
      "<sitemapindex><sitemap><loc>https://example.com/s</loc></sitemap></sitemapindex>";
    expect(sitemap(index)).toEqual({ pages: [], sitemaps: ["https://example.com/s"] });
  });

  it("may be a text", () => {
    const text = "https://example.com/a\r\nnothing\nhttps://example.com/b";
    expect(sitemap(text).pages.map(({ url }) => url)).toEqual([
      "https://example.com/a",
      "https://example.com/b",
    ]);
  });

  it("gives back the addresses that were written, as many as are wanted", () => {
    const entity = (text: string): string =>
      text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
    fc.assert(
      fc.property(fc.array(fc.webUrl({ withQueryParameters: true })), fc.nat(5), (urls, most) => {
        const text = `<urlset>${urls.map((url) => `<url><loc>${entity(url)}</loc></url>`).join("\n")}</urlset>`;
        expect(sitemap(text, most).pages.map(({ url }) => url)).toEqual(urls.slice(0, most));
      }),
    );
  });

  it("is read whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        expect(sitemap(`<url>${text}`).pages.length).toBeLessThanOrEqual(100);
      }),
    );
  });
});

describe("where a crawl goes", () => {
  const holds = (options: Parameters<typeof compileScope>[0], url: string): boolean =>
    compileScope(options, allowNone).holds(new URL(url), ["www.example.com"]);

  it("the start's host, its site, or everywhere", () => {
    const urls = [
      "http://www.example.com/a",
      "https://www.example.com:8443/",
      "https://blog.example.com/",
      "https://notexample.com/",
      "http://127.0.0.1/",
    ];
    const found = (options: Parameters<typeof compileScope>[0]): boolean[] =>
      urls.map((url) => holds(options, url));
    expect(found({})).toEqual([true, false, false, false, false]);
    expect(found({ includeSubdomains: true })).toEqual([true, true, true, false, false]);
    expect(found({ includeExternalLinks: true })).toEqual([true, true, true, true, false]);
  });

  it("excluding always wins", () => {
    const options = { includePatterns: ["/a/**", "/b/**"], excludePatterns: ["**/secret/**"] };
    const found = ["/a/x", "/b/x", "/c/x", "/a/secret/x"].map((path) =>
      holds(options, `https://www.example.com${path}`),
    );
    expect(found).toEqual([true, true, false, false]);
  });

  it("an address has one spelling, without a fragment", () => {
    expect(pageAddress("HTTPS://Example.com:443/a/../b#c")?.href).toBe("https://example.com/b");
    expect(pageAddress("mailto:a@example.com")).toBeNull();
    expect(pageAddress(`https://example.com/${"a".repeat(2048)}`)).toBeNull();
  });
});
