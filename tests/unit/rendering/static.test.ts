import { describe, expect, it } from "vitest";
import { runThrough, stepwise } from "../../../core/work/background.ts";
import { utf8 } from "../../../core/crypto/encoding.ts";
import type {
  HeaderPair,
  InboundResponse,
  OutboundRequest,
  Platform,
} from "../../../core/ports.ts";
import { rendering } from "../../../core/rendering/mod.ts";
import { decodeText } from "../../../core/text/decode-text.ts";
import { TransportError } from "../../../core/net/transport-error.ts";
import { fakePlatform } from "../../fakes/auth-platform.ts";

type Site = (request: OutboundRequest) => Partial<InboundResponse> | Promise<InboundResponse>;

/** Renders without a browser, from a site that the test plays. */
function setting(site: Site) {
  const fake = fakePlatform({ now: 0 });
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    });
  const system = { ...fake.system, sleep };
  const asked: OutboundRequest[] = [];
  const documents = {
    send: async (request: OutboundRequest): Promise<InboundResponse> => {
      asked.push(request);
      return { status: 200, headers: [html], body: null, ...(await site(request)) };
    },
  };
  const platform: Platform = {
    ...fake,
    system,
    background: stepwise(system),
    browser: { ...fake.browser, documents },
  };
  const app = rendering({ platform, auth: "off" });
  const ask = async (name: string, body: unknown, query = "?cacheTTL=0") => {
    const answer = await app.request(`/accounts/a/browser-rendering/${name}${query}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const json: {
      result: unknown;
      errors: { code: number; message: string }[];
      meta: Record<string, unknown>;
    } = await answer.json();
    return { status: answer.status, headers: answer.headers, ...json };
  };
  return { ask, asked };
}

const html: HeaderPair = ["content-type", "text/html"];
const url = "https://example.com/dir/page";
const static_ = { url, render: false };
const page =
  '<title>A  page</title><base href="/b/"><h1>Hi</h1><a href="x">x</a><a href="https://other.example/">o</a>' +
  '<a href="mailto:a@example.com">m</a><template><a href="/hidden">h</a></template><script>go()</script>';
const site =
  (body: string): Site =>
  () => ({ body: utf8(body) });

describe('render: "auto" on a server that has no browser', () => {
  it("reads what the site sends, and says so", async () => {
    const shell = '<title>T</title><div id="root"></div><script src="/a.js"></script>';
    const { ask } = setting(site(shell));
    expect(await ask("content", { url, render: "auto" })).toMatchObject({
      status: 200,
      result: shell,
      meta: { render: "static", status: 200, title: "T" },
    });
    expect((await ask("content", { url, render: false })).meta).not.toHaveProperty("render");
  });
});

describe("render: false", () => {
  it("answers markdown, content and links of a url", async () => {
    const { ask, asked } = setting(site(page));
    const markdown = await ask("markdown", static_);
    expect(markdown).toMatchObject({
      status: 200,
      meta: {
        status: 200,
        title: "A page",
        finalUrl: url,
        headers: { "content-type": "text/html" },
      },
    });
    expect(markdown.result).toContain("# Hi");
    expect(markdown.result).toContain("[x](https://example.com/b/x)");
    expect(markdown.headers.get("x-browser-ms-used")).toBe("0");
    expect(await ask("content", static_)).toMatchObject({
      result: page,
      meta: { title: "A page" },
    });
    const links = ["https://example.com/b/x", "https://other.example/"];
    expect((await ask("links", static_)).result).toEqual(links);
    const own = await ask("links", { ...static_, excludeExternalLinks: true });
    expect(own.result).toEqual(links.slice(0, 1));
    expect(asked).toHaveLength(4);
  });

  it("scrapes what selectors find, without places", async () => {
    const { ask, asked } = setting(site(page));
    const elements = [{ selector: "a[href^=http]" }, { selector: "h2" }];
    expect(await ask("scrape", { ...static_, elements })).toMatchObject({
      status: 200,
      result: [
        {
          selector: "a[href^=http]",
          results: [
            {
              text: "o",
              html: "o",
              attributes: [{ name: "href", value: "https://other.example/" }],
            },
          ],
        },
        { selector: "h2", results: [] },
      ],
      meta: { title: "A page", finalUrl: url },
    });
    const wrong = await ask("scrape", { ...static_, elements: [{ selector: "a:hover" }] });
    expect(wrong).toMatchObject({ status: 400 });
    expect(wrong.errors[0]?.message).toContain("elements.0.selector");
    expect(asked).toHaveLength(1);
  });

  it("keeps the parts that selectors name, and leaves out others", async () => {
    const parts =
      "<title>T</title><nav>n</nav><main><p class=ad>a</p><p>b<i class=ad>c</i></p></main><p>d</p>";
    const { ask } = setting(site(parts));
    const markdown = async (fields: object) =>
      (await ask("markdown", { ...static_, ...fields })).result;
    const top = '---\ntitle: "T"\n---\n\n';
    expect(await markdown({ excludeTags: ["nav", ".ad"] })).toBe(`${top}b\n\nd`);
    expect(await markdown({ includeTags: ["main", "main p"] })).toBe(`${top}a\n\nb*c*`);
    expect(await markdown({ includeTags: ["p"], excludeTags: [".ad"] })).toBe(`${top}b\n\nd`);
    expect(await markdown({ includeTags: ["body"] })).toBe(`${top}n\n\na\n\nb*c*\n\nd`);
    const content = await ask("content", { ...static_, includeTags: ["nav"] });
    expect(content.result).toBe(
      "<html><head><title>T</title></head><body><nav>n</nav></body></html>",
    );
    const wrong = await ask("markdown", { ...static_, excludeTags: ["p", "p:hover"] });
    expect([wrong.status, wrong.errors[0]?.message]).toEqual([
      400,
      'excludeTags.1: ":hover" is not known without a browser: leave out "render": false',
    ]);
  });

  it("answers from html too, whatever scripts it brings", async () => {
    const { ask, asked } = setting(site(""));
    const body = { html: "<p>a<script>x()</script>", render: false };
    expect((await ask("markdown", body)).result).toBe("a");
    expect((await ask("links", { ...body, html: "<a href=/x>x</a>", url })).result).toEqual([
      "https://example.com/x",
    ]);
    expect(asked).toEqual([]);
  });

  it("loads a document once for overlapping and later equal requests", async () => {
    const { ask, asked } = setting(site(page));
    await Promise.all([1, 2].map(() => ask("content", static_, "?cacheTTL=60")));
    await ask("content", static_, "?cacheTTL=60");
    expect(asked.length).toBeLessThanOrEqual(2);
  });

  it("sends headers and credentials to the origin of url only, and follows redirects", async () => {
    const { ask, asked } = setting(({ url: at }) =>
      at.startsWith("https://example.com/")
        ? { status: 302, headers: [["location", "https://www.other.example/x"]] }
        : { body: utf8("<p>there") },
    );
    const answer = await ask("markdown", {
      ...static_,
      userAgent: "mine",
      authenticate: { username: "u", password: "p" },
      setExtraHTTPHeaders: { "X-Key": "secret", Cookie: "a=b" },
      gotoOptions: { referer: "https://from.example/" },
    });
    expect(answer).toMatchObject({
      result: "there",
      meta: {
        finalUrl: "https://www.other.example/x",
        redirectChain: [{ url, status: 302 }],
      },
    });
    const sent = asked.map(({ headers }) => Object.fromEntries(headers));
    expect(sent[0]).toMatchObject({
      "x-key": "secret",
      cookie: "a=b",
      authorization: "Basic dTpw",
    });
    expect(Object.keys(sent[1] ?? {}).toSorted()).toEqual([
      "accept",
      "accept-encoding",
      "referer",
      "user-agent",
    ]);
    expect(sent[1]).toMatchObject({ "user-agent": "mine", referer: "https://from.example/" });
  });

  it("gives a site its cookie back, and no other", async () => {
    const { ask, asked } = setting(({ url: at, headers }) => {
      const cookie = headers.find(([name]) => name === "cookie")?.[1];
      if (at.startsWith("https://other.example/")) return { body: utf8(`<p>${cookie ?? "none"}`) };
      return cookie === "seen=1"
        ? { status: 302, headers: [["location", "https://other.example/"]] }
        : {
            status: 302,
            headers: [
              ["location", at],
              ["set-cookie", "seen=1; Path=/"],
            ],
          };
    });
    expect(await ask("markdown", static_)).toMatchObject({ status: 200, result: "none" });
    expect(asked).toHaveLength(3);
  });

  it.each([
    "http://127.0.0.1/",
    "http://[::ffff:a9fe:a9fe]/",
    "file:///etc/passwd",
    "http://u:p@example.com/",
  ])("does not follow a redirect to %s", async (location) => {
    const { ask, asked } = setting(() => ({ status: 301, headers: [["location", location]] }));
    const answer = await ask("content", static_);
    expect(answer).toMatchObject({ status: 400, errors: [{ code: 5010 }] });
    expect(answer.errors[0]?.message).toContain("A redirect");
    expect(asked).toHaveLength(1);
  });

  it("tells of no more headers than anybody needs", async () => {
    const headers = [html, ["x-long", "a".repeat(20_000)], ["x-short", "b"]] as const;
    const answer = await setting(() => ({ headers, body: utf8("a") })).ask("content", static_);
    expect(answer.meta["headers"]).toEqual({ "content-type": "text/html", "x-short": "b" });
  });

  it("ends a loop of redirects", async () => {
    const { ask, asked } = setting(() => ({ status: 307, headers: [["location", url]] }));
    expect(await ask("content", static_)).toMatchObject({ status: 422, errors: [{ code: 5003 }] });
    expect(asked).toHaveLength(21);
  });

  it.each<[string, Site, number]>([
    ["the guard refuses", () => Promise.reject(new TransportError("refused", "no")), 5010],
    ["nobody listens", () => Promise.reject(new TransportError("unreachable", "no")), 5008],
    ["is a PDF", () => ({ headers: [["content-type", "application/pdf"]] }), 5002],
    ["is a download", () => ({ headers: [html, ["content-disposition", "attachment"]] }), 5002],
    ["has no content", () => ({ status: 204 }), 5002],
    ["has not changed", () => ({ status: 304 }), 5002],
    ["fails with an empty body", () => ({ status: 500 }), 5007],
    ["has an unknown encoding", () => ({ headers: [html, ["content-encoding", "br"]] }), 5009],
    ["is too large", () => ({ body: new Uint8Array(10 * 1024 * 1024 + 1) }), 6003],
  ])("says why when the url %s", async (_, answer, code) => {
    const { ask } = setting(answer);
    const status = code === 5010 ? 400 : 422;
    expect(await ask("content", static_)).toMatchObject({ status, errors: [{ code }] });
  });

  it("reads XHTML as XML, and XML that is not a page as text", async () => {
    const pageOf = (type: string, body: string) =>
      setting(() => ({ headers: [["content-type", type]], body: utf8(body) }));
    const xhtml = `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a.js"/></head><body><p>one<br/>two <![CDATA[a < b]]></p><iframe src="f"/><a id="x"/><p>three</p></body></html>`;
    for (const type of ["application/xhtml+xml", "application/xhtml+xml; charset=utf-8"]) {
      const { ask } = pageOf(type, xhtml);
      expect((await ask("markdown", static_)).result, type).toBe(
        "one  \ntwo a < b\n\n[example.com](https://example.com/dir/f)\n\nthree",
      );
    }
    for (const type of ["image/svg+xml", "application/rss+xml", "application/xml"]) {
      const { ask } = pageOf(type, "<a><t>Hello</t></a>");
      expect((await ask("markdown", static_)).result).toBe("```\n<a><t>Hello</t></a>\n```");
    }
  });

  it("unpacks, and bounds what it unpacks", async () => {
    const pack = async (text: string): Promise<Uint8Array> => {
      const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
      return new Uint8Array(await new Response(packed).arrayBuffer());
    };
    const headers = [html, ["content-encoding", "gzip"]] as const;
    const small = await pack("<p>packed");
    const { ask } = setting(() => ({ headers, body: small }));
    expect((await ask("markdown", static_)).result).toBe("packed");
    const bomb = await pack(" ".repeat(11 * 1024 * 1024));
    const big = setting(() => ({ headers, body: bomb }));
    expect(await big.ask("content", static_)).toMatchObject({ errors: [{ code: 6003 }] });
    const broken = setting(() => ({ headers, body: small.subarray(0, 12) }));
    expect((await broken.ask("content", static_)).status).toBe(422);
  });

  it("shows text as browsers do", async () => {
    const { ask } = setting(() => ({
      headers: [["content-type", "text/plain"]],
      body: utf8("a <b>\n*c*"),
    }));
    expect((await ask("markdown", static_)).result).toBe("```\na <b>\n*c*\n```");
  });

  it("gives up when the site does not answer in time", async () => {
    const { ask } = setting(() => new Promise(() => undefined));
    const answer = await ask("content", { ...static_, gotoOptions: { timeout: 20 } });
    expect(answer).toMatchObject({ status: 422, errors: [{ code: 6002 }] });
  });

  const arriving = (then: (parts: ReadableStreamDefaultController<Uint8Array>) => void) =>
    new ReadableStream<Uint8Array>({
      start(parts) {
        parts.enqueue(utf8("<title>T</title><p>he"));
        parts.enqueue(utf8("llo"));
      },
      pull: (parts) => then(parts),
    });
  const breaksOff = (): Partial<InboundResponse> => ({
    body: arriving((parts) => parts.error(new TransportError("broken", "reset"))),
  });
  const neverEnds = (): Partial<InboundResponse> => ({ body: arriving(() => undefined) });

  it.each<[string, Site, number]>([
    ["breaks off", breaksOff, 5006],
    ["never ends", neverEnds, 6002],
  ])("takes what came of a body that %s at the best only", async (_, answer, code) => {
    const { ask } = setting(answer);
    const hasty = { ...static_, gotoOptions: { timeout: 60 } };
    expect(await ask("markdown", hasty)).toMatchObject({ status: 422, errors: [{ code }] });
    for (const render of [false, "auto"])
      expect(await ask("markdown", { ...hasty, render, bestAttempt: true })).toMatchObject({
        status: 200,
        result: expect.stringContaining("hello"),
        meta: { status: 200, title: "T" },
      });
  });

  it.each<[string, Site, number]>([
    [
      "nothing came",
      () => ({
        body: new ReadableStream<Uint8Array>({
          pull: (parts) => parts.error(new TransportError("broken", "reset")),
        }),
      }),
      5006,
    ],
    ["the site does not answer", () => new Promise(() => undefined), 6002],
    ["the page is too large", () => ({ body: new Uint8Array(10 * 1024 * 1024 + 1) }), 6003],
  ])("fails at the best too when %s", async (_, answer, code) => {
    const { ask } = setting(answer);
    const best = { ...static_, bestAttempt: true, gotoOptions: { timeout: 60 } };
    const timeout = code === 6003 ? 10_000 : 60;
    expect(await ask("content", { ...best, gotoOptions: { timeout } })).toMatchObject({
      status: 422,
      errors: [{ code }],
    });
  });

  it.each([
    ["waitForSelector", { waitForSelector: { selector: "a" } }],
    ["waitForFunction", { waitForFunction: { expression: "1" } }],
    ["actions", { actions: [{ type: "press", key: "Enter" }] }],
    ["viewport", { viewport: { width: 1, height: 1 } }],
    ["cookies", { cookies: [{ name: "a", value: "b" }] }],
    ["gotoOptions.waitUntil", { gotoOptions: { waitUntil: "load" } }],
    ["setJavaScriptEnabled", { setJavaScriptEnabled: true }],
    ["rejectRequestPattern", { rejectRequestPattern: ["a"] }],
  ])("refuses %s, which needs a browser", async (name, fields) => {
    const { ask, asked } = setting(site(page));
    const answer = await ask("markdown", { ...static_, html: "<p>x", ...fields });
    expect(answer.status).toBe(400);
    expect(answer.errors[0]?.message).toContain(name);
    expect(asked).toEqual([]);
  });

  it.each(["pdf", "screenshot", "snapshot", "accessibilityTree"])("%s refuses it", async (name) => {
    const { ask } = setting(site(page));
    const answer = await ask(name, static_);
    expect(answer.status).toBe(400);
    expect(answer.errors[0]?.message).toContain("render");
  });
});

