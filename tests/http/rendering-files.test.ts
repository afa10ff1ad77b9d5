import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject } from "vitest";
import { type Answer, post, withBrowser } from "./render-client.ts";
import { startTarget, type Target } from "./target.ts";

const token = inject("token");
const account = inject("accountId");

/** A red square. */
const picture =
  '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40" fill="red"/></svg>';

/** Documents by the kind of file that they name: each names one, so nothing else has met the proxy before. */
const kinds: Readonly<Record<string, (url: string) => string>> = {
  img: (url) => `<h1>Invoice</h1><img src="${url}">`,
  "svg image": (url) =>
    `<svg width="40" height="40"><image href="${url}" width="40" height="40"/></svg>`,
  poster: (url) => `<video width="40" height="40" poster="${url}"></video>`,
  picture: (url) => `<picture><source srcset="${url}"><img></picture>`,
  "lazy img": (url) => `<img loading="lazy" src="${url}">`,
  "background in style": (url) =>
    `<p style="width: 40px; height: 40px; background: url(${url}); print-color-adjust: exact">`,
  "background in a sheet": (url) =>
    `<style>h1 { background: url(${url}); print-color-adjust: exact }</style><h1>a</h1>`,
  "list marker": (url) => `<ul style="list-style-image: url(${url})"><li>a</ul>`,
  "style sheet": (url) => `<link rel="stylesheet" href="${url}.css"><h1>a</h1>`,
  import: (url) => `<style>@import url(${url}.css);</style><h1>a</h1>`,
  font: (url) =>
    `<style>@font-face { font-family: x; src: url(${url}) } h1 { font-family: x }</style><h1>a</h1>`,
  "frame's img": (url) => `<iframe srcdoc='<img src="${url}">'></iframe>`,
};

/** Those that show the page wait for its files by themselves. */
const showing = ["pdf", "screenshot", "snapshot"];
const load = { gotoOptions: { waitUntil: "load" }, waitForFunction: { expression: "true" } };
const others: Readonly<Record<string, object>> = {
  content: load,
  markdown: load,
  scrape: { ...load, elements: [{ selector: "h1" }] },
  links: load,
  accessibilityTree: load,
  json: {
    ...load,
    prompt: "name",
    response_format: { type: "json_schema", json_schema: { required: ["name"] } },
  },
};

