import { describe, expect, it } from "vitest";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import { pageIdentity } from "../../../../core/rendering/crawl/rules/page-identity.ts";
import { readDirectives } from "../../../../core/rendering/crawl/rules/robots-directives.ts";
import { trapPatternOf } from "../../../../core/rendering/crawl/rules/trap-pattern.ts";
import { crawlUnderTest, type PlayedPage, type SeenCrawl } from "../../../fakes/rendering-crawl.ts";

const root = "https://example.com";
const links = (...to: string[]): string =>
  to.map((href) => `<a href="${href.replaceAll("&", "&amp;")}">x</a>`).join("");
const page = (title: string, canonical = ""): string =>
  `<title>${title}</title>${canonical === "" ? "" : `<link rel="canonical" href="${canonical}">`}<p>${title}`;
const at = (pages: Readonly<Record<string, PlayedPage>>) =>
  Object.fromEntries(Object.entries(pages).map(([path, one]) => [new URL(path, root).href, one]));
const paths = ({ records }: SeenCrawl, status = "completed"): string[] =>
  records.filter((record) => record.status === status).map(({ url }) => url.replace(root, ""));
const crawl = async (
  pages: Readonly<Record<string, PlayedPage>>,
  options: object = {},
  body: object = {},
): Promise<SeenCrawl> =>
  (await crawlUnderTest(at(pages))).crawl({ url: root, source: "links", options, ...body });

describe("the key of a page", () => {
  const same = (one: string, other: string, options: object = {}): boolean => {
    const { keyOf } = pageIdentity(options);
    return keyOf(new URL(one, root)) === keyOf(new URL(other, root));
  };

  it("is one for every way to write its address", () => {
    for (const [one, other] of [
      ["/a?x=1&y=2", "/a?y=2&x=1"],
      ["/a/", "/a"],
      ["/a?utm_source=x&utm_medium=y", "/a"],
      ["/a?x=1&gclid=2&fbclid=3", "/a?x=1"],
      ["/a;jsessionid=0A1B?x=1", "/a?x=1"],
      ["/a?PHPSESSID=abc", "/a"],
      ["/a?sid=0123456789abcdef0123456789abcdef", "/a"],
      ["/%7ea?q=%c3%a9", "/~a?q=%C3%A9"],
      ["/a?", "/a"],
      ["/a?&&x=1&", "/a?x=1"],
    ] as const)
      expect([one, other, same(one, other)]).toEqual([one, other, true]);
  });

  it("is another one for another page", () => {
    for (const [one, other] of [
      ["/a?x=1", "/a?x=2"],
      ["/a?x=1&x=2", "/a?x=2&x=1"],
      ["/a?sid=12", "/a"],
      ["/a?s=507f1f77bcf86cd799439011", "/a"],
      ["/a?s=words", "/a"],
      ["/a/index.html", "/a/"],
      ["https://www.example.com/", "/"],
      ["http://example.com/", "/"],
      ["/a%2Fb", "/a/b"],
    ] as const)
      expect([one, other, same(one, other)]).toEqual([one, other, false]);
  });

  it("leaves out what the options say", () => {
    const wide = { deduplicateSimilarURLs: true };
    expect(same("http://www.example.com/a/index.php", "/a/", wide)).toBe(true);
    expect(same("/a/index.php?x=1", "/a/?x=2", wide)).toBe(false);
    expect(same("/a?x=1&y=2", "/a", { ignoreQueryParameters: true })).toBe(true);
    const some = { ignoreQueryParameters: ["ref", "sort_*"] };
    expect(same("/a?REF=1&sort_by=2&x=3", "/a?x=3", some)).toBe(true);
    expect(same("/a?resort_by=2", "/a", some)).toBe(false);
  });

  it("does not write the parameters that stay in another way", () => {
    const { addressOf } = pageIdentity({});
    expect(addressOf(`${root}/a?b=1&utm_id=2&a=%20+x&c#part`)?.search).toBe("?b=1&a=%20+x&c");
    expect(addressOf(`${root}/a?b&&a=(1)`)?.search).toBe("?b&&a=(1)");
    expect(addressOf("mailto:a@example.com")).toBeNull();
  });
});

describe("the pattern of an address", () => {
  const patternOf = (path: string): string | null => trapPatternOf(new URL(path, root));

  it("is that of a calendar, of filters, and of a path that repeats itself", () => {
    expect(patternOf("/calendar/2031/05")).toBe(patternOf("/calendar/2032/11"));
    expect(patternOf("/events?from=2031-05-12")).toBe(patternOf("/events?from=2019-12-01"));
    expect(patternOf("/day/20310512")).not.toBeNull();
    expect(patternOf("/shop?a=1&b=2&c=3")).toBe(patternOf("/shop?c=x&d=y&e=z&f="));
    expect(patternOf("/a/b/a/b/a/b/a/b")).not.toBeNull();
    expect(patternOf("/events?view=week&y=2031")).toBeNull();
  });

  it("is none of addresses that differ by a number or a title", () => {
    for (const path of ["/", "/article/12345", "/p?id=9", "/2024", "/shop?a=1&b=2", "/a/a/a/b"])
      expect([path, patternOf(path)]).toEqual([path, null]);
    expect(patternOf("/2024/05/one")).not.toBe(patternOf("/2024/05/two"));
  });
});

