import { describe, expect, it } from "vitest";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import { webhooksManagement } from "../../../../core/webhooks/mod.ts";
import { eventually } from "../../../cases/eventually.ts";
import {
  crawlUnderTest,
  type PlayedPage,
  type PlayedSite,
  type SeenCrawl,
} from "../../../fakes/rendering-crawl.ts";

/** An endpoint or a delivery of outbound webhooks. */
interface Told {
  readonly id: string;
  readonly endpoint_id: string;
}

const root = "https://example.com";
const at = (pages: Readonly<Record<string, PlayedPage>>): PlayedSite =>
  Object.fromEntries(Object.entries(pages).map(([path, page]) => [new URL(path, root).href, page]));
const links = (...to: string[]): string => to.map((href) => `<a href="${href}">x</a>`).join("");
const text = (body: string): PlayedPage => ({
  headers: [["content-type", "text/plain"]],
  body: utf8(body),
});
const paths = ({ records }: SeenCrawl, status = "completed"): string[] =>
  records
    .filter((record) => record.status === status)
    .map(({ url }) => (url.startsWith(root) ? url.slice(root.length) : url));

describe("a crawl without a browser", () => {
  it("reads the start, the sitemap and what they link to, and gives what was asked for", async () => {
    const { crawl, call } = await crawlUnderTest(
      at({
        "/": `<title>Start</title>${links("/b", "#top", "/a?x=1&y=2", "mailto:a@b.c")}<h1>"Hi" \u{1f600}</h1>`,
        "/sitemap.xml": `<urlset><url><loc>${root}/s</loc></url></urlset>`,
        "/s": "<p>from the sitemap",
        "/b": "<p>b",
        "/a?x=1&y=2": links("/gone"),
      }),
    );
    const found = await crawl({ url: `${root}/#part`, formats: ["html", "markdown"] });
    expect(found).toMatchObject({ status: "completed", total: 5, finished: 5, skipped: 0 });
    expect(found.records.map(({ url }) => url.slice(root.length))).toEqual([
      "/",
      "/s",
      "/b",
      "/a?x=1&y=2",
      "/gone",
    ]);
    expect(found.records[0]).toMatchObject({
      status: "completed",
      html: expect.stringContaining(`<h1>"Hi" \u{1f600}</h1>`),
      markdown: expect.stringContaining(`# "Hi" \u{1f600}`),
      metadata: { status: 200, url: `${root}/`, title: "Start" },
    });
    expect(found.records[4]).toMatchObject({
      status: "errored",
      html: "<p>none",
      error: "HTTP 404",
      metadata: { status: 404 },
    });
    const { result } = await call("GET", "");
    expect(result.jobs).toMatchObject([{ url: `${root}/`, status: "completed", total: 5 }]);
  });

  it('reads pages that are filled without a browser with `render: "auto"`, and says so', async () => {
    const words = "Words that a reader reads. ".repeat(12);
    const { crawl } = await crawlUnderTest(
      at({ "/": `<p>${words}${links("/a")}<script src="/s.js"></script>`, "/a": `<p>${words}` }),
    );
    const found = await crawl({ url: `${root}/`, render: "auto", formats: ["markdown"] });
    expect(paths(found)).toEqual(["/", "/a"]);
    for (const { metadata } of found.records) expect(metadata).toMatchObject({ render: "static" });
  });

  it("goes as deep and as far as it may, and tells what it left out", async () => {
    const { crawl } = await crawlUnderTest(
      at({
        "/": links("/1", "/no/1", "https://other.example/", "https://sub.example.com/"),
        "/1": links("/2"),
        "/2": links("/3"),
        "https://sub.example.com/": "<p>sub",
      }),
    );
    const options = { excludePatterns: ["/no/**"] };
    const shallow = await crawl({ url: root, depth: 1, options });
    expect([paths(shallow), paths(shallow, "skipped")]).toEqual([
      ["/", "/1"],
      ["/no/1", "https://other.example/", "https://sub.example.com/"],
    ]);
    expect(shallow).toMatchObject({ total: 2, finished: 2, skipped: 3 });
    expect(paths(await crawl({ url: root, limit: 2, options }))).toEqual(["/", "/1"]);
    const wide = await crawl({ url: root, depth: 1, options: { includeSubdomains: true } });
    expect(paths(wide)).toContain("https://sub.example.com/");
    expect(paths(await crawl({ url: root, source: "sitemaps" }))).toEqual(["/"]);
  });

  it("does what robots.txt says, of redirects as well", async () => {
    const { crawl, asked } = await crawlUnderTest({
      ...at({
        "/robots.txt": text("User-agent: *\nDisallow: /private\nSitemap: /map"),
        "/map": text(`${root}/listed`),
        "/": links("/private/a", "/moved", "/away"),
        "/listed": "<p>x",
        "/moved": { status: 302, headers: [["location", "/private/b"]] },
        "/away": { status: 302, headers: [["location", "https://other.example/"]] },
      }),
      "https://other.example/": "<p>other",
    });
    const found = await crawl({ url: root });
    expect([paths(found), paths(found, "disallowed"), paths(found, "skipped")]).toEqual([
      ["/", "/listed"],
      ["/private/a", "/moved"],
      ["/away"],
    ]);
    const urls = asked.map(({ url }) => url);
    expect(urls.filter((url) => /private|other/u.test(url))).toEqual([]);
    expect(
      asked.every(({ headers }) =>
        headers.some(([name, value]) => name === "user-agent" && value === "CauseyCrawler/1.0"),
      ),
    ).toBe(true);
  });

  it("follows its start to another host, and stays there", async () => {
    const { crawl } = await crawlUnderTest({
      ...at({ "/": { status: 301, headers: [["location", "https://www.example.com/"]] } }),
      "https://www.example.com/": links("/a"),
      "https://www.example.com/a": "<p>a",
    });
    expect(paths(await crawl({ url: root }))).toEqual(["/", "https://www.example.com/a"]);
  });

  it("asks a busy site again, and leaves out what is old", async () => {
    let count = 0;
    const old: PlayedPage = {
      headers: [
        ["content-type", "text/html"],
        ["last-modified", "Wed, 01 Jan 2020 00:00:00 GMT"],
      ],
      body: utf8(links("/new")),
    };
    const { crawl, platform } = await crawlUnderTest({
      ...at({ "/old": old, "/new": "<p>new" }),
      [`${root}/`]: () =>
        Promise.resolve(
          count++ === 0 ? { status: 503, headers: [["retry-after", "0"]] } : links("/old"),
        ),
    });
    const modifiedSince = Math.floor(platform.system.now() / 1000) - 86_400;
    const found = await crawl({ url: root, modifiedSince });
    expect([paths(found), paths(found, "skipped"), count]).toEqual([["/", "/new"], ["/old"], 2]);
  });

  it("pages through records by cursor, limit and status", async () => {
    const many = Array.from({ length: 5 }, (_, n) => `/${n}`);
    const { begin, end, call } = await crawlUnderTest(
      at({ "/": links(...many), ...Object.fromEntries(many.map((path) => [path, "<p>x"])) }),
    );
    const id = await begin({ url: root, source: "links" });
    await end(id);
    const first = await call("GET", `/${id}?limit=4&status=completed`);
    expect([first.result.records.length, first.result.cursor]).toEqual([4, 4]);
    const rest = await call("GET", `/${id}?limit=4&cursor=4`);
    expect([paths(rest.result), rest.result.cursor]).toEqual([["/3", "/4"], undefined]);
    expect((await call("GET", `/${id}?status=errored`)).result.records).toEqual([]);
  });

  it("is cancelled: what waits is not read", async () => {
    let free = (): void => undefined;
    const held = new Promise<PlayedPage>((resolve) => (free = () => resolve("<p>late")));
    const { begin, call, asked } = await crawlUnderTest({
      ...at({ "/": links("/slow", "/b") }),
      [`${root}/slow`]: () => held,
    });
    const id = await begin({ url: root, source: "links" });
    await eventually(
      () => asked.some(({ url }) => url === `${root}/slow`),
      "the page is asked for",
    );
    const { result } = await call("DELETE", `/${id}`);
    expect(result).toEqual({ job_id: id, message: "The crawl job was cancelled" });
    free();
    const { result: after } = await call("GET", `/${id}?status=cancelled`);
    expect([after.status, paths(after, "cancelled")]).toEqual([
      "cancelled_by_user",
      ["/slow", "/b"],
    ]);
    expect((await call("GET", "?status=cancelled_by_user")).result.jobs).toHaveLength(1);
    expect((await call("DELETE", `/${id}`)).status).toBe(200);
    expect(asked.map(({ url }) => url)).not.toContain(`${root}/b`);
  });

  it("ends when its results take more than they may, and the oldest makes room for a new one", async () => {
    const crawls = { maxBytes: 100, maxKept: 1 };
    const { begin, end, call } = await crawlUnderTest(
      at({ "/": links("/big"), "/big": "x".repeat(200) }),
      { crawls },
    );
    const first = await begin({ url: root });
    expect(await end(first)).toMatchObject({ status: "cancelled_due_to_limits", finished: 1 });
    expect((await call("GET", "")).result.jobs).toMatchObject([
      { status: "cancelled_due_to_limits" },
    ]);
    const second = await begin({ url: root });
    await eventually(async () => (await call("GET", `/${first}`)).status === 404, "it is gone");
    expect((await call("GET", "")).result.jobs.map(({ id }) => id)).toEqual([second]);
  });

  it("tells the account's webhooks of its end", async () => {
    const { crawl, platform, app } = await crawlUnderTest(at({ "/": "<p>x" }), {
      sendsWebhooks: true,
    });
    app.route("/", webhooksManagement({ platform, auth: "off", accountId: "a", sources: {} }));
    const base = "http://test/accounts/a/webhooks";
    const ask = async (path: string, body?: object): Promise<Told[] & Told> => {
      const headers = { "content-type": "application/json" };
      const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      const answer = await app.request(`${base}/${path}`, { headers, ...init });
      const { result }: { result: Told[] & Told } = await answer.json();
      return result;
    };
    const endpointFor = (type: string) =>
      ask("endpoints", { url: "https://hooks.example/x", types: [type] });
    const wanting = await endpointFor("crawl.completed");
    await endpointFor("crawl.errored");
    await crawl({ url: root });
    await eventually(async () => (await ask("deliveries")).length > 0, "the end is told");
    expect((await ask("deliveries")).map(({ endpoint_id: to }) => to)).toEqual([wanting.id]);
  });

  it("leaves a second between requests to a host that asks for it", async () => {
    const times: number[] = [];
    const page = (body: string) => async (): Promise<PlayedPage> => {
      times.push(performance.now());
      return body;
    };
    const { crawl } = await crawlUnderTest({
      ...at({ "/robots.txt": text("User-agent: *\nCrawl-delay: 1") }),
      [`${root}/`]: page(links("/a")),
      [`${root}/a`]: page("<p>a"),
    });
    // The first request itself may come late after its turn.
    const began = performance.now();
    await crawl({ url: root, source: "links" });
    expect((times[1] ?? 0) - began).toBeGreaterThan(900);
  });
});