describe("decodeText()", () => {
  const decode = (bytes: readonly number[], type = "text/html"): string =>
    runThrough(decodeText(Uint8Array.from(bytes), type));
  const latin = (text: string): number[] => [...text].map((char) => char.charCodeAt(0));

  it.each<[string, string, readonly number[], string]>([
    ["the header", "text/html; charset=Shift_JIS", [0x93, 0xfa, 0x96, 0x7b], "日本"],
    ["a quoted header", 'text/html;charset="gb18030"', [0xc4, 0xe3, 0xba, 0xc3], "你好"],
    [
      "a byte order mark before the header",
      "text/html; charset=latin1",
      [0xef, 0xbb, 0xbf, 0xc3, 0xa9],
      "é",
    ],
    ["UTF-16", "text/html", [0xff, 0xfe, 0x41, 0x00, 0xe9, 0x00], "Aé"],
    ["valid UTF-8 that says nothing", "text/html", [0xc3, 0xa9], "é"],
    ["else windows-1252", "text/html", [0xe9, 0x80], "é€"],
    ["a charset that nobody knows", "text/html; charset=x-none", [0xc3, 0xa9], "é"],
  ])("reads %s", (_, type, bytes, text) => expect(decode(bytes, type)).toBe(text));

  it("reads what the markup says", () => {
    expect(decode([...latin('<meta charset="iso-8859-2">'), 0xb1])).toMatch(/ą$/);
    const old = '<META http-equiv="Content-Type" content="text/html; charset=koi8-r">';
    expect(decode([...latin(old), 0xc1])).toMatch(/а$/);
  });

  it("keeps characters whole that stand across slices", () => {
    const text = `a${"日".repeat(200_000)}`;
    expect(runThrough(decodeText(utf8(text), "text/html"))).toBe(text);
  });
});