describe("what a page says to crawlers", () => {
  it("is in its head, and in a header for all or for this one", () => {
    const none = { noindex: false, nofollow: false };
    expect(readDirectives(["NoIndex , follow"], "")).toEqual({ noindex: true, nofollow: false });
    expect(readDirectives(["none"], "")).toEqual({ noindex: true, nofollow: true });
    expect(readDirectives([], "noarchive, nofollow")).toEqual({ noindex: false, nofollow: true });
    expect(readDirectives([], "otherbot: noindex, nofollow")).toEqual(none);
    expect(readDirectives([], "otherbot: none\nCauseyCrawler: nofollow")).toEqual({
      noindex: false,
      nofollow: true,
    });
    expect(readDirectives([], "unavailable_after: 25 Jun 2030 15:00:00 PST, noindex")).toEqual({
      noindex: true,
      nofollow: false,
    });
    expect(readDirectives(["index, all"], "max-snippet: 20")).toEqual(none);
  });
});

describe("a crawl of a page that has many addresses", () => {
  it("reads it once, at an address without what says who asks", async () => {
    const variants = ["/a/", "/a?utm_source=x", "/b?y=2&x=1&gclid=7", "/b?x=1&y=2"];
    const pages = { "/": links("/a", ...variants), "/a": page("A"), "/b?y=2&x=1": page("B") };
    const found = await crawl(pages);
    expect([paths(found), found.total, found.skipped]).toEqual([["/", "/a", "/b?y=2&x=1"], 3, 0]);
  });

  it("leaves out parameters, and takes similar addresses for one, where the body says so", async () => {
    const pages = {
      "/": links("/a?ref=1", "/a?ref=2", "/b/", "/b/index.html"),
      "/a": page("A"),
      "/a?ref=1": page("A"),
      "/a?ref=2": page("A"),
      "/b/": page("B"),
      "/b/index.html": page("B"),
    };
    expect((await crawl(pages)).total).toBe(5);
    const some = { ignoreQueryParameters: ["ref"], deduplicateSimilarURLs: true };
    expect(paths(await crawl(pages, some))).toEqual(["/", "/a", "/b/"]);
  });

  it("stores what redirects to a stored page, or has its canonical address and title, once", async () => {
    const pages = {
      "/": links("/old", "/new", "/print", "/shared-1", "/shared-2"),
      "/old": { status: 301, headers: [["location", "/new"]] } as PlayedPage,
      "/new": page("New"),
      "/print": page("New", "/new"),
      "/shared-1": page("One", "/wrong"),
      "/shared-2": page("Two", "/wrong"),
    };
    const found = await crawl(pages);
    expect([paths(found), paths(found, "skipped")]).toEqual([
      ["/", "/old", "/shared-1", "/shared-2"],
      ["/new", "/print"],
    ]);
    expect(found).toMatchObject({ total: 4, finished: 4, skipped: 2 });
    const shared = found.records.find(({ url }) => url.endsWith("/shared-1"));
    expect(shared?.metadata).toMatchObject({ canonical: `${root}/wrong` });
    const all = await crawl(pages, { ignoreCanonical: true });
    expect(paths(all, "skipped")).toEqual(["/new"]);
  });

  it("takes pages of one final address for two where their titles differ", async () => {
    const to = (path: string): PlayedPage => ({ status: 301, headers: [["location", path]] });
    let asked = 0;
    const site = {
      ...at({
        "/": links("/a", "/b", "/old", "/new"),
        "/a": to("/app"),
        "/b": to("/app"),
        "/old": to("/new"),
        "/new": "<p>Without a title",
      }),
      [`${root}/app`]: () => Promise.resolve(page(`View ${asked++}`)),
    };
    const found = await (await crawlUnderTest(site)).crawl({ url: root, source: "links" });
    expect([paths(found), paths(found, "skipped")]).toEqual([["/", "/a", "/b", "/old"], ["/new"]]);
  });

  it("does not believe a page that it is the home page, unless it looks like it", async () => {
    const home = page("Site", "/");
    const found = await crawl({
      "/": home + links("/a", "/b", "/index.html", "/?from=1"),
      "/a": home,
      "/b": home,
      "/index.html": home,
      "/?from=1": home,
    });
    expect([paths(found), paths(found, "skipped")]).toEqual([
      ["/", "/a", "/b"],
      ["/index.html", "/?from=1"],
    ]);
  });

  it("lets no other site name its pages, and no text of a page", async () => {
    const found = await crawl({
      "/": links("/a", "/b", "/c"),
      "/a": page("T"),
      "/b": page("T", "https://other.example/a"),
      "/c": `<title>T</title><body><link rel="canonical" href="/a">`,
    });
    expect(paths(found)).toEqual(["/", "/a", "/b", "/c"]);
    const elsewhere = "https://other.example/x";
    const both = {
      "/": links(elsewhere, "/a"),
      "/a": page("T"),
      [elsewhere]: page("T", `${root}/a`),
    };
    const wide = await crawl(both, { includeExternalLinks: true });
    expect(new Set(paths(wide))).toEqual(new Set(["/", "/a", elsewhere]));
  });
});

