import { afterEach, describe, expect, it } from "vitest";
import { renderingParts, type RenderingOptions } from "../../../core/rendering/mod.ts";
import { mainContent } from "../../../core/rendering/extract/mod.ts";
import type { InboundResponse, SiteCrawler } from "../../../core/ports.ts";
import { utf8 } from "../../../core/crypto/encoding.ts";
import type { FinishedSpan, Tracer } from "../../../core/trace/trace-context.ts";
import { openPlatform } from "#platform";
import { eventually } from "../../cases/eventually.ts";
import { withoutPackages } from "../../fakes/rendering-packages.ts";
import { searchUnderTest, type SearchUnderTest, type Shown } from "../../fakes/search-api.ts";

let api: SearchUnderTest;
let close = (): Promise<void> => Promise.resolve();
afterEach(async () => {
  await api.close();
  await close();
});

const home = "https://site.example/";
/** How far the clock of the instance is ahead. */
const skew = { ms: 0 };

const page = (title: string, text: string, ...links: string[]): string =>
  `<html><head><title>${title}</title></head><body><h1>${title}</h1><p>${text}</p>${links.map((to) => `<a href="${to}">${to}</a>`).join(" ")}</body></html>`;

/** The rendering part's own crawler, over a site that the test plays. */
async function crawlerOf(
  site: Map<string, string | number>,
  rendering: Pick<RenderingOptions, "extract"> = {},
): Promise<SiteCrawler> {
  const own = await openPlatform();
  const documents = {
    send({ url }: { readonly url: string }): Promise<InboundResponse> {
      const found = site.get(url.slice(home.length - 1)) ?? 404;
      const headers: InboundResponse["headers"] = [["content-type", "text/html"]];
      const [status, body] = typeof found === "number" ? [found, "<p>none"] : [200, found];
      return Promise.resolve({ status, headers, body: utf8(body) });
    },
  };
  const platform = { ...withoutPackages(own), browser: { ...own.browser, documents } };
  close = () => own.close();
  return renderingParts({ platform, auth: "off", crawls: { delayMs: 0 }, ...rendering }).crawler;
}

async function open(crawler?: SiteCrawler): Promise<void> {
  const given = crawler === undefined ? {} : { crawler };
  api = await searchUnderTest(given, {}, undefined, {}, {}, skew);
}

const discover = { web_crawler: { parse_type: "discover" } };

async function nextJob(before: number): Promise<Shown> {
  for (;;) {
    const { body } = await api.call("GET", "/instances/main/jobs");
    const [job] = body.result;
    if (body.result.length > before && job?.ended_at !== undefined) return job;
    await api.platform.system.sleep(20);
  }
}

async function syncAgain(): Promise<Shown> {
  const { body } = await api.call("GET", "/instances/main/jobs");
  skew.ms += 60_000;
  expect((await api.call("POST", "/instances/main/jobs")).status).toBe(200);
  return nextJob(body.result.length);
}

async function items(): Promise<Map<string, Shown>> {
  const { body } = await api.call("GET", "/instances/main/items?per_page=100");
  return new Map(body.result.map((item) => [item.key.replace(home, "/"), item]));
}

