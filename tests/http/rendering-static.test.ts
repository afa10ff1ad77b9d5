import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { withBrowser } from "./render-client.ts";
import { startTarget, type Target } from "./target.ts";

const token = inject("token");
const account = inject("accountId");

interface Answer {
  readonly status: number;
  readonly browserMs: string | null;
  readonly result: unknown;
  readonly errors: { code: number; message: string }[];
  readonly meta?: Record<string, unknown>;
}

const listening = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

describe("rendering a url without a browser", () => {
  const victimHits: string[] = [];
  const victim = createServer(({ url }, response) => {
    victimHits.push(url ?? "");
    response.end("secret");
  });
  let victimAt = "";
  const html = { "content-type": "text/html" };
  const text = `<p>${"The bridge was built in the winter, by hand, and stands. ".repeat(5)}</p>`;
  const facts =
    '<html lang="en"><meta property="article:published_time" content="2026-03-01">' +
    '<script type="application/ld+json">{"@type":"Article","author":{"name":"Ada Byron"}}</script>';
  const article = `${facts}<nav><a href="/e">Elsewhere</a></nav><article>${text.repeat(5)}</article>`;
  const site = createServer(({ url = "", headers }, response) => {
    if (url === "/leave") response.writeHead(302, { location: `${victimAt}/` }).end();
    else if (url === "/cut") {
      response.writeHead(200, html).write("<p>what came");
      setTimeout(() => response.destroy(), 50);
    } else if (url === "/moved") response.writeHead(301, { location: "/page" }).end();
    else if (url === "/echo") response.writeHead(200, html).end(`<p>${String(headers["x-key"])}`);
    else if (url === "/sjis")
      response
        .writeHead(200, { "content-type": "text/html; charset=shift_jis" })
        .end(Buffer.from([0x93, 0xfa, 0x96, 0x7b]));
    else if (url === "/packed")
      response.writeHead(200, { ...html, "content-encoding": "gzip" }).end(gzipSync("<p>packed"));
    else if (url === "/article") response.writeHead(200, html).end(article);
    else if (url === "/pdf")
      response.writeHead(200, { "content-type": "application/pdf" }).end("%PDF-");
    else response.writeHead(200, html).end('<title>T</title><h1>Hi</h1><a href="next">n</a>');
  });
  let siteAt = "";
  let folder = "";
  let target: Target;

  beforeAll(async () => {
    victimAt = await listening(victim);
    siteAt = await listening(site);
    folder = mkdtempSync(join(tmpdir(), "causey-static-"));
    const config = join(folder, "causey.json");
    writeFileSync(config, JSON.stringify({ rendering: { allowHosts: [new URL(siteAt).host] } }));
    target = await startTarget({
      args: ["--account-id", account, "--config", config],
      env: { CAUSEY_TOKEN: token },
    });
  });

  afterAll(async () => {
    await target?.stop();
    for (const server of [victim, site]) {
      server.closeAllConnections();
      server.close();
    }
    rmSync(folder, { recursive: true, force: true });
  });

  const ask = async (name: string, body: object): Promise<Answer> => {
    const path = `client/v4/accounts/${account}/browser-rendering/${name}?cacheTTL=0`;
    const response = await fetch(`${target.url}/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ render: false, ...body }),
    });
    const answer: Omit<Answer, "status" | "browserMs"> = await response.json();
    const browserMs = response.headers.get("x-browser-ms-used");
    return { ...answer, status: response.status, browserMs };
  };

  it("answers markdown, content and links", async () => {
    expect(await ask("markdown", { url: `${siteAt}/moved` })).toMatchObject({
      status: 200,
      browserMs: "0",
      result: `---\ntitle: "T"\n---\n\n# Hi\n\n[n](${siteAt}/next)`,
      meta: {
        status: 200,
        title: "T",
        finalUrl: `${siteAt}/page`,
        redirectChain: [{ url: `${siteAt}/moved`, status: 301 }],
      },
    });
    expect((await ask("links", { url: `${siteAt}/page` })).result).toEqual([`${siteAt}/next`]);
    expect((await ask("content", { url: `${siteAt}/page` })).result).toContain("<h1>Hi</h1>");
  });

  it("scrapes by selectors", async () => {
    const elements = [{ selector: "h1" }];
    expect(await ask("scrape", { url: `${siteAt}/page`, elements })).toMatchObject({
      status: 200,
      browserMs: "0",
      result: [{ selector: "h1", results: [{ text: "Hi", html: "Hi", attributes: [] }] }],
    });
  });

  it("reads other charsets and packed bodies, and sends the caller's headers", async () => {
    expect((await ask("markdown", { url: `${siteAt}/sjis` })).result).toBe("日本");
    expect((await ask("markdown", { url: `${siteAt}/packed` })).result).toBe("packed");
    const setExtraHTTPHeaders = { "X-Key": "k" };
    expect((await ask("markdown", { url: `${siteAt}/echo`, setExtraHTTPHeaders })).result).toBe(
      "k",
    );
  });

  it("says that a body broke off, and takes what came at the best", async () => {
    const url = `${siteAt}/cut`;
    expect(await ask("markdown", { url })).toMatchObject({ status: 422, errors: [{ code: 5006 }] });
    const best = await ask("markdown", { url, bestAttempt: true });
    expect(best).toMatchObject({ status: 200, result: "what came", meta: { status: 200 } });
  });

  it("reaches no address that pages may not reach", async () => {
    for (const url of [`${siteAt}/leave`, `${victimAt}/`, target.url, "http://169.254.169.254/"])
      expect(await ask("content", { url })).toMatchObject({
        status: 400,
        errors: [{ code: 5010 }],
      });
    expect(victimHits).toEqual([]);
  });

  const said = { author: "Ada Byron", publishedTime: "2026-03-01", language: "en" };

  it("keeps the main content only, on every runtime", async () => {
    const answer = await ask("markdown", { url: `${siteAt}/article`, extract: "main" });
    expect(answer.result).toContain("The bridge");
    expect(answer.result).not.toContain("Elsewhere");
    expect(answer.meta).toMatchObject(said);
    const whole = await ask("markdown", { url: `${siteAt}/article` });
    expect(whole.meta).not.toHaveProperty("author");
  });

  withBrowser("says what the page says about its main content, in a browser, too", async () => {
    for (const name of ["markdown", "content"]) {
      const body = { url: `${siteAt}/article`, extract: "main", render: true };
      expect((await ask(name, body)).meta).toMatchObject({ ...said, status: 200 });
    }
  });

  it("says what it does not make of PDFs, and what does", async () => {
    const answer = await ask("pdf/convert", {});
    expect([answer.status, answer.errors[0]?.message]).toEqual([
      501,
      expect.stringContaining("Ghostscript"),
    ]);
  });

  it("says what is no page", async () => {
    const answer = await ask("markdown", { url: `${siteAt}/pdf` });
    expect(answer).toMatchObject({ status: 422, errors: [{ code: 5002 }] });
    expect(answer.errors[0]?.message).toContain("The URL is a PDF");
  });
});