describe("a crawl that is refused", () => {
  it("names the field", async () => {
    const { call, platform } = await crawlUnderTest(at({ "/": "<p>x" }));
    const now = Math.floor(platform.system.now() / 1000);
    const refusals: [object, string][] = [
      [{}, "url"],
      [{ url: "http://127.0.0.1/" }, "url: "],
      [{ limit: 0 }, "limit"],
      [{ limit: 100_001 }, "limit"],
      [{ depth: -1 }, "depth"],
      [{ formats: ["pdf"] }, "formats.0"],
      [{ formats: ["json"] }, "jsonOptions: Needed"],
      [{ jsonOptions: { prompt: "p" } }, "jsonOptions: Has an effect"],
      [{ modifiedSince: now + 100 }, "modifiedSince: A time in the future"],
      [{ modifiedSince: 1 }, "modifiedSince: A time within the last year"],
      [
        { options: { includePatterns: ["blog"] } },
        'options.includePatterns.0: "blog" matches no address',
      ],
      [{ cookies: [] }, "cookies: Needs a browser"],
      [{ extract: "all" }, "extract"],
      [{ options: { includePattern: ["/a"] } }, "includePatterns"],
    ];
    for (const [body, message] of refusals) {
      const given = "url" in body || Object.keys(body).length === 0 ? body : { url: root, ...body };
      const answer = await call("POST", "", { render: false, ...given });
      expect([answer.status, answer.errors[0]?.message]).toEqual([
        400,
        expect.stringContaining(message),
      ]);
    }
  });

  it("when the site's Content-Signal forbids its purpose", async () => {
    const { call, begin } = await crawlUnderTest(
      at({
        "/robots.txt": text("User-agent: *\nContent-Signal: ai-train=no\nAllow: /"),
        "/": "<p>x",
      }),
    );
    const { status, errors } = await call("POST", "", { url: root, render: false });
    expect([status, errors[0]?.message]).toEqual([
      400,
      "Crawl disallowed by Content-Signal directive (purpose or use level)",
    ]);
    expect(await begin({ url: root, crawlPurposes: ["search"] })).toMatch(/^[\da-f-]{36}$/u);
  });

  it("when as many run as may, and when there is none", async () => {
    const { begin, call } = await crawlUnderTest(
      { [`${root}/`]: () => new Promise(() => undefined) },
      { crawls: { maxRunning: 1 } },
    );
    const first = await begin({ url: root });
    const second = await call("POST", "", { url: root, render: false });
    expect([second.status, second.errors[0]?.code]).toEqual([429, 2001]);
    await call("DELETE", `/${first}`);
    await begin({ url: root });
    for (const id of ["x", "00000000-0000-4000-8000-000000000000"])
      for (const method of ["GET", "DELETE"])
        expect((await call(method, `/${id}`)).status).toBe(404);
    expect((await call("GET", "?status=done")).status).toBe(400);
  });
});
