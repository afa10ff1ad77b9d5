import { describe, expect, inject, it } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { missingBrowser, render, withBrowser, post } from "./render-client.ts";
import { targetName } from "./target.ts";

const base = inject("baseUrl");
const token = inject("token");
const account = inject("accountId");

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
  const filled = `<p>${"Words that a reader reads. ".repeat(12)}</p>`;
  const shell =
    '<div id="root"></div><script>document.getElementById("root").textContent = "Filled"</script>';

  withBrowser('takes a browser with render: "auto" where only scripts fill a page', async () => {
    for (const name of ["markdown", "content", "links", "scrape"]) {
      const answer = await render(name, {
        html: shell,
        render: "auto",
        ...(name === "scrape" ? { elements: [{ selector: "#root" }] } : {}),
      });
      expect(answer.body.meta, name).toMatchObject({ render: "browser" });
      expect(Number(answer.headers.get("x-browser-ms-used"))).toBeGreaterThan(0);
      if (name !== "links") expect(JSON.stringify(answer.body.result)).toContain("Filled");
    }
    const waits = { html: filled, render: "auto", waitForTimeout: 1 };
    expect((await render("markdown", waits)).body.meta).toMatchObject({ render: "browser" });
    expect((await render("pdf", { html: filled, render: "auto" })).status).toBe(200);
  });

  withBrowser('waits with render: "auto" until scripts have filled a page', async () => {
    const html = shell.replace(
      /<script>(.*)<\/script>/u,
      "<script>setTimeout(() => { $1 }, 300)</script>",
    );
    const answer = await render("markdown", { html, render: "auto" });
    expect(answer.body).toMatchObject({ result: "Filled", meta: { render: "browser" } });
  });

  it('takes no browser with render: "auto" for a page that is filled', async () => {
    const html = filled + shell.replace('id="root"', "").replace("root", "none");
    const answer = await render("markdown", { html, render: "auto" });
    expect(answer.headers.get("x-browser-ms-used")).toBe("0");
    expect(answer.body.meta).toMatchObject({ render: "static" });
    expect(answer.body.result).toContain("Words that a reader reads.");
  });

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

  withBrowser("passes a missingBrowser selector over only with bestAttempt", async () => {
    const body = { html: "<p>there</p>", waitForSelector: { selector: "#never", timeout: 200 } };
    const strict = await render("content", body);
    expect([strict.status, strict.body.errors[0]?.code]).toEqual([422, 6002]);
    expect((await render("content", { ...body, bestAttempt: true })).body.result).toContain(
      "there",
    );
  });

  // Declared by the Workers platform ("client-abort"): workerd notices a client that left at its next write only.
  const abortable = targetName() !== "workers";
  itUnless(missingBrowser ?? (abortable ? undefined : "lacks client-abort"))(
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