describe("files of a page", () => {
  const seen: string[] = [];
  const servers: Server[] = [];
  let target: Target;
  let folder: string;
  let own = "";
  let other = "";
  let closed = "";

  const site = async (): Promise<number> => {
    const server = createServer(({ url = "" }, response) => {
      seen.push(url);
      const type = (name: string, status = 200) =>
        response.writeHead(status, { "content-type": name, "access-control-allow-origin": "*" });
      if (url.startsWith("/never")) return;
      if (url.startsWith("/missing")) return void type("text/plain", 404).end("not here");
      if (url.startsWith("/login")) return void type("text/html").end("<p>Log in");
      if (url.startsWith("/page"))
        return void type("text/html").end(`<h1>Page</h1><img src="${other}/of-page">`);
      if (url.endsWith(".css")) return void type("text/css").end("h1 { color: red }");
      // Later than the end of the markup.
      setTimeout(() => type("image/svg+xml").end(picture), 100);
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, resolve));
    return (server.address() as AddressInfo).port;
  };

  beforeAll(async () => {
    // Two sites: a site is a host, whatever its ports are.
    own = `http://127.0.0.1:${await site()}`;
    other = `http://localhost:${await site()}`;
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
    closed = `http://127.0.0.1:${(gone.address() as AddressInfo).port}`;
    await new Promise((resolve) => gone.close(resolve));
    folder = mkdtempSync(join(tmpdir(), "causey-files-"));
    const config = join(folder, "causey.json");
    const chatModel = { baseUrl: `${inject("upstreamUrl")}/v1`, model: "finds-data" };
    const allowHosts = [own, other, closed].map((origin) => new URL(origin).host);
    writeFileSync(config, JSON.stringify({ rendering: { allowHosts, chatModel } }));
    target = await startTarget({
      args: ["--account-id", account, "--config", config],
      env: { CAUSEY_TOKEN: token },
    });
  });

  afterAll(async () => {
    await target?.stop();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    rmSync(folder, { recursive: true, force: true });
  });

  const there = (name: string, body: unknown): Promise<Answer> =>
    post(`browser-rendering/${name}`, body, {}, target.url);

  const failedIn = ({ body, headers }: Answer): unknown =>
    body.meta?.failedFiles ?? headers.get("x-failed-files");

  const each = [
    ...showing.map((action) => [action, {}, Object.keys(kinds)] as const),
    ...Object.entries(others).map(([action, fields]) => [action, fields, ["img"]] as const),
  ];

  for (const [action, fields, named] of each)
    withBrowser(`are loaded for ${action}, whichever site they are of`, async () => {
      let n = 0;
      let asked = 0;
      for (const kind of named)
        for (const place of [{}, { url: `${own}/page` }]) {
          const path = `/${action}-${(n += 1)}`;
          const html = kinds[kind]?.(other + path) ?? "";
          const answer = await there(action, { html, ...place, ...fields });
          const what = `${kind} in ${JSON.stringify(place)}`;
          const reason = JSON.stringify(answer.body.errors ?? []);
          expect([answer.status, failedIn(answer)], `${what}: ${reason}`).toEqual([200, null]);
          const times = seen.filter((url) => url.startsWith(path)).length;
          expect(times, what).toBeGreaterThan(0);
          asked += times;
          seen.length = 0;
        }
      // Once each, but for a page that Chromium killed as it began: it is loaded once more.
      expect(asked).toBeLessThanOrEqual(n + 2);
      const loaded = await there(action, { url: `${own}/page`, ...fields });
      expect([loaded.status, failedIn(loaded)]).toEqual([200, null]);
      expect([...new Set(seen)]).toEqual(["/page", "/of-page"]);
    });

  withBrowser("are in the picture and in the print, although the load waits for none", async () => {
    for (const origin of [own, other]) {
      const html = (path: string): string => `<img src="${origin}${path}" width=40 height=40>`;
      const shown = await there("screenshot", { html: html("/logo") });
      const missing = await there("screenshot", { html: html("/missing") });
      const inline = `<img src='data:image/svg+xml,${picture.replaceAll("#", "%23")}' width=40 height=40>`;
      const alone = await there("screenshot", { html: inline });
      expect(Buffer.from(shown.bytes).equals(Buffer.from(alone.bytes))).toBe(true);
      expect(Buffer.from(shown.bytes).equals(Buffer.from(missing.bytes))).toBe(false);
      const printed = await there("pdf", { html: html("/logo") });
      const blank = await there("pdf", { html: "<img width=40 height=40 alt=''>" });
      expect(printed.bytes.length).toBeGreaterThan(blank.bytes.length + 50);
    }
  });

  /** Files that fail, and how that is told. */
  const failures: readonly (readonly [name: string, url: () => string, reason: string])[] = [
    ["answered with an error", () => `${other}/missing`, "status"],
    ["of a site that does not answer", () => `${closed}/x`, "unreachable"],
    ["at an address that is not allowed", () => "http://127.0.0.1:1/x", "forbidden"],
    ["that is no picture", () => `${own}/login`, "unreadable"],
    ["that has not come", () => `${other}/never`, "late"],
  ];

  for (const [name, url, reason] of failures)
    withBrowser(`are named when they fail: a picture ${name}`, async () => {
      const html = `<h1>Invoice</h1><img src="${url()}">`;
      const told = { url: url(), type: "image", reason, detail: expect.any(String) };
      const base = { url: `${own}/page` };
      // A picture that does not come is waited for no longer than half of this.
      const snapshot = await there("snapshot", { html, ...base, actionTimeout: 4000 });
      expect([snapshot.status, failedIn(snapshot)]).toEqual([200, [told]]);
      for (const action of ["pdf", "screenshot"]) {
        const answer = await there(action, { html, ...base, actionTimeout: 4000 });
        expect([answer.status, failedIn(answer)]).toEqual([
          200,
          expect.stringContaining(`"${url()}";type=image;reason=${reason};detail="`),
        ]);
      }
      if (reason === "late" || reason === "unreadable") return;
      const idle = { gotoOptions: { waitUntil: "networkidle0" } };
      for (const action of ["content", "links", "accessibilityTree"])
        expect(failedIn(await there(action, { html, ...idle }))).toEqual([told]);
    });

  withBrowser("that the caller refuses are not missing", async () => {
    const html = `<img src="${other}/missing"><link rel=stylesheet href="${other}/a.css">`;
    const answer = await there("snapshot", { html, rejectResourceTypes: ["image", "stylesheet"] });
    expect([answer.status, failedIn(answer)]).toEqual([200, null]);
  });

  withBrowser(
    "of any number are named ten at most and counted, without those that are inline",
    async () => {
      const html = Array.from({ length: 30 }, (_, n) => `<img src="${other}/missing-${n}">`).join(
        "",
      );
      const answer = await there("snapshot", { html: `<img src="data:image/png,x">${html}` });
      expect(failedIn(answer)).toHaveLength(10);
      expect(answer.body.meta?.failedFilesTotal).toBe(30);
      const { headers } = await there("pdf", { html });
      expect(headers.get("x-failed-files-total")).toBe("30");
    },
  );

  withBrowser("names what a header or footer asks for, which Chromium does not load", async () => {
    const print = (template: string) =>
      post("browser-rendering/pdf", {
        html: "<p>Invoice",
        pdfOptions: {
          displayHeaderFooter: true,
          footerTemplate: template,
          margin: { bottom: "3cm" },
        },
      });
    for (const template of [
      `<img src="https://example.com/1.png">`,
      `<p style='background: url("https://example.com/2.png")'>a`,
      `<style>p { background: url(https://example.com/3.png) }</style><p>a`,
      `<svg><image href="https://example.com/4.png"/></svg>`,
    ]) {
      const answer = await print(template);
      const url = /https:.*png/u.exec(template)?.[0] ?? "";
      // Pages are kept: the one before has left nothing.
      expect([answer.status, answer.headers.get("x-failed-files")]).toEqual([
        200,
        expect.stringMatching(`^"${url}";type=image;reason=refused;detail="[^"]*"$`),
      ]);
    }
    for (const template of [
      `<link rel="stylesheet" href="https://example.com/a.css">a`,
      `<link rel="prefetch" href="https://example.com/a.css">a`,
      `<link rel="preload" as="font" href="https://example.com/a.css">a`,
      `<style>@import url(https://example.com/a.css);</style>a`,
      `<style>@\\69mport "https://example.com/a.css";</style>a`,
      `<style>@font-face { font-family: x; src: url(https://example.com/a.css) }</style><p>a`,
    ]) {
      const { status, body } = await print(template);
      expect([template, status, body.errors[0]?.message]).toEqual([
        template,
        400,
        expect.stringContaining(
          'pdfOptions.footerTemplate: "https://example.com/a.css" cannot be loaded',
        ),
      ]);
    }
    const pixel = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
    const inline = `<style>@import url(data:text/css,p{color:red});</style><img src="${pixel}"><p>@import of "goods", url(x)</p>`;
    const answer = await print(inline);
    expect([answer.status, answer.headers.get("x-failed-files")]).toEqual([200, null]);
  });
});
