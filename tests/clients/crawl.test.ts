import Cloudflare from "cloudflare";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { startTarget, type Target } from "../http/target.ts";

const account_id = inject("accountId");
const apiToken = inject("token");
const shared = new Cloudflare({
  apiToken,
  baseURL: `${inject("baseUrl")}/client/v4`,
  maxRetries: 0,
});
const probe = await shared.browserRendering.content.create({ account_id, html: "<p>x" }).then(
  () => undefined,
  (error: unknown) =>
    error instanceof Cloudflare.APIError && error.status === 503 ? error.message : undefined,
);
const ended = /^(?:completed|errored|cancelled)/u;

describe("cloudflare browserRendering.crawl", () => {
  const held: (() => void)[] = [];
  const asked: string[] = [];
  const site = createServer(({ url = "", headers }, response) => {
    asked.push(url);
    const html = (text: string): void =>
      void response.writeHead(200, { "content-type": "text/html" }).end(text);
    if (url === "/robots.txt") response.end("User-agent: *\nDisallow: /private\n");
    else if (url === "/") html('<title>Start</title><a href="/a">a</a><a href="/private">p</a>');
    else if (url === "/a")
      html('<h1>A</h1><a href="/">back</a><a href="https://example.com/">o</a>');
    else if (url === "/app")
      html("<body><script>document.body.innerHTML = '<h1>Made</h1><a href=\"/a\">a</a>'</script>");
    else if (url === "/keyed")
      html(`<p>${String(headers["x-key"])}</p><a href="${otherAt}/">o</a>`);
    else if (url === "/endless") held.push(() => html("<p>late"));
    else response.writeHead(404, { "content-type": "text/html" }).end("<p>none");
  });
  const elsewhere: (string | undefined)[] = [];
  const other = createServer(({ headers }, response) => {
    elsewhere.push(String(headers["x-key"]));
    response.writeHead(200, { "content-type": "text/html" }).end("<p>other");
  });
  let siteAt = "";
  let otherAt = "";
  let folder = "";
  let target: Target;
  let client: Cloudflare;

  beforeAll(async () => {
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    siteAt = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    otherAt = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    folder = mkdtempSync(join(tmpdir(), "causey-crawl-"));
    const config = join(folder, "causey.json");
    const rendering = {
      allowHosts: [siteAt, otherAt].map((at) => new URL(at).host),
      crawls: { delayMs: 0 },
    };
    writeFileSync(config, JSON.stringify({ rendering }));
    target = await startTarget({
      args: ["--account-id", account_id, "--config", config],
      env: { CAUSEY_TOKEN: apiToken },
    });
    client = new Cloudflare({ apiToken, baseURL: `${target.url}/client/v4`, maxRetries: 0 });
  });

  afterAll(async () => {
    await target?.stop();
    for (const server of [site, other]) {
      server.closeAllConnections();
      server.close();
    }
    rmSync(folder, { recursive: true, force: true });
  });

  const whole = async (id: string): Promise<Cloudflare.BrowserRendering.CrawlGetResponse> => {
    for (;;) {
      const job = await client.browserRendering.crawl.get(id, { account_id });
      if (ended.test(job.status)) return job;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };

  it("create() gives an id, get() the pages", async () => {
    const id = await client.browserRendering.crawl.create({
      account_id,
      url: `${siteAt}/`,
      render: false,
      formats: ["html", "markdown"],
      cacheTTL: 0,
    });
    const job = await whole(id);
    expect(job).toMatchObject({
      id,
      status: "completed",
      total: 3,
      finished: 3,
      skipped: 1,
      browserSecondsUsed: 0,
    });
    const [start, a, forbidden, external] = job.records;
    expect(start).toMatchObject({
      url: `${siteAt}/`,
      status: "completed",
      metadata: { status: 200, url: `${siteAt}/`, title: "Start" },
    });
    expect(start?.html).toContain("<title>Start</title>");
    expect([a?.status, a?.markdown]).toEqual(["completed", expect.stringContaining("# A")]);
    expect(forbidden).toEqual({ url: `${siteAt}/private`, status: "disallowed" });
    expect(external).toEqual({ url: "https://example.com/", status: "skipped" });
    expect(asked).not.toContain("/private");
    const some = await client.browserRendering.crawl.get(id, {
      account_id,
      status: "completed",
      limit: 1,
      cursor: 1,
    });
    expect(some.records.map(({ url }) => url)).toEqual([`${siteAt}/a`]);
  });

  itUnless(probe)("a browser renders its pages", async () => {
    const id = await client.browserRendering.crawl.create({
      account_id,
      url: `${siteAt}/app`,
      source: "links",
      formats: ["html", "markdown"],
      limit: 2,
    });
    const job = await whole(id);
    expect([job.status, job.records.map(({ url, status }) => [url, status])]).toEqual([
      "completed",
      [
        [`${siteAt}/app`, "completed"],
        [`${siteAt}/a`, "completed"],
        ["https://example.com/", "skipped"],
      ],
    ]);
    expect(job.records[0]?.html).toContain("<h1>Made</h1>");
    expect(job.records[0]?.markdown).toBe(`# Made\n\n[a](${siteAt}/a)`);
    expect(job.browserSecondsUsed).toBeGreaterThan(0);
  });

  itUnless(probe)("what proves who asks goes to the origin of the start only", async () => {
    const id = await client.browserRendering.crawl.create({
      account_id,
      url: `${siteAt}/keyed`,
      source: "links",
      setExtraHTTPHeaders: { "x-key": "secret" },
      options: { includeExternalLinks: true },
      limit: 2,
    });
    const job = await whole(id);
    expect(job.records.map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect(job.records[0]?.html).toContain("<p>secret</p>");
    expect(job.records[1]?.html).toContain("<p>other");
    expect(new Set(elsewhere)).toEqual(new Set(["undefined"]));
  });

  it("delete() cancels", async () => {
    const { crawl } = client.browserRendering;
    const id = await crawl.create({ account_id, url: `${siteAt}/endless`, render: false });
    const cancelled = await crawl.delete(id, { account_id });
    expect(cancelled).toEqual({ job_id: id, message: "The crawl job was cancelled" });
    const job = await crawl.get(id, { account_id });
    expect([job.status, job.records[0]?.status]).toEqual(["cancelled_by_user", "cancelled"]);
    for (const free of held) free();
  });

  it("what cannot be is an APIError that names the field", async () => {
    const { crawl } = client.browserRendering;
    const refused = await crawl
      .create({ account_id, url: `${siteAt}/`, render: false, limit: 0 })
      .catch((error: unknown) => error);
    if (!(refused instanceof Cloudflare.APIError)) throw new TypeError("It was no APIError");
    expect([refused.status, refused.errors[0]?.message]).toEqual([
      400,
      expect.stringContaining("limit"),
    ]);
    const none = "00000000-0000-4000-8000-000000000000";
    const missing = await crawl.get(none, { account_id }).catch((error: unknown) => error);
    expect(missing).toMatchObject({ status: 404 });
  });
});
