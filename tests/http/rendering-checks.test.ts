import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { getDocumentProxy } from "unpdf";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { withBrowser } from "./render-client.ts";
import { startTarget, type Target } from "./target.ts";

const token = "checks-test-token-0123456789";
const account = inject("accountId");

interface Envelope {
  readonly result: string | null;
  readonly errors: readonly { readonly code: number; readonly message: string }[];
  readonly meta?: {
    readonly partial?: string;
    readonly status?: number;
    readonly failedFiles?: readonly { readonly url: string }[];
  };
}

const words = "<p>Words that a reader reads. ".repeat(40);
const packed = gzipSync(words);

/** A page with a banner, a dialog, a shade, and what must stay. */
const covered = `<style>body { overflow: hidden }
  .bar { position: fixed; bottom: 0; width: 100%; height: 80px }
  .shade { position: fixed; inset: 0; background: #0008 }
  .box { position: fixed; top: 20%; left: 20%; width: 60%; height: 60% }
  .menu { position: fixed; top: 0; width: 100%; height: 40px }</style>
  <div class="menu">Menu</div><h1>Article about cookies</h1>${words}
  <div class="bar">We use cookies. <button>Accept</button></div>
  <div class="shade"></div><div class="box" role="dialog">Subscribe to our letter</div>`;

/** A page with files of an advertiser, a tracker, and of another host. */
const withAds = `<h1>x</h1><img src="http://ads.example/a.png"><script src="http://x.tracker.example/t.js"></script>
  <img src="http://pictures.example/b.png">`;

