import { afterEach, beforeEach, expect, it } from "vitest";
import { htmlPage, siteUnderTest, type SiteUnderTest } from "../../fakes/search-site.ts";

const home = "https://site.example";
const framed = (title: string, text: string): string =>
  htmlPage(title, `</p><nav>Menu of all pages</nav><article class="body">${text}</article><p>`);

let site: SiteUnderTest;
beforeEach(async () => {
  site = await siteUnderTest();
  site.pages.set(`${home}/`, htmlPage("Home", "Welcome.", "/linked"));
  site.pages.set(`${home}/linked`, htmlPage("Linked", "Found by a link."));
  site.pages.set(`${home}/robots.txt`, { status: 404 });
});
afterEach(() => site.close());

const sitemap = (...urls: readonly string[]): string =>
  `<urlset>${urls.map((url) => `<url><loc>${url}</loc></url>`).join("")}</urlset>`;

const follow = (parse: object, web: object = {}): object => ({
  type: "web-crawler",
  source: "site.example",
  source_params: { web_crawler: { ...web, parse_options: parse } },
});

it("takes a domain for the address of a website where the type says so", async () => {
  const { status, body } = await site.put(follow({}, { parse_type: "discover" }));
  expect([status, body.result.source]).toEqual([200, "site.example"]);
  await site.nextJob(0);
  const items = await site.items();
  expect([...items.keys()].toSorted()).toEqual([`${home}/`, `${home}/linked`]);
  expect(items.get(`${home}/linked`)?.source_id).toBe(`web-crawler:${home}/`);
});

it("reads the sitemaps that it names, by address or path, and no others", async () => {
  site.pages.set(`${home}/sitemap.xml`, sitemap(`${home}/linked`));
  site.pages.set(`${home}/maps/a.xml`, sitemap(`${home}/a`));
  site.pages.set(`${home}/maps/b.xml`, sitemap(`${home}/b`));
  for (const name of ["a", "b"]) site.pages.set(`${home}/${name}`, htmlPage(name, "Some text."));
  await site.put(follow({ specific_sitemaps: [`${home}/maps/a.xml`, "/maps/b.xml"] }));
  await site.nextJob(0);
  expect([...(await site.items()).keys()].toSorted()).toEqual([
    `${home}/`,
    `${home}/a`,
    `${home}/b`,
  ]);
});

it("deletes nothing when a sitemap cannot be read, and says which", async () => {
  site.pages.set(`${home}/sitemap.xml`, sitemap(`${home}/linked`));
  await site.put(follow({}));
  await site.nextJob(0);
  expect((await site.items()).size).toBe(2);
  const kept = async (): Promise<unknown> => {
    const job = await site.syncAgain();
    const { body } = await site.api.call("GET", `/instances/main/jobs/${job.id}/logs`);
    return [job.progress["deleted"], body.result.at(-1)?.message];
  };
  site.pages.set(`${home}/sitemap.xml`, { status: 503 });
  const message = `Nothing of the source was deleted: the sitemap ${home}/sitemap.xml could not be read (HTTP 503)`;
  expect(await kept()).toEqual([0, message]);
  // A site need not have one.
  site.pages.set(`${home}/sitemap.xml`, { status: 403 });
  expect((await site.syncAgain()).progress["deleted"]).toBe(1);
  // One that is named has to be there.
  await site.put(follow({ specific_sitemaps: ["/map.xml"] }));
  const job = await site.nextJob(3);
  const { body } = await site.api.call("GET", `/instances/main/jobs/${job.id}/logs`);
  expect(body.result.at(-1)?.message).toContain(`${home}/map.xml could not be read (HTTP 404)`);
});

it("indexes the parts of pages that a selector names; the first path that matches counts", async () => {
  const names = ["blog/releases/v2", "blog/post", "docs/empty", "other"];
  for (const name of names) site.pages.set(`${home}/${name}`, framed(name, `About ${name}.`));
  const two = '<p class="part">One.</p><div>Left out.</div><p class="part">Two.</p>';
  site.pages.set(`${home}/blog/post`, htmlPage("post", two));
  site.pages.set(`${home}/sitemap.xml`, sitemap(...names.map((name) => `${home}/${name}`)));
  const selectors = [
    { path: "**/blog/releases/**", selector: "article.body" },
    { path: "/blog/**", selector: ".part" },
    { path: "**/docs/**", selector: "#nothing" },
  ];
  await site.put(follow({ content_selector: selectors }));
  const job = await site.nextJob(0);
  expect(job.progress).toMatchObject({ indexed: 4, failed: 1 });
  const items = await site.items();
  const textOf = async (name: string): Promise<string> => {
    const { body } = await site.api.call(
      "GET",
      `/instances/main/items/${items.get(`${home}/${name}`)?.id}/chunks`,
    );
    return body.result.map((chunk) => (chunk as unknown as { text: string }).text).join("\n");
  };
  expect(await textOf("blog/releases/v2")).toBe("# blog/releases/v2\n\nAbout blog/releases/v2.");
  expect(await textOf("blog/post")).toBe("# post\n\nOne.\n\nTwo.");
  expect(await textOf("other")).toContain("Menu of all pages");
  expect(items.get(`${home}/docs/empty`)).toMatchObject({
    status: "error",
    error: 'Nothing on the page matches the selector "#nothing"',
  });
  // The title is that of the whole page.
  expect(items.get(`${home}/blog/releases/v2`)?.metadata).toMatchObject({
    title: "blog/releases/v2",
  });
});

it("refuses sitemaps and selectors that cannot be, by the name of the field", async () => {
  const selector = { path: "/**", selector: "main" };
  for (const [parse, web, message] of [
    [
      { specific_sitemaps: ["/a.xml"] },
      { parse_type: "discover" },
      "specific_sitemaps would have no effect",
    ],
    [{ specific_sitemaps: ["http://10.0.0.1/a.xml"] }, {}, "specific_sitemaps.0: "],
    [{ specific_sitemaps: ["mailto:a@b.example"] }, {}, "specific_sitemaps.0: expected"],
    [{ specific_sitemaps: Array.from({ length: 6 }, () => "/a.xml") }, {}, "specific_sitemaps"],
    [{ content_selector: [] }, {}, "content_selector: At least one"],
    [{ content_selector: Array.from({ length: 11 }, () => selector) }, {}, "content_selector"],
    [{ content_selector: [{ ...selector, path: "docs" }] }, {}, "content_selector.0.path"],
    [
      { content_selector: [selector, { ...selector, selector: "a >" }] },
      {},
      "content_selector.1.selector",
    ],
    [
      { content_selector: [{ ...selector, selector: "a:hover" }] },
      {},
      "content_selector.0.selector",
    ],
    [
      { content_selector: [{ ...selector, selector: "a".repeat(201) }] },
      {},
      "content_selector.0.selector",
    ],
  ] as const) {
    const { status, body } = await site.put(follow(parse, web));
    expect([status, body.errors[0]?.message]).toEqual([
      message.includes("no effect") ? 501 : 400,
      expect.stringContaining(message),
    ]);
  }
});
