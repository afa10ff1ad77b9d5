import { createSocket } from "node:dgram";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject } from "vitest";
import { hostilePage, hostileServiceWorker } from "../fakes/rendering-hostile-page.ts";
import { type Answer, post, withBrowser } from "./render-client.ts";
import { startTarget, type Target } from "./target.ts";

const token = inject("token");
const account = inject("accountId");

describe("the network of a page", () => {
  const hits: string[] = [];
  let victim: Server;
  let site: Server;
  let target: Target;
  let folder: string;
  const udp = createSocket("udp4");
  const originOf = (server: Server): string =>
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  beforeAll(async () => {
    victim = createServer((request, response) =>
      response.end(String(hits.push(request.url ?? ""))),
    );
    victim.on("connection", () => hits.push("connection"));
    await new Promise<void>((resolve) => victim.listen(0, "127.0.0.1", resolve));
    udp.on("message", () => hits.push("udp"));
    await new Promise<void>((resolve) =>
      udp.bind(Number(new URL(originOf(victim)).port), "127.0.0.1", resolve),
    );
    let loads = 0;
    site = createServer((request, response) => {
      const html = { "content-type": "text/html" };
      const pages: Record<string, () => unknown> = {
        "/redirect": () => response.writeHead(302, { location: originOf(victim) }).end(),
        "/there": () => response.writeHead(302, { location: "/echo" }).end(),
        "/silent": () => undefined,
        "/headers": () => response.writeHead(200, html).flushHeaders(),
        "/drip": () => response.writeHead(200, html).write("<p>a page that drips"),
        "/broken": () => {
          response
            .writeHead(200, { ...html, "content-length": "10000" })
            .write("<p>as far as here");
          setTimeout(() => response.destroy(), 200);
        },
        "/brokenChunk": () => {
          response.writeHead(200, html).write("<p>as far as here");
          setTimeout(() => response.destroy(), 200);
        },
        "/file": () =>
          response
            .writeHead(200, { "content-disposition": "attachment; filename=a.bin" })
            .end("data"),
        "/echo": () => response.writeHead(200, html).end(`<p>${JSON.stringify(request.headers)}`),
        "/count": () => response.writeHead(200, html).end(`<p>load ${(loads += 1)}`),
        "/empty": () => response.writeHead(500).end(),
        "/none": () => response.writeHead(204).end(),
        "/refresh": () =>
          response
            .writeHead(200, html)
            .end('<meta http-equiv=refresh content="0; url=/count">Wait'),
        "/feed": () =>
          response
            .writeHead(200, { "content-type": "text/xml" })
            .end("<feed><title>News &amp; more</title></feed>"),
        "/missingBrowser": () =>
          response.writeHead(404, html).end("<title>Not here</title><p>nope"),
        "/sw.js": () =>
          response
            .writeHead(200, { "content-type": "text/javascript" })
            .end(hostileServiceWorker(originOf(victim))),
      };
      const page = pages[request.url ?? ""];
      if (page === undefined) response.writeHead(200, html).end(hostilePage(originOf(victim)));
      else page();
    });
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    folder = mkdtempSync(join(tmpdir(), "causey-rendering-"));
    const config = join(folder, "causey.json");
    writeFileSync(
      config,
      JSON.stringify({ rendering: { allowHosts: [new URL(originOf(site)).host] } }),
    );
    target = await startTarget({
      args: ["--account-id", account, "--config", config],
      env: { CAUSEY_TOKEN: token },
    });
  });

  afterAll(async () => {
    await target?.stop();
    for (const server of [victim, site]) {
      server?.closeAllConnections();
      server?.close();
    }
    udp.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const there = (name: string, body: unknown): Promise<Answer> =>
    post(`browser-rendering/${name}`, body, {}, target.url);

  withBrowser("never reaches a private address, in any of the ways that a page has", async () => {
    const { port } = new URL(originOf(victim));
    const spellings = ["127.0.0.1", "localhost", "[::ffff:7f00:1]", "0x7f.1"].map(
      (host) => `http://${host}:${port}`,
    );
    for (const origin of spellings) {
      await there("content", { html: hostilePage(origin), waitForTimeout: 700 });
    }
    await there("content", { url: originOf(site), waitForTimeout: 1000 });
    await there("pdf", {
      html: "<p>x",
      pdfOptions: {
        displayHeaderFooter: true,
        headerTemplate: `<img src="${originOf(victim)}/header">`,
      },
    });
    const redirected = await there("content", { url: `${originOf(site)}/redirect` });
    expect([redirected.status, redirected.body.errors[0]?.code]).toEqual([400, 5010]);
    expect(hits).toEqual([]);
  });

  withBrowser("never reaches the server that renders it", async () => {
    const own = new URL(target.url).origin;
    const before = await there("content", { url: own });
    expect([before.status, before.body.errors[0]?.code]).toEqual([400, 5010]);
    const html = `<script>fetch("${own}/healthz", { mode: "no-cors" }).then(() => document.body.append("reached"), () => document.body.append("refused"))</script>`;
    const answer = await there("content", {
      html: `<body>${html}`,
      gotoOptions: { waitUntil: "networkidle0", timeout: 60_000 },
    });
    expect(answer.body.result).toMatch(/(?:refused|reached)<\/body>/u);
    expect(answer.body.result).not.toContain("reached</body>");
  });

  withBrowser("shows no file in a frame", async () => {
    const html = `<iframe src="file:///etc/passwd"></iframe><object data="file:///etc/passwd"></object><script>
      fetch("file:///etc/passwd").then((r) => r.text()).then((t) => document.body.append(t), () => document.body.append("refused"))</script>`;
    const answer = await there("content", {
      html: `<body>${html}`,
      gotoOptions: { waitUntil: "networkidle0", timeout: 60_000 },
    });
    expect(answer.body.result).not.toContain("root:");
  });

  withBrowser("gives the source of XML, and says that an address has no page", async () => {
    const own = originOf(site);
    for (const render of [true, false]) {
      const url = `${own}/feed`;
      const feed = (await there("markdown", { url, render })).body.result;
      expect(feed).toBe("```\n<feed><title>News &amp; more</title></feed>\n```");
      const html = (await there("content", { url, render })).body.result;
      expect(html).toContain("<pre>\n&lt;feed");
      const { status, body } = await there("markdown", { url: `${own}/none`, render });
      expect([status, body.errors[0]]).toEqual([
        422,
        { code: 5002, message: "The URL is an HTTP 204, which has no page" },
      ]);
    }
  });

  withBrowser("follows a page that leads elsewhere at once", async () => {
    const url = `${originOf(site)}/refresh`;
    const { body } = await there("markdown", { url, render: "auto" });
    expect(body.result).toMatch(/^load \d+$/u);
    expect(body.meta).toMatchObject({ render: "browser", finalUrl: `${originOf(site)}/count` });
  });

  withBrowser("loads an allowed site with headers, cookies and user agent", async () => {
    const answer = await there("content", {
      url: `${originOf(site)}/echo`,
      userAgent: "causey-test/1",
      setExtraHTTPHeaders: { "X-Secret": "s3cret" },
      cookies: [{ name: "a", value: "b" }],
    });
    expect(answer.body.meta).toMatchObject({ status: 200 });
    expect(answer.body.result).toContain('"x-secret":"s3cret"');
    expect(answer.body.result).toContain('"cookie":"a=b"');
    expect(answer.body.result).toContain('"user-agent":"causey-test/1"');
  });

  withBrowser("loads a site once for equal requests, and anew for any other", async () => {
    const url = `${originOf(site)}/count`;
    const first = await there("content?cacheTTL=600", { url });
    const again = await there("content?cacheTTL=600", { url });
    expect(again.body).toEqual(first.body);
    expect(Number(first.headers.get("x-browser-ms-used"))).toBeGreaterThan(0);
    expect(again.headers.get("x-browser-ms-used")).toBe("0");
    const others = [
      await there("markdown?cacheTTL=600", { url }),
      await there("content?cacheTTL=600", { url, cookies: [{ name: "a", value: "b" }] }),
      await there("content?cacheTTL=600", { url, setExtraHTTPHeaders: { "x-a": "b" } }),
      await there("content?cacheTTL=0", { url }),
    ].map(({ body }) => /load \d+/u.exec(String(body.result))?.[0]);
    const all = [/load \d+/u.exec(String(first.body.result))?.[0], ...others];
    expect(new Set(all).size).toBe(5);
    expect(all).not.toContain(undefined);
  });

  withBrowser("tells the final address, its headers and the redirects", async () => {
    const { body } = await there("content", { url: `${originOf(site)}/there` });
    expect(body.meta).toMatchObject({
      status: 200,
      finalUrl: `${originOf(site)}/echo`,
      headers: { "content-type": "text/html" },
      redirectChain: [{ url: `${originOf(site)}/there`, status: 302 }],
    });
  });

  const ways: readonly (readonly [string, (to: string) => string])[] = [
    ["a script", (to) => `<script>location = "${to}"</script>`],
    ["a refresh", (to) => `<meta http-equiv="refresh" content="0;url=${to}">`],
    ["a download", (to) => `<a id=a download href="${to}">a</a><script>a.click()</script>`],
    ["a form", (to) => `<form id=f method=post action="${to}"></form><script>f.submit()</script>`],
    ["a script after the load", (to) => `<script>onload = () => (location = "${to}")</script>`],
    ["a script without end", (to) => `<script>setInterval(() => (location = "${to}"), 5)</script>`],
  ];
  /** Renders until the page has tried to leave: a busy browser takes its time. */
  const afterLeaving = async (input: object): ReturnType<typeof there> => {
    for (const waitForTimeout of [300, 3000]) {
      const answer = await there("content", { ...input, waitForTimeout });
      if ((answer.body.meta?.refusedNavigations ?? []).length > 0) return answer;
    }
    return await there("content", { ...input, waitForTimeout: 15_000 });
  };

  for (const [way, markup] of ways)
    withBrowser(`keeps a page that wants to leave for a refused address by ${way}`, async () => {
      const wait = { gotoOptions: { waitUntil: "load" } };
      const own = originOf(site);
      const goals: readonly (readonly [string, string])[] = [
        [`${originOf(victim)}/x`, "forbidden"],
        [`${own}/redirect`, "forbidden"],
        [`${own}/rejected`, "blocked"],
      ];
      for (const [to, reason] of goals)
        for (const place of [{}, { url: `${own}/page` }]) {
          const html = `<p>before</p>${markup(to)}<p>after</p>`;
          const rejectRequestPattern = ["rejected"];
          const answer = await afterLeaving({ html, ...place, ...wait, rejectRequestPattern });
          expect([answer.status, answer.body.result], to).toEqual([
            200,
            expect.stringMatching(/before.*after/su),
          ]);
          const told = answer.body.meta?.refusedNavigations ?? [];
          expect(told).toContainEqual({ url: expect.stringContaining("http"), reason });
        }
      expect(hits).toEqual([]);
    });

  withBrowser("keeps a page that leaves for a file", async () => {
    const html = `<p>before</p><script>location = "${originOf(site)}/file"</script><p>after</p>`;
    const answer = await afterLeaving({ html });
    expect([answer.status, answer.body.result]).toEqual([
      200,
      expect.stringMatching(/before.*after/su),
    ]);
    expect(answer.body.meta?.refusedNavigations).toEqual([
      { url: `${originOf(site)}/file`, reason: "download" },
    ]);
  });

  withBrowser("fails when nothing was loaded, with bestAttempt too", async () => {
    const hasty = { gotoOptions: { timeout: 1000 }, bestAttempt: true };
    for (const [path, extra] of [
      ["/silent", {}],
      ["/silent", { addStyleTag: [{ content: "p {}" }] }],
      ["/headers", {}],
    ] as const) {
      const answer = await there("content", { url: originOf(site) + path, ...hasty, ...extra });
      expect([answer.status, answer.body.errors[0]?.code], path).toEqual([422, 6002]);
    }
    const drip = await there("content", { url: `${originOf(site)}/drip`, ...hasty });
    expect([drip.status, drip.body.result]).toEqual([200, expect.stringContaining("drips")]);
  });

  withBrowser("fails at once when a page breaks off, or shows what came of it", async () => {
    for (const path of ["/broken", "/brokenChunk"]) {
      const url = `${originOf(site)}${path}`;
      for (const render of [true, false]) {
        const answer = await there("content", { url, render, gotoOptions: { timeout: 60_000 } });
        expect([path, render, answer.status, answer.body.errors[0]?.code]).toEqual([
          path,
          render,
          422,
          5006,
        ]);
      }
      for (const extra of [{}, { gotoOptions: { waitUntil: "networkidle0" } }]) {
        const best = await there("content", { url, bestAttempt: true, ...extra });
        expect([path, best.status, best.body.result]).toEqual([
          path,
          200,
          expect.stringContaining("as far as here"),
        ]);
      }
    }
  });

  withBrowser("tells an error page from an empty error", async () => {
    const missingPage = await there("content", { url: `${originOf(site)}/missingBrowser` });
    expect(missingPage.status).toBe(200);
    expect(missingPage.body.meta).toMatchObject({ status: 404, title: "Not here" });
    const empty = await there("content", { url: `${originOf(site)}/empty` });
    expect([empty.status, empty.body.errors[0]?.code]).toEqual([422, 5007]);
  });
});
