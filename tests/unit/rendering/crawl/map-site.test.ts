import { describe, expect, it } from "vitest";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import { eventually } from "../../../cases/eventually.ts";
import { crawlUnderTest, type PlayedSite } from "../../../fakes/rendering-crawl.ts";

const root = "https://example.com";
const base = "http://test/accounts/a/browser-run";
const site: PlayedSite = {
  [`${root}/robots.txt`]: {
    headers: [["content-type", "text/plain"]],
    body: utf8(`User-agent: *\nDisallow: /closed\nSitemap: ${root}/index.xml`),
  },
  [`${root}/index.xml`]: `<sitemapindex><sitemap><loc>${root}/pages.xml</loc></sitemap></sitemapindex>`,
  [`${root}/pages.xml`]: `<urlset><url><loc>${root}/s</loc></url><url><loc>https://other.example/</loc></url></urlset>`,
  [`${root}/`]:
    '<title>The [site]</title><a href="/a(1)">a</a><a href="/s">s</a><a href="https://sub.example.com/">x</a>',
  [`${root}/a(1)`]: "<p>a",
  [`${root}/s`]: "<title>S</title>",
};

async function map(body: object): Promise<{ status: number; links: string[]; error: string }> {
  const { app } = await crawlUnderTest(site);
  const answer = await app.request(`${base}/map`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const { result, errors }: { result: { links: string[] } | null; errors: { message: string }[] } =
    await answer.json();
  return { status: answer.status, links: result?.links ?? [], error: errors[0]?.message ?? "" };
}

describe("what a crawl finds in pages", () => {
  it("is JSON of the operator's model; a page that it cannot read is errored, with its other formats", async () => {
    const chatModel = async (request: Request): Promise<Response> => {
      const asked = await request.text();
      if (asked.includes("<page-") && asked.includes("broken"))
        return new Response(null, { status: 500 });
      return Response.json({ choices: [{ message: { content: '{"name":"Bike"}' } }] });
    };
    const pages = { [`${root}/`]: '<a href="/b">b</a>', [`${root}/b`]: "<p>broken" };
    const { crawl } = await crawlUnderTest(pages, { chatModel });
    const jsonOptions = { prompt: "The name" };
    const found = await crawl({
      url: root,
      formats: ["json", "markdown"],
      jsonOptions,
      source: "links",
    });
    expect(found.records).toMatchObject([
      { status: "completed", json: { name: "Bike" }, markdown: `[b](${root}/b)` },
      { status: "errored", markdown: "broken", error: "The model answered status 500" },
    ]);
  });

  it("comes slowly: all crawls share the turns of a host", async () => {
    const times: number[] = [];
    const page = async (): Promise<string> => {
      times.push(performance.now());
      return "<p>x";
    };
    const { begin, end } = await crawlUnderTest(
      { [`${root}/`]: page },
      { crawls: { delayMs: 400 } },
    );
    // The first request itself may come late after its turn.
    const began = performance.now();
    const ids = await Promise.all([1, 2].map(() => begin({ url: root, source: "links" })));
    await Promise.all(ids.map(end));
    expect(times.length).toBe(2);
    expect((times[1] ?? 0) - began).toBeGreaterThan(350);
  });

  it("goes when its time is over", async () => {
    const { begin, call } = await crawlUnderTest(
      { [`${root}/`]: "<p>x" },
      { crawls: { keepDays: 1e-8 } },
    );
    const id = await begin({ url: root });
    await eventually(async () => (await call("GET", `/${id}`)).status === 404, "it is gone");
    expect((await call("GET", "")).result.jobs).toEqual([]);
  });
});

describe("the map of a site", () => {
  it("has the start, the pages of its sitemaps and those that it links to", async () => {
    const all = [`${root}/`, `${root}/s`, `${root}/a(1)`];
    expect((await map({ url: root })).links).toEqual(all);
    expect((await map({ url: root, limit: 2 })).links).toEqual(all.slice(0, 2));
    expect((await map({ url: root, source: "sitemaps" })).links).toEqual(all.slice(0, 2));
    const wide = await map({ url: root, source: "links", options: { includeSubdomains: true } });
    expect(wide.links).toEqual([
      `${root}/`,
      `${root}/a(1)`,
      `${root}/s`,
      "https://sub.example.com/",
    ]);
  });

  it("of a start that is forbidden has the sitemaps; of a private one there is none", async () => {
    const closed = await map({ url: `${root}/closed` });
    expect(closed.links).toEqual([`${root}/closed`, `${root}/s`]);
    const refused = await map({ url: "http://127.0.0.1/" });
    expect([refused.status, refused.error]).toEqual([400, expect.stringContaining("not a public")]);
    const wrong = await map({ url: root, limit: 0 });
    expect([wrong.status, wrong.error]).toEqual([400, expect.stringContaining("limit")]);
  });
});

describe("the llms.txt of a crawl", () => {
  it("links to each page that was read, by its title", async () => {
    const { app, begin, end } = await crawlUnderTest(site);
    const id = await begin({ url: root });
    await end(id);
    const answer = await app.request(`${base}/crawl/${id}/llms.txt`);
    expect([answer.headers.get("content-type"), await answer.text()]).toEqual([
      "text/plain; charset=utf-8",
      `# The [site]\n\n> ${root}/\n\n## Pages\n\n- [The \\[site\\]](${root}/)\n- [S](${root}/s)\n- [/a(1)](${root}/a%281%29)\n`,
    ]);
    const none = `${base}/crawl/00000000-0000-4000-8000-000000000000/llms.txt`;
    expect((await app.request(none)).status).toBe(404);
  });
});