describe("an instance whose source is a website", () => {
  it("indexes its pages, and follows what changes and what goes", async () => {
    const site = new Map<string, string | number>([
      [
        "/",
        page("Home", "Welcome to the harbour.", "/ferry.html", "/report.pdf", "/old", "/shaky"),
      ],
      ["/ferry.html", page("Ferry", "The ferry leaves at noon.")],
      ["/report.pdf", page("Report", "A page whose name looks like a document.")],
      ["/old", page("Old", "Soon gone.")],
      ["/shaky", page("Shaky", "Not always there.")],
    ]);
    await open(await crawlerOf(site));
    const { body } = await api.call("PUT", "/instances/main", {
      source: home,
      source_params: discover,
    });
    expect(body.result).toMatchObject({ type: "web-crawler", sync_interval: 21_600 });
    const first = await nextJob(0);
    expect(first).toMatchObject({ source: "schedule", end_reason: "completed" });
    expect(first.progress).toMatchObject({ indexed: 5, failed: 0, total: 5 });
    const found = await items();
    expect([...found.keys()].toSorted()).toEqual([
      "/",
      "/ferry.html",
      "/old",
      "/report.pdf",
      "/shaky",
    ]);
    expect(found.get("/ferry.html")).toMatchObject({
      status: "completed",
      source_id: `web-crawler:${home}`,
      metadata: { title: "Ferry" },
    });
    const [best] = await api.search("when does the ferry leave");
    expect(best).toMatchObject({ item: { key: `${home}ferry.html` } });
    expect(best?.text).not.toContain("<p>");
    site.set("/ferry.html", page("Ferry", "The ferry leaves at one."));
    site.set("/old", 404);
    site.set("/shaky", 500);
    const second = await syncAgain();
    expect(second.progress).toMatchObject({ indexed: 1, unchanged: 2, deleted: 1, failed: 1 });
    const after = await items();
    expect(after.has("/old")).toBe(false);
    expect([after.get("/shaky")?.status, after.get("/shaky")?.error]).toEqual([
      "error",
      "HTTP 500",
    ]);
    // What was indexed before serves on.
    expect((await api.search("not always there"))[0]?.item.key).toBe(`${home}shaky`);
    expect((await api.search("ferry"))[0]?.text).toContain("at one");
  });

  it("reads whole pages where what finds their main content is not installed", async () => {
    const site = new Map([["/", page("Home", "Welcome to the harbour.")]]);
    await open(await crawlerOf(site, { extract: mainContent }));
    await api.call("PUT", "/instances/main", { source: home, source_params: discover });
    expect((await nextJob(0)).progress).toMatchObject({ indexed: 1, failed: 0 });
  });

  it("deletes nothing when the site could not be read, or only a part of it", async () => {
    const site = new Map<string, string | number>([
      ["/", page("Home", "Welcome.", "/a", "/b", "/c")],
      ["/a", page("A", "Alpha.")],
      ["/b", page("B", "Beta.")],
      ["/c", page("C", "Gamma.")],
    ]);
    await open(await crawlerOf(site));
    await api.call("PUT", "/instances/main", { source: home, source_params: discover });
    await nextJob(0);
    expect((await items()).size).toBe(4);
    site.set("/", 500);
    const failed = await syncAgain();
    expect(failed.end_reason).toBe("error: HTTP 500");
    expect((await items()).size).toBe(4);
    site.set("/", page("Home", "Welcome.", "/a", "/b", "/c"));
    const limited = { web_crawler: { parse_type: "discover", discover_options: { limit: 2 } } };
    skew.ms += 60_000;
    await api.call("PUT", "/instances/main", { source_params: limited });
    const partly = await nextJob(2);
    expect(partly.progress).toMatchObject({ deleted: 0, unchanged: 2 });
    expect((await items()).size).toBe(4);
    const { body } = await api.call("GET", `/instances/main/jobs/${partly.id}/logs`);
    expect(body.result.at(-1)?.message).toBe(
      "Nothing of the source was deleted: the crawl found 2 pages, its limit",
    );
  });

  it("ends its crawl when its job is cancelled", async () => {
    const cancelled: string[] = [];
    const crawler: SiteCrawler = {
      check: () => Promise.resolve(),
      begin: () => Promise.resolve("one"),
      read: () =>
        Promise.resolve({
          crawl: { status: "running", total: 7, finished: 1 },
          pages: [],
          next: null,
        }),
      markdown: () => Promise.resolve(null),
      cancel: (account, id) => Promise.resolve(void cancelled.push(`${account}/${id}`)),
    };
    await open(crawler);
    await api.call("PUT", "/instances/main", { source: home });
    for (;;) {
      const { body } = await api.call("GET", "/instances/main/jobs");
      const [job] = body.result;
      if (job?.progress["total"] === 7) {
        await api.call("PATCH", `/instances/main/jobs/${job.id}`, { action: "cancel" });
        break;
      }
      await api.platform.system.sleep(5);
    }
    while (cancelled.length === 0) await api.platform.system.sleep(5);
    expect(cancelled).toEqual(["acme/one"]);
    expect((await nextJob(0)).end_reason).toBe("cancelled");
  });

  it("has a span of each run that does something, and none of the looks at a crawl that goes on", async () => {
    const spans: FinishedSpan[] = [];
    const asked: (string | undefined)[] = [];
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const tracer: Tracer = {
      begin: () => ({ traceparent, end: (span) => void spans.push(span) }),
    };
    let looks = 0;
    const crawler: SiteCrawler = {
      check: () => Promise.resolve(),
      begin: (_account, _wish, _signal, named) => {
        asked.push(named);
        return Promise.resolve("one");
      },
      read() {
        looks += 1;
        const status = looks < 3 ? "running" : "completed";
        return Promise.resolve({ crawl: { status, total: 0, finished: 0 }, pages: [], next: null });
      },
      markdown: () => Promise.resolve(null),
      cancel: () => Promise.resolve(),
    };
    api = await searchUnderTest({ crawler, tracer });
    await api.call("PUT", "/instances/main", { source: home });
    expect((await nextJob(0)).end_reason).toBe("completed");
    await eventually(() => spans.length === 2, "the span of the last run");
    expect(looks).toBeGreaterThan(2);
    expect(spans.map(({ name, isError }) => [name, isError])).toEqual([
      ["sync job", false],
      ["sync job", false],
    ]);
    expect(asked).toEqual([traceparent]);
  });

  it("is refused without the rendering part, and where its settings cannot be right", async () => {
    await open();
    const change = async (settings: object): Promise<unknown> => {
      const { status, body } = await api.call("PUT", "/instances/main", settings);
      return [status, body.errors[0]?.message];
    };
    expect(await change({ source: home })).toEqual([
      503,
      expect.stringContaining("type: Websites are read by the rendering part"),
    ]);
    await api.close();
    await open(await crawlerOf(new Map()));
    const web = (params: object): object => ({
      source: home,
      source_params: { web_crawler: params },
    });
    const at = "source_params.web_crawler";
    for (const [settings, message] of [
      [{ source: "http://127.0.0.1/" }, "url: The host"],
      [{ type: "web-crawler", source: "ftp://a.example" }, "source: expected the address"],
      [
        { source: home, source_params: { prefix: "a" } },
        "source_params.prefix would have no effect",
      ],
      [{ source: home, token_id: "a" }, "token_id would have no effect"],
      [
        web({ parse_options: { include_images: true } }),
        `${at}.parse_options.include_images would have no effect`,
      ],
      [web({ discover_options: { limit: 5 } }), `${at}.discover_options would have no effect`],
      [
        web({ parse_type: "discover", discover_options: { include_external_links: true } }),
        `${at}.discover_options.include_external_links would have no effect`,
      ],
      [{ source: home, source_params: { include_items: ["docs"] } }, "matches no address"],
      [{ source: home, source_params: { include_items: ["/{a,b}"] } }, "Only * and ** stand"],
    ] as const)
      expect(await change(settings)).toEqual([
        message.includes("would have no effect") ? 501 : 400,
        expect.stringContaining(message),
      ]);
  });
});