describe("a crawl of a site that says what crawlers may do", () => {
  const html = (body: string, tag: string): PlayedPage => ({
    headers: [
      ["content-type", "text/html"],
      ["x-robots-tag", tag],
    ],
    body: utf8(body),
  });
  const pages = {
    "/": `${links("/hidden", "/dead", "/by-header")}<a rel="external NOFOLLOW" href="/ad">x</a>`,
    "/ad": page("Ad"),
    "/hidden": `<meta name="robots" content="noindex">${page("Hidden")}${links("/deep")}`,
    "/dead": `<meta name="CauseyCrawler" content="nofollow">${page("Dead")}${links("/end")}`,
    "/by-header": html(page("By header") + links("/far"), "none"),
    "/deep": page("Deep"),
    "/end": page("End"),
    "/far": page("Far"),
  };

  it("does not ask it, unless the body says so", async () => {
    expect((await crawl(pages)).finished).toBe(8);
    const options = { obeyNofollow: true, obeyNoindex: true };
    const found = await crawl(pages, options);
    expect([paths(found), paths(found, "skipped")]).toEqual([
      ["/", "/dead", "/deep"],
      ["/hidden", "/by-header"],
    ]);
  });
});

describe("a crawl of a site without an end", () => {
  it("counts a page that it left out once it was read, whatever links it leaves out", async () => {
    const others = Array.from({ length: 30 }, (_, n) => `https://other.example/${n}`);
    const noindex = '<meta name="robots" content="noindex">';
    const pages = {
      "/": page("Home") + links(...others, "/hidden"),
      "/hidden": noindex + page("Hidden") + links("/hidden/2"),
      "/hidden/2": noindex + page("Hidden, too") + links("/shown"),
      "/shown": page("Shown"),
    };
    const found = await crawl(pages, { obeyNoindex: true }, { limit: 3 });
    expect(paths(found)).toEqual(["/", "/shown"]);
  });

  it("goes to so many pages of a pattern, and to all others", async () => {
    const pages: Record<string, PlayedPage> = {
      "/": links("/cal/2030-1", "/shop?a=0&b=0&c=0", "/x"),
    };
    for (let n = 1; n < 12; n++) {
      pages[`/cal/2030-${n}`] = page(`Day ${n}`) + links(`/cal/2030-${n + 1}`, `/event/${n}`);
      pages[`/event/${n}`] = page(`Event ${n}`);
    }
    for (let n = 0; n < 9; n++)
      pages[`/shop?a=${n}&b=0&c=0`] = page(`Shop ${n}`) + links(`/shop?a=${n + 1}&b=0&c=0`);
    for (let n = 0; n < 9; n++)
      pages["/x".repeat(n + 1)] = page(`X ${n}`) + links("/x".repeat(n + 2));
    const found = await crawl(pages, { maxPerPattern: 4 });
    const counted = (prefix: string): number =>
      paths(found).filter((path) => path.startsWith(prefix)).length;
    expect(["/cal", "/event", "/shop", "/x"].map(counted)).toEqual([4, 4, 4, 7]);
    expect(new Set(paths(found, "skipped"))).toEqual(
      new Set(["/cal/2030-5", "/shop?a=4&b=0&c=0", "/x".repeat(8)]),
    );
  });

  it("gives back so many places of copies, and ends", async () => {
    const pages: Record<string, PlayedPage> = {};
    for (let n = 0; n < 60; n++)
      pages[`/s${n}/home`] = page("Shop", "/s0/home") + links(`/s${n + 1}/home`);
    const found = await crawl(pages, {}, { url: `${root}/s0/home`, limit: 3 });
    expect(found).toMatchObject({ status: "completed", total: 3, finished: 3, skipped: 32 });
    expect(paths(found)).toEqual(["/s0/home"]);
  });

  it("refuses bounds and names that cannot be", async () => {
    const { call } = await crawlUnderTest(at({ "/": "<p>x" }));
    for (const [options, field] of [
      [{ maxPerPattern: 0 }, "options.maxPerPattern"],
      [{ ignoreQueryParameters: [""] }, "options.ignoreQueryParameters"],
      [{ ignoreQueryParameters: "ref" }, "options.ignoreQueryParameters"],
      [{ deduplicateSimilarUrls: true }, "deduplicateSimilarURLs"],
    ] as const) {
      const answer = await call("POST", "", { url: root, render: false, options });
      expect([answer.status, answer.errors[0]?.message]).toEqual([
        400,
        expect.stringContaining(field),
      ]);
    }
  });
});