describe("a request of more than a megabyte", () => {
  const long = `<title>é</title><p>${"ü ".repeat(600_000)}end</p>`;
  const unused = (): Partial<InboundResponse> => ({ status: 500 });

  it("is parsed beside the event loop, and answered as any other", async () => {
    const { ask } = setting(unused);
    const content = await ask("content", { html: long, render: false });
    expect([content.status, content.result === long]).toEqual([200, true]);
    const markdown = await ask("markdown", { html: long, render: false, unknownOne: 1 });
    expect(String(markdown.result)).toMatch(/ü end$/u);
    expect(JSON.stringify(markdown)).toContain("unknownOne");
  });

  it("is refused as any other", async () => {
    const { ask } = setting(unused);
    const wrong = await ask("links", { html: long, render: false, actionTimeout: -1 });
    expect(wrong.errors[0]?.message).toContain("actionTimeout: A negative number");
    const text = await ask("links", long);
    expect(text.status).toBe(400);
  });

  it("is not taken for another one with the same address", async () => {
    const { ask, asked } = setting(() => ({ body: utf8("<p>x") }));
    for (const name of ["a", "b"]) {
      const setExtraHTTPHeaders = { [`x-${name}`]: "1" };
      const rest = { elements: [{ selector: "p" }], render: false, filler: long };
      await ask("scrape", { url, setExtraHTTPHeaders, ...rest }, "");
    }
    expect(asked).toHaveLength(2);
  });
});