describe("checks of a page, and what it does without", () => {
  const site = createServer(({ url = "" }, response) => {
    const html = (text: string, status = 200): void =>
      void response.writeHead(status, { "content-type": "text/html" }).end(text);
    if (url === "/gone") html("<p>Gone", 410);
    else if (url === "/slow-gone") setTimeout(() => html("<p>Gone", 410), 300);
    else if (url === "/fine") html(`<h1>Fine</h1>${words}`);
    else if (url === "/throws") html("<h1>x</h1><script>notDefined()</script>");
    else if (url === "/writes") html("<h1>x</h1><script>console.error('it is', 'wrong')</script>");
    else if (url === "/warns") html("<h1>x</h1><script>console.warn('careful')</script>");
    else if (url === "/file") html('<h1>x</h1><img src="/gone">');
    else if (url === "/ads") html(withAds);
    else if (url === "/ads.txt") {
      listReads += 1;
      response.end("! A list\n||ads.example^$third-party\n0.0.0.0 tracker.example\n");
    } else if (url === "/covered") html(covered);
    else if (url === "/locked")
      html(`<style>body { position: fixed; width: 100% }</style>${covered}`);
    else if (url === "/packed-short") {
      response.writeHead(200, { "content-type": "text/html", "content-encoding": "gzip" });
      response.end(packed.subarray(0, packed.length - 12));
    } else html("<p>none", 404);
  });
  let siteAt = "";
  let listReads = 0;
  let folder = "";
  let target: Target;

  beforeAll(async () => {
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    const { port } = site.address() as AddressInfo;
    siteAt = `http://127.0.0.1:${port}`;
    folder = mkdtempSync(join(tmpdir(), "causey-checks-"));
    const config = join(folder, "causey.json");
    const rendering = { allowHosts: [`127.0.0.1:${port}`], adLists: [`${siteAt}/ads.txt`] };
    writeFileSync(config, JSON.stringify({ rendering }));
    target = await startTarget({
      args: ["--account-id", account, "--config", config],
      env: { CAUSEY_TOKEN: token },
    });
  });

  afterAll(async () => {
    await target?.stop();
    site.closeAllConnections();
    site.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const send = (name: string, body: object, to: Target = target): Promise<Response> =>
    fetch(`${to.url}/client/v4/accounts/${account}/browser-rendering/${name}?cacheTTL=0`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const ask = async (
    name: string,
    body: object,
    to: Target = target,
  ): Promise<Envelope & { status: number }> => {
    const answer = await send(name, body, to);
    return { status: answer.status, ...((await answer.json()) as Envelope) };
  };
  const at = (path: string): { url: string } => ({ url: `${siteAt}${path}` });
  const failed = (message: string): object => ({
    status: 422,
    errors: [{ code: 6004, message: expect.stringContaining(message) }],
  });

  it("a status that is not wanted, without a browser", async () => {
    const page = { ...at("/gone"), render: false };
    expect(await ask("markdown", page)).toMatchObject({ status: 200, meta: { status: 410 } });
    const message = "failOnHttpStatus: The site answered status 410";
    const all = { ...page, failOnHttpStatus: true };
    expect(await ask("markdown", all)).toMatchObject(failed(message));
    expect((await ask("markdown", { ...page, failOnHttpStatus: [404] })).status).toBe(200);
    expect((await ask("markdown", { ...page, failOnHttpStatus: [99] })).status).toBe(400);
    const console = await ask("markdown", { ...page, failOnConsoleError: true });
    expect([console.status, console.errors[0]?.message]).toEqual([
      400,
      expect.stringContaining("failOnConsoleError: Needs a browser"),
    ]);
  });

  withBrowser("a status, an error of a script, and a missing file, in a browser", async () => {
    const status = { ...at("/gone"), failOnHttpStatus: [410] };
    expect(await ask("content", status)).toMatchObject(failed("failOnHttpStatus"));
    for (const [path, said] of [
      ["/throws", "failOnConsoleError: ReferenceError: notDefined"],
      ["/writes", "failOnConsoleError: it is wrong"],
    ] as const) {
      expect((await ask("content", at(path))).status).toBe(200);
      const body = { ...at(path), failOnConsoleError: true };
      expect(await ask("content", body)).toMatchObject(failed(said));
    }
    expect((await ask("content", { ...at("/warns"), failOnConsoleError: true })).status).toBe(200);
    expect((await send("pdf", at("/file"))).status).toBe(200);
    const file = await ask("pdf", { ...at("/file"), failOnResource: true });
    expect(file).toMatchObject(failed(`failOnResource: A file is missing: image ${siteAt}/gone`));
    const fine = { failOnHttpStatus: true, failOnConsoleError: true, failOnResource: true };
    expect((await send("pdf", { ...at("/fine"), ...fine })).status).toBe(200);
  });

  withBrowser("what only a browser knows of html without a script", async () => {
    const banner = '<p>Text</p><div style="position:fixed;z-index:999">We use cookies</div>';
    for (const field of ["hideCookieBanners", "removeOverlays"]) {
      const full = field === "removeOverlays" ? banner.replace("fixed", "fixed;inset:0") : banner;
      expect(await ask("markdown", { html: full, [field]: true })).toMatchObject({
        result: "Text",
      });
    }
    const style = { addStyleTag: [{ content: "div { display: none }" }] };
    expect(await ask("markdown", { html: banner, ...style })).toMatchObject({ result: "Text" });
    const print = `<style>@media print { div { display: none } }</style>${banner}`;
    const media = await ask("markdown", { html: print, emulateMediaType: "print" });
    expect(media).toMatchObject({ result: "Text" });
    // The answers come after `DOMContentLoaded`, and after whatever event the body waits for.
    const files = ["<img src=X>", "<iframe src=X></iframe>", "<script async src=X></script>"];
    for (const file of files)
      for (const gotoOptions of [{}, { waitUntil: "domcontentloaded" }]) {
        const html = `<p>Text</p>${file.replace("X", `${siteAt}/slow-gone`)}`;
        const missing = await ask("markdown", { html, gotoOptions, failOnResource: true });
        expect(missing).toMatchObject(failed("failOnResource: A file is missing"));
      }
    // Whose document has not begun to load when the page is read.
    const frame = '<script></script><iframe src="https://example.test/x" title="Clip"></iframe>';
    for (let i = 0; i < 3; i++) {
      const { result } = await ask("markdown", { html: `<p>${i}</p>${frame}` });
      expect(result).toContain("[Clip](https://example.test/x)");
    }
  });

  withBrowser("what covers a page is hidden as the body says, and no more", async () => {
    const seen = async (body: object): Promise<string[]> => {
      const { result } = await ask("markdown", { ...at("/covered"), ...body });
      return ["Menu", "Article", "We use cookies", "Subscribe"].filter((one) =>
        result?.includes(one),
      );
    };
    expect(await seen({})).toEqual(["Menu", "Article", "We use cookies", "Subscribe"]);
    expect(await seen({ hideCookieBanners: true })).toEqual(["Menu", "Article", "Subscribe"]);
    expect(await seen({ removeOverlays: true })).toEqual(["Menu", "Article", "We use cookies"]);
    const both = { hideCookieBanners: true, removeOverlays: true };
    expect(await seen(both)).toEqual(["Menu", "Article"]);
    const locked = await ask("content", { ...at("/locked"), ...both });
    expect(locked.result).toMatch(/<body style="[^"]*position: static/u);
    expect(locked.result).not.toMatch(/<body style="[^"]*display: none/u);
    const read = await ask("content", {
      ...at("/covered"),
      ...both,
      actions: [{ type: "scroll", direction: "down" }],
    });
    expect([read.status, read.result]).toEqual([200, expect.stringContaining("overflow: visible")]);
  });

  withBrowser(
    "advertisers and trackers of a list are not asked, and the list is read once",
    async () => {
      const missing = async (body: object): Promise<string[]> => {
        const loaded = { gotoOptions: { waitUntil: "networkidle0" } };
        const { status, meta } = await ask("content", { ...at("/ads"), ...loaded, ...body });
        expect(status).toBe(200);
        return (meta?.failedFiles ?? []).map(({ url }) => new URL(url).hostname).toSorted();
      };
      const other = "pictures.example";
      expect(await missing({})).toEqual(["ads.example", other, "x.tracker.example"]);
      expect(listReads).toBe(0);
      expect(await missing({ blockAds: true })).toEqual([other]);
      expect(await missing({ blockAds: true })).toEqual([other]);
      expect(listReads).toBe(1);
      const own = { url: undefined, html: withAds, blockAds: true };
      expect(await missing(own)).toEqual([other]);
    },
  );

  withBrowser("a PDF may have one page, as long as it has to be", async () => {
    const pages = async (html: string, pdfOptions: object): Promise<number[][]> => {
      const answer = await send("pdf", { html, pdfOptions });
      expect(answer.status).toBe(200);
      const document = await getDocumentProxy(new Uint8Array(await answer.arrayBuffer()));
      const all = Array.from({ length: document.numPages }, (_, index) => index + 1);
      const views = await Promise.all(all.map((n) => document.getPage(n).then(({ view }) => view)));
      // In tens of points: Chromium rounds paper to pixels.
      return views.map((view) => view.slice(2).map((points) => Math.round(points / 10)));
    };
    const long = words.repeat(5);
    expect((await pages(long, {})).length).toBeGreaterThan(3);
    const [single, ...others] = await pages(long, { singlePage: true, margin: { top: 20 } });
    expect([others, single?.[0]]).toEqual([[], 61]);
    expect(single?.[1]).toBeGreaterThan(79 * 3);
    const [short, ...more] = await pages("<p>x", { singlePage: true, format: "a4" });
    expect([more, short?.[0], (short?.[1] ?? 0) < 10]).toEqual([[], 60, true]);
    const [across] = await pages(long, { singlePage: true, format: "a4", landscape: true });
    expect(across?.[0]).toBe(84);
    const printed = `<style>@media print { p { font-size: 30px } }</style>${long}`;
    expect(await pages(printed, { singlePage: true, scale: 0.5 })).toHaveLength(1);
    for (const pdfOptions of [
      { singlePage: true, pageRanges: "1" },
      { singlePage: true, height: 100 },
      { singlePage: true, preferCSSPageSize: true },
    ])
      expect((await send("pdf", { html: "<p>x", pdfOptions })).status).toBe(400);
    const growing = '<p style="height: 110vh">x';
    const grown = await ask("pdf", { html: growing, pdfOptions: { singlePage: true } });
    expect([grown.status, grown.errors[0]?.message]).toEqual([422, expect.stringContaining("vh")]);
    const endless = '<p style="height: 20000px">x';
    const tooLong = await ask("pdf", { html: endless, pdfOptions: { singlePage: true } });
    expect(tooLong).toMatchObject({ status: 422, errors: [{ code: 6003 }] });
  });

  withBrowser("without a list a page fails, or has all of its files at the best", async () => {
    const config = join(folder, "no-list.json");
    const rendering = { allowHosts: [new URL(siteAt).host], adLists: [`${siteAt}/gone`] };
    writeFileSync(config, JSON.stringify({ rendering }));
    const other = await startTarget({
      args: ["--account-id", account, "--config", config],
      env: { CAUSEY_TOKEN: token },
    });
    try {
      const why = `blockAds: The list ${siteAt}/gone cannot be read: Its site answers status 410`;
      const page = { ...at("/fine"), blockAds: true };
      const failure = await ask("content", page, other);
      expect(failure).toMatchObject({
        status: 503,
        errors: [{ message: expect.stringContaining(why) }],
      });
      expect(await ask("content", { ...page, bestAttempt: true }, other)).toMatchObject({
        status: 200,
        meta: { partial: expect.stringContaining(why) },
      });
    } finally {
      await other.stop();
    }
  });

  withBrowser(
    "the page's own @page wins with its margins, and with its size where it may",
    async () => {
      const html = "<style>@page { size: A5; margin: 3cm } body { margin: 0 }</style><p>x";
      const shown = async (pdfOptions: object): Promise<number[]> => {
        const answer = await send("pdf", { html, pdfOptions });
        const document = await getDocumentProxy(new Uint8Array(await answer.arrayBuffer()));
        const page = await document.getPage(1);
        const { items } = await page.getTextContent();
        const [item] = items.flatMap((one) => ("transform" in one ? [one.transform] : []));
        // In steps of 30 points: Chromium rounds paper to pixels.
        return [page.view[2], page.view[3], item?.[4]].map((points) => Math.round(points / 30));
      };
      const margin = { left: "1cm" };
      expect(await shown({ format: "a4", margin })).toEqual([20, 28, 6]);
      expect(await shown({ format: "a4", margin, preferCSSPageSize: true })).toEqual([14, 20, 3]);
      const [width, , left] = await shown({ format: "a4", margin, singlePage: true });
      expect([width, left]).toEqual([20, 1]);
    },
  );

  withBrowser("a wait that is given up is told", async () => {
    const body = {
      ...at("/fine"),
      bestAttempt: true,
      waitForSelector: { selector: "#never", timeout: 100 },
    };
    const told = 'Timeout of 100 ms exceeded: waitForSelector "#never"';
    expect(await ask("content", body)).toMatchObject({ status: 200, meta: { partial: told } });
    const header = (await send("pdf", body)).headers.get("x-partial");
    expect(header).toBe(`"${told.replaceAll('"', String.raw`\"`)}"`);
    const whole = await ask("content", { ...at("/fine"), bestAttempt: true });
    expect(whole.meta).not.toHaveProperty("partial");
  });

  it("a packed body that is cut short breaks off without a browser", async () => {
    const page = { ...at("/packed-short"), render: false };
    expect(await ask("content", page)).toMatchObject({ status: 422, errors: [{ code: 5006 }] });
    const best = await ask("content", { ...page, bestAttempt: true });
    expect([best.status, best.meta?.partial, best.result]).toEqual([
      200,
      expect.any(String),
      expect.stringContaining("Words that a reader reads"),
    ]);
  });
});
