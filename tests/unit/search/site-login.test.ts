import { afterEach, beforeEach, expect, it } from "vitest";
import type { OutboundRequest } from "../../../core/ports.ts";
import { htmlPage, siteUnderTest, type SiteUnderTest } from "../../fakes/search-site.ts";

const home = "https://site.example";
const away = "https://away.example";
const secret = "Bearer s3cret-of-the-site";
const hidden = "********";

let site: SiteUnderTest;
beforeEach(async () => {
  site = await siteUnderTest({ masterSecret: "a-master-secret-of-this-test" });
  const closed = (page: string) => (asked: OutboundRequest) =>
    headerOf(asked, "authorization") === secret ? bodyOf(page) : { status: 401 };
  site.pages.set(`${home}/robots.txt`, { status: 404 });
  site.pages.set(`${home}/sitemap.xml`, closed(sitemap(`${home}/ferry`, `${home}/leads-away`)));
  site.pages.set(`${home}/`, closed(htmlPage("Home", "Welcome to the harbour.")));
  site.pages.set(`${home}/ferry`, closed(htmlPage("Ferry", "The ferry leaves at noon.")));
  const location = `${away}/ferry`;
  site.pages.set(`${home}/leads-away`, { status: 302, headers: [["location", location]] });
  site.pages.set(location, htmlPage("Away", "Another site."));
});
afterEach(() => site.close());

const bodyOf = (page: string) => ({ body: new TextEncoder().encode(page) });

function sitemap(...urls: readonly string[]): string {
  return `<urlset>${urls.map((url) => `<url><loc>${url}</loc></url>`).join("")}</urlset>`;
}

function headerOf({ headers }: OutboundRequest, name: string): string | undefined {
  return headers.find(([known]) => known.toLowerCase() === name)?.[1];
}

const login = (headers: object, source = home): object => ({
  type: "web-crawler",
  source,
  source_params: { web_crawler: { parse_options: { include_headers: headers } } },
});

const both = { Authorization: secret, "X-Team": "harbour" };

it("sends its headers with each request to its site: robots.txt, sitemaps and pages", async () => {
  const { status } = await site.put(login(both));
  expect(status).toBe(200);
  expect((await site.nextJob(0)).end_reason).toBe("completed");
  const items = await site.items();
  expect(items.get(`${home}/ferry`)?.status).toBe("completed");
  const atHome = site.asked.filter(({ url }) => url.startsWith(home));
  expect(atHome.map(({ url }) => url)).toEqual(
    expect.arrayContaining([`${home}/robots.txt`, `${home}/sitemap.xml`, `${home}/`]),
  );
  for (const asked of atHome) {
    expect([asked.url, headerOf(asked, "authorization")]).toEqual([asked.url, secret]);
    expect(headerOf(asked, "x-team")).toBe("harbour");
  }
});

it("sends its headers to no other origin: not after a redirect, and not to a sitemap of another site", async () => {
  const sitemaps = [`${away}/sitemap.xml`, "/sitemap.xml"];
  site.pages.set(sitemaps[0]!, sitemap(`${home}/ferry`));
  const parse = { include_headers: both, specific_sitemaps: sitemaps };
  const source = { type: "web-crawler", source: home };
  await site.put({ ...source, source_params: { web_crawler: { parse_options: parse } } });
  await site.nextJob(0);
  await site.put(login(both, `${home}/leads-away`));
  await site.nextJob(1);
  const elsewhere = site.asked.filter(({ url }) => !url.startsWith(`${home}/`));
  expect(elsewhere.map(({ url }) => url)).toEqual(
    expect.arrayContaining([sitemaps[0], `${away}/ferry`]),
  );
  for (const asked of elsewhere) {
    expect(headerOf(asked, "authorization")).toBeUndefined();
    expect(headerOf(asked, "x-team")).toBeUndefined();
  }
});

it("shows no value of a header, and stores none as it is", async () => {
  const { body: changed } = await site.put(login(both));
  const job = await site.nextJob(0);
  const { body: read } = await site.api.call("GET", "/instances/main");
  const { body: listed } = await site.api.call("GET", "/instances");
  for (const result of [changed.result, read.result, listed.result[0]])
    expect(result).toMatchObject({
      source_params: {
        web_crawler: {
          parse_options: { include_headers: { Authorization: hidden, "X-Team": hidden } },
        },
      },
    });
  const { body: log } = await site.api.call("GET", `/instances/main/jobs/${job.id}/logs`);
  const shown = JSON.stringify([changed, read, listed, job, log]);
  expect(shown).not.toContain("s3cret");
  expect(shown).not.toContain("sealed");
  const rows = site.written.filter((row) => row.includes("include_headers"));
  expect(rows.length).toBeGreaterThan(1);
  expect(site.written.join("")).not.toContain("s3cret");
  const { body: gone } = await site.api.call("DELETE", "/instances/main");
  expect(JSON.stringify(gone)).not.toContain("sealed");
});

it("keeps hidden values that a client sends back, for the same origin only", async () => {
  await site.put(login(both));
  await site.nextJob(0);
  const { body: read } = await site.api.call("GET", "/instances/main");
  // Nothing has changed, so there is nothing to look at.
  await site.put(read.result);
  const { body: jobs } = await site.api.call("GET", "/instances/main/jobs");
  expect(jobs.result).toHaveLength(1);
  const messageOf = async (settings: object): Promise<unknown> => {
    const { status, body } = await site.put(settings);
    return [status, body.errors[0]?.message];
  };
  for (const settings of [{ source: away }, login({ Authorization: hidden }, away)])
    expect(await messageOf(settings)).toEqual([
      400,
      expect.stringContaining("source: Its headers would go to another origin"),
    ]);
  expect(await messageOf(login({ ...both, "X-Other": hidden }))).toEqual([
    400,
    expect.stringContaining('"X-Other" has no stored value'),
  ]);
  // One is changed, one is kept, by another address of the same origin.
  await site.put(login({ Authorization: hidden, "X-Team": "quay" }, `${home}/ferry`));
  site.asked.length = 0;
  expect((await site.nextJob(1)).end_reason).toBe("completed");
  expect(headerOf(site.asked[0]!, "authorization")).toBe(secret);
  expect(headerOf(site.asked[0]!, "x-team")).toBe("quay");
  // Without the field there are none any more.
  await site.put({ source_params: {} });
  site.asked.length = 0;
  await site.nextJob(2);
  expect(headerOf(site.asked[0]!, "authorization")).toBeUndefined();
});

it("refuses headers that frame requests, that are none, and too many, without repeating a value", async () => {
  const many = Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`x-${n}`, "s3cret"]));
  for (const headers of [
    { Host: "s3cret" },
    { "x y": "s3cret" },
    { "x-a": "s3cret\r\nb: c" },
    { "x-a": "" },
    { "x-a": `s3cret${"a".repeat(5000)}` },
    many,
  ]) {
    const { status, body } = await site.put(login(headers));
    expect([status, body.errors[0]?.message]).toEqual([400, expect.not.stringContaining("s3cret")]);
  }
});
