import { createSocket } from "node:dgram";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { itUnless } from "../config/it-unless.ts";
import { hostilePage, hostileServiceWorker } from "../fakes/rendering-hostile-page.ts";
import { lendBrowser } from "../platform/shared-browser.ts";
import { startTarget, targetName, type Target } from "./target.ts";

const base = inject("baseUrl");
const token = inject("token");
const account = inject("accountId");

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly body: {
    result: unknown;
    success: boolean;
    errors: { code: number; message: string }[];
    meta?: {
      status?: number;
      title?: string;
      finalUrl?: string;
      headers?: Record<string, string>;
      redirectChain?: { url: string; status: number }[];
      refusedNavigations?: { url: string; reason: string }[];
    };
  };
}

async function post(
  path: string,
  body: unknown,
  init: RequestInit = {},
  server: string = base,
): Promise<Answer> {
  const response = await fetch(`${server}/client/v4/accounts/${account}/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const isJson = response.headers.get("content-type")?.includes("application/json") === true;
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    body: isJson ? JSON.parse(new TextDecoder().decode(bytes)) : {},
  };
}

const render = (name: string, body: unknown, init?: RequestInit): Promise<Answer> =>
  post(`browser-rendering/${name}`, body, init);

// A runtime without a browser says so itself; everything that needs none is tested there too.
const probe = await render("content", { html: "<p>probe</p>" });
const missing = probe.status === 503 ? probe.body.errors[0]?.message : undefined;
const withBrowser = itUnless(missing);

describe("requests that need no browser", () => {
  it.each(["browser-rendering", "browser-run"])("/%s/markdown converts html", async (prefix) => {
    const answer = await post(`${prefix}/markdown`, { html: "<div>Hello World</div>" });
    expect(answer.body).toMatchObject({
      success: true,
      result: "Hello World",
      errors: [],
      messages: [],
    });
    expect(answer.headers.get("x-browser-ms-used")).toBe("0");
    expect(answer.headers.get("content-type")).toContain("application/json");
  });

  it("/markdown converts html with scripts when they are off", async () => {
    const answer = await render("markdown", {
      html: "<title>T</title><p>a<script>x</script>",
      setJavaScriptEnabled: false,
    });
    expect(answer.body).toMatchObject({
      result: '---\ntitle: "T"\n---\n\na',
      meta: { title: "T" },
    });
  });

  it.each([
    ["no source", {}],
    ["an empty url", { url: "" }],
    ["an empty html", { html: "" }],
    ["a timer above its cap", { html: "x", gotoOptions: { timeout: 60_001 } }],
    ["an unknown wait", { html: "x", gotoOptions: { waitUntil: "soon" } }],
    ["an unknown resource type", { html: "x", rejectResourceTypes: ["pictures"] }],
    ["a pattern with lookaround", { html: "x", rejectRequestPattern: ["(?=a)"] }],
    [
      "too many patterns",
      { html: "x", rejectRequestPattern: Array.from({ length: 101 }, () => "a") },
    ],
    ["an unknown action", { html: "x", actions: [{ type: "jump" }] }],
    ["an unknown key", { html: "x", actions: [{ type: "press", key: "F13" }] }],
    ["a wait for nothing", { html: "x", actions: [{ type: "wait" }] }],
    [
      "too many actions",
      { html: "x", actions: Array.from({ length: 21 }, () => ({ type: "press", key: "Tab" })) },
    ],
    [
      "an action's timer above its cap",
      { html: "x", actions: [{ type: "click", selector: "a", timeout: 60_001 }] },
    ],
    ["an empty expression", { html: "x", waitForFunction: { expression: "" } }],
    ["a broken header", { html: "x", setExtraHTTPHeaders: { "x-a": "b\r\nc: d" } }],
    ["a scale out of range", { html: "x", pdfOptions: { scale: 3 } }],
    ["an unknown format", { html: "x", pdfOptions: { format: "a7" } }],
    ["not an object", [1]],
    ["not JSON", "{"],
  ])("answers 400 for %s, in the envelope", async (_name, body) => {
    const answer = await render("pdf", body, undefined);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      success: false,
      result: null,
      messages: [],
      errors: [{ code: 400 }],
    });
    expect(answer.headers.get("x-browser-ms-used")).toBe("0");
  });

  it.each([
    "file:///etc/passwd",
    "chrome://version",
    "view-source:http://example.com/",
    "data:text/html,x",
    "http://localhost/",
    "http://0x7f.1/",
    "http://2130706433/",
    "http://[::ffff:7f00:1]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://user@example.com/",
    "nonsense",
  ])("answers 400 with 5010 for %s", async (url) => {
    for (const body of [{ url }, { url, html: "<p>x" }]) {
      const answer = await render("pdf", body);
      expect([answer.status, answer.body.errors[0]?.code]).toEqual([400, 5010]);
    }
  });

  it("refuses a cacheTTL that is none", async () => {
    for (const ttl of ["-1", "x", "86401"]) {
      expect((await render(`markdown?cacheTTL=${ttl}`, { html: "x" })).status).toBe(400);
    }
    expect((await render("markdown?cacheTTL=0", { html: "x" })).status).toBe(200);
  });

  it("needs a token", async () => {
    const answer = await render(
      "pdf",
      { html: "x" },
      { headers: { "content-type": "application/json" } },
    );
    expect([answer.status, answer.body.errors[0]?.code]).toEqual([401, 10000]);
    expect(answer.headers.get("x-browser-ms-used")).toBe("0");
  });

  it("knows its routes and methods", async () => {
    expect((await render("nothing", { html: "x" })).status).toBe(404);
    const answer = await fetch(`${base}/client/v4/accounts/${account}/browser-rendering/pdf`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

describe("rendering html", () => {
  withBrowser("/pdf answers a PDF", async () => {
    const answer = await render("pdf", { html: "<h1>Hello</h1>" });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/pdf");
    expect(new TextDecoder("latin1").decode(answer.bytes.slice(0, 5))).toBe("%PDF-");
    expect(Number(answer.headers.get("x-browser-ms-used"))).toBeGreaterThan(0);
  });

  withBrowser("/pdf prints the asked pages on the asked paper", async () => {
    const html = "<p style='break-after: page'>1</p><p>2</p>";
    const answer = await render("pdf", {
      html,
      pdfOptions: { format: "a6", landscape: true, pageRanges: "1" },
    });
    const text = new TextDecoder("latin1").decode(answer.bytes);
    expect(text.match(/\/Type\s*\/Page\b/gu)).toHaveLength(1);
    const [width = 0, height = 0] =
      /\/MediaBox\s*\[\s*0 0 (\S+) ([^\s\]]+)/u.exec(text)?.slice(1).map(Number) ?? [];
    expect([Math.round((width / 72) * 10) / 10, Math.round((height / 72) * 10) / 10]).toEqual([
      5.8, 4.1,
    ]);
    expect((await render("pdf", { html, pdfOptions: { pageRanges: "9" } })).status).toBe(400);
  });

  withBrowser("/screenshot refuses a picture of more pixels than a browser can give", async () => {
    const html = "<body style='margin:0'><div style='height:40000px'>a";
    const whole = await render("screenshot", { html, screenshotOptions: { fullPage: true } });
    expect(whole.status).toBe(422);
    expect(whole.body.errors[0]).toMatchObject({ code: 6003 });
    expect(whole.body.errors[0]?.message).toContain("1920 x 40000 pixels");
    const clip = { x: 0, y: 39_000, width: 100, height: 1000 };
    const part = await render("screenshot", { html, screenshotOptions: { clip } });
    expect(part.status).toBe(200);
    const size = new DataView(part.bytes.buffer).getUint32(20);
    expect(size).toBe(1000);
  });

  withBrowser("/markdown has what a reader sees, and only that", async () => {
    const html = `<!doctype html><title>t</title><style>.x { display: none } .y { visibility: hidden }</style>
      <p>a<span class=x>b</span><span class=y>c<i style="visibility:visible">d</i></span>
      <x-card><b slot=s>in</b>lost</x-card>
      <iframe srcdoc="<p>e <a href='/f'>f</a><script>document.write('g')</script>"></iframe>
      <iframe class=x srcdoc="h"></iframe><iframe src="about:blank"></iframe>
      <details><summary>i</summary>j</details><pre>k
  &lt;l&gt;</pre>
      <script>
        const root = document.querySelector("x-card").attachShadow({ mode: "open" });
        root.innerHTML = "<p>shadow <slot name=s></slot></p>";
      </script>`;
    const markdown = await render("markdown", { html, url: "http://example.com/" });
    expect(markdown.body.result).toBe(
      '---\ntitle: "t"\n---\n\na*d*\n\nshadow **in**\n\ne [f](http://example.com/f)g\n\ni\n\nj\n\n```\nk\n  <l>\n```',
    );
  });

  withBrowser("/markdown of a page that fades in has its text", async () => {
    const html = "<body style='visibility:hidden'><p>a<script>1</script>";
    expect((await render("markdown", { html })).body.result).toBe("a");
  });

  withBrowser("/markdown and /content run scripts", async () => {
    const html = "<title>T</title><p>a</p><script>document.body.append('made by script')</script>";
    const markdown = await render("markdown", { html });
    expect(markdown.body).toMatchObject({
      result: '---\ntitle: "T"\n---\n\na\n\nmade by script',
      meta: { title: "T" },
    });
    expect((await render("content", { html })).body.result).toContain("made by script");
  });

  withBrowser("takes a url as the base of html without loading it", async () => {
    const answer = await render("markdown", {
      html: "<a href=x>y</a><script></script>",
      url: "http://site.example/dir/",
    });
    expect(answer.body.result).toBe("[y](http://site.example/dir/x)");
  });

  withBrowser("adds styles and scripts, waits for what they make", async () => {
    const answer = await render("content", {
      html: "<p>a</p>",
      addStyleTag: [{ content: "p { color: red }" }],
      addScriptTag: [
        { content: "setTimeout(() => { document.body.innerHTML += '<i id=late>late</i>' }, 100)" },
      ],
      waitForSelector: { selector: "#late", visible: true },
    });
    expect(answer.body.result).toMatch(/color: red.*id="late"/u);
  });

  withBrowser("/screenshot, /links, /scrape and /snapshot answer", async () => {
    const html = "<a href='http://example.com/a'>b</a><h1 class=c>d</h1>";
    const picture = await render("screenshot", { html, viewport: { width: 100, height: 50 } });
    expect([picture.headers.get("content-type"), ...picture.bytes.slice(1, 4)]).toEqual([
      "image/png",
      80,
      78,
      71,
    ]);
    expect((await render("links", { html })).body.result).toEqual(["http://example.com/a"]);
    const scraped = await render("scrape", { html, elements: [{ selector: "h1" }] });
    expect(scraped.body.result).toMatchObject([
      { selector: "h1", results: [{ text: "d", attributes: [{ name: "class", value: "c" }] }] },
    ]);
    const snapshot = await render("snapshot", { html, formats: ["content", "markdown"] });
    expect(snapshot.body.result).toMatchObject({ markdown: "[b](http://example.com/a)\n\n# d" });
  });

  for (const [name, html] of [
    ["endless dialogs", "<script>for (;;) alert(1)</script>"],
    ["a busy loop", "<p>x</p><script>for (;;);</script>"],
    ["endless document.write", "<script>for (;;) document.write('x')</script>"],
  ])
    withBrowser(`ends ${name} at the deadline with 6002, and the next request works`, async () => {
      const started = Date.now();
      const answer = await render("pdf", { html, gotoOptions: { timeout: 1500 } });
      expect([answer.status, answer.body.errors[0]?.code]).toEqual([422, 6002]);
      // Without `timeout` it would be the default of 30 s.
      expect(Date.now() - started).toBeLessThan(30_000);
      expect((await render("content", { html: "<p>next</p>" })).status).toBe(200);
    });

  withBrowser("passes a missing selector over only with bestAttempt", async () => {
    const body = { html: "<p>there</p>", waitForSelector: { selector: "#never", timeout: 200 } };
    const strict = await render("content", body);
    expect([strict.status, strict.body.errors[0]?.code]).toEqual([422, 6002]);
    expect((await render("content", { ...body, bestAttempt: true })).body.result).toContain(
      "there",
    );
  });

  // Declared by the Workers platform ("client-abort"): workerd notices a client that left at its next write only.
  const abortable = targetName() !== "workers";
  itUnless(missing ?? (abortable ? undefined : "lacks client-abort"))(
    "frees the slot of a client that leaves",
    async () => {
      const html = "<script>for (;;);</script>";
      const leave = new AbortController();
      const pending = Promise.allSettled(
        Array.from({ length: 4 }, () =>
          render(
            "pdf",
            { html, gotoOptions: { timeout: 60_000 } },
            {
              headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
              signal: leave.signal,
            },
          ),
        ),
      );
      setTimeout(() => leave.abort(), 500);
      await pending;
      const started = Date.now();
      expect((await render("content", { html: "<p>next</p>" })).status).toBe(200);
      // The pages that were left would hold their slots for 60 s.
      expect(Date.now() - started).toBeLessThan(45_000);
    },
  );

  withBrowser("keeps renderings apart", async () => {
    const url = "http://site.example/";
    const write =
      "<script>localStorage.x = 'left'; document.cookie = 'a=left'; document.body.append('wrote')</script>";
    const read =
      "<script>document.body.append('[' + (localStorage.x ?? '') + document.cookie + ']')</script>";
    await render("content", { url, html: `<body>${write}` });
    expect((await render("content", { url, html: `<body>${read}` })).body.result).toContain("[]");
  });
});

describe("the browser's process", () => {
  const local = targetName() !== "workers" && process.platform === "linux";
  if (!local)
    console.info(`Processes are skipped on ${targetName()}: the browser is not its child`);

  const dataDir = mkdtempSync(join(tmpdir(), "causey-browser-"));
  beforeAll(() => lendBrowser(dataDir));
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  const commandOf = (pid: string): string => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1");
    } catch {
      return "";
    }
  };
  /** The browsers that use profiles of a data folder, without their helper processes. */
  const browsersOf = (): number[] =>
    readdirSync("/proc")
      .filter((entry) => /^\d+$/u.test(entry))
      .filter(
        (pid) =>
          commandOf(pid).includes(`--user-data-dir=${dataDir}`) &&
          !commandOf(pid).includes("--type="),
      )
      .map(Number);

  for (const how of ["stop", "kill"] as const)
    itUnless(missing ?? (local ? undefined : "the browser is not the server's child there"))(
      `ends with its server, by ${how}(), in the middle of work`,
      async () => {
        const target = await startTarget({
          dataDir,
          args: ["--account-id", account],
          env: { CAUSEY_TOKEN: token },
        });
        expect(
          (await post("browser-rendering/content", { html: "<p>x" }, {}, target.url)).status,
        ).toBe(200);
        expect(browsersOf().length).toBeGreaterThan(0);
        const busy = post(
          "browser-rendering/content",
          { html: "<script>for (;;);</script>", gotoOptions: { timeout: 2000 } },
          {},
          target.url,
        ).catch(() => null);
        await new Promise((done) => setTimeout(done, 300));
        await target[how]();
        await eventually(() => browsersOf().length === 0, "its browsers are gone");
        await busy;
      },
    );

  itUnless(missing ?? (local ? undefined : "the browser is not the server's child there"))(
    "is replaced after a crash",
    async () => {
      const target = await startTarget({
        dataDir,
        args: ["--account-id", account],
        env: { CAUSEY_TOKEN: token },
      });
      const busy = post(
        "browser-rendering/content",
        { html: "<p>x", waitForTimeout: 60_000 },
        {},
        target.url,
      );
      // A request whose page had not begun is tried once more, on a new browser: that one is killed too.
      const killing = setInterval(() => {
        for (const pid of browsersOf()) process.kill(pid, "SIGKILL");
      }, 500);
      const crashed = await busy.finally(() => clearInterval(killing));
      expect([crashed.status, crashed.body.errors[0]?.code]).toEqual([503, 503]);
      // A browser that was killed while it started is not started again at once.
      await eventually(
        async () =>
          (await post("browser-rendering/content", { html: "<p>x" }, {}, target.url)).status ===
          200,
        "a new browser renders",
      );
      await target.stop();
    },
  );

  for (const when of ["between two pages", "in the middle of a page"] as const)
    itUnless(missing ?? (local ? undefined : "the browser is not the server's child there"))(
      `is replaced when it hangs ${when}`,
      async () => {
        const target = await startTarget({
          dataDir,
          args: ["--account-id", account],
          env: { CAUSEY_TOKEN: token },
        });
        const ask = (body: object): Promise<Answer> =>
          post("browser-rendering/content", body, {}, target.url);
        expect((await ask({ html: "<p>first" })).status).toBe(200);
        const slow = { html: "<p>slow", waitForTimeout: 1000, actionTimeout: 1000 };
        const busy = when === "between two pages" ? null : ask(slow);
        await new Promise((done) => setTimeout(done, 300));
        const hung = browsersOf();
        for (const pid of hung) process.kill(-pid, "SIGSTOP");
        const next = await ask({ html: "<p>x" });
        expect([next.status, next.body.result]).toEqual([200, expect.stringContaining("<p>x")]);
        if (busy !== null) expect([200, 422, 503]).toContain((await busy).status);
        await eventually(
          () => hung.every((pid) => !browsersOf().includes(pid)),
          "the hung browser is gone",
        );
        await target.stop();
      },
    );
});

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
        "/file": () =>
          response
            .writeHead(200, { "content-disposition": "attachment; filename=a.bin" })
            .end("data"),
        "/echo": () => response.writeHead(200, html).end(`<p>${JSON.stringify(request.headers)}`),
        "/count": () => response.writeHead(200, html).end(`<p>load ${(loads += 1)}`),
        "/empty": () => response.writeHead(500).end(),
        "/missing": () => response.writeHead(404, html).end("<title>Not here</title><p>nope"),
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
      gotoOptions: { waitUntil: "networkidle0" },
    });
    expect(answer.body.result).toMatch(/(?:refused|reached)<\/body>/u);
    expect(answer.body.result).not.toContain("reached</body>");
  });

  withBrowser("shows no file in a frame", async () => {
    const html = `<iframe src="file:///etc/passwd"></iframe><object data="file:///etc/passwd"></object><script>
      fetch("file:///etc/passwd").then((r) => r.text()).then((t) => document.body.append(t), () => document.body.append("refused"))</script>`;
    const answer = await there("content", {
      html: `<body>${html}`,
      gotoOptions: { waitUntil: "networkidle0" },
    });
    expect(answer.body.result).not.toContain("root:");
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

  withBrowser("tells an error page from an empty error", async () => {
    const missingPage = await there("content", { url: `${originOf(site)}/missing` });
    expect(missingPage.status).toBe(200);
    expect(missingPage.body.meta).toMatchObject({ status: 404, title: "Not here" });
    const empty = await there("content", { url: `${originOf(site)}/empty` });
    expect([empty.status, empty.body.errors[0]?.code]).toEqual([422, 5007]);
  });
});
