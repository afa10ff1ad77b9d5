import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { itUnless } from "../config/it-unless.ts";

const base = inject("baseUrl");
const token = inject("token");
const account = inject("accountId");

interface Answer {
  readonly result: unknown;
  readonly errors: readonly { readonly code: number; readonly message: string }[];
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** Node takes none of less than 27 characters. */
const boundary = "----boundary-0123456789-0123456789";

type Files = Readonly<Record<string, string>>;

/** A form as Gotenberg's clients send it, written by hand: runtimes change what they write. */
function formOf(files: Files, options?: object, field = "files"): { type: string; body: string } {
  const parts = Object.entries(files).map(
    ([name, text]) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${field}"; filename="${name}"\r\ncontent-type: application/octet-stream\r\n\r\n${text}\r\n`,
  );
  if (options !== undefined)
    parts.push(
      `--${boundary}\r\ncontent-disposition: form-data; name="options"\r\n\r\n${JSON.stringify(options)}\r\n`,
    );
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: `${parts.join("")}--${boundary}--\r\n`,
  };
}

function post(name: string, form: { type: string; body: string }): Promise<Response> {
  return fetch(`${base}/client/v4/accounts/${account}/browser-rendering/${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": form.type },
    body: form.body,
  });
}

async function send(name: string, files: Files, options?: object, field?: string) {
  const response = await post(name, formOf(files, options, field));
  return { ...((await response.json()) as Answer), status: response.status };
}

const probe = await send("content", { "index.html": "<p>probe</p>" });
const withBrowser = itUnless(probe.status === 503 ? probe.errors[0]?.message : undefined);

const page: Files = {
  "index.html": `<!doctype html><title>Report</title><link rel="stylesheet" href="css/style.css">
    <p class="hidden">hidden by the style sheet</p><p id="o"></p><a href="next.html">next</a>
    <img src="images/a%20b.svg" onload="this.dataset.size = this.naturalWidth"><img src="none.png" onerror="this.alt = 'missing'">
    <script type="module" src="js/main.mjs"></script>`,
  "css/style.css": ".hidden { display: none }",
  "images/a b.svg": `<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"></svg>`,
  "js/main.mjs": `import { read } from "./lib.mjs"; document.querySelector("#o").textContent = await read();`,
  "js/lib.mjs": `export const read = async () => (await (await fetch("/data.json")).json()).text;`,
  "data.json": `{"text": "from data.json"}`,
};
const waitForSelector = { selector: "#o:not(:empty)" };

describe("a page that comes with its files", () => {
  const hits: string[] = [];
  const victim = createServer(({ url }, response) => {
    hits.push(url ?? "");
    response.end("secret");
  });
  beforeAll(() => new Promise<void>((resolve) => victim.listen(0, "127.0.0.1", resolve)));
  afterAll(() => {
    victim.closeAllConnections();
    victim.close();
  });

  withBrowser("finds them by their names, and nothing else", async () => {
    const markdown = await send("markdown", page, { waitForSelector });
    expect(markdown).toMatchObject({ status: 200, meta: { title: "Report" } });
    expect(markdown.meta).not.toHaveProperty("finalUrl");
    expect(markdown.result).toContain("from data.json");
    expect(markdown.result).toContain("[next](next.html)");
    expect(markdown.result).not.toContain("hidden by");
    const content = await send("content", page, {
      gotoOptions: { waitUntil: "networkidle0", timeout: 60_000 },
    });
    expect(content.result).toContain('data-size="7"');
    expect(content.result).toContain('alt="missing"');
  });

  withBrowser("is printed, and is a picture and a snapshot", async () => {
    const printed = await post("pdf", formOf(page, { waitForSelector }));
    expect([printed.status, printed.headers.get("content-type")]).toEqual([200, "application/pdf"]);
    const picture = await post("screenshot", formOf(page));
    expect([picture.status, picture.headers.get("content-type")]).toEqual([200, "image/png"]);
    const formats = ["content", "markdown"];
    const { result } = await send("snapshot", page, { waitForSelector, formats });
    expect(result).toMatchObject({ markdown: expect.stringContaining("from data.json") });
  });

  withBrowser("reaches no address that pages may not reach", async () => {
    const { port } = victim.address() as AddressInfo;
    const at = `http://127.0.0.1:${port}/`;
    const tries = `<img src="${at}img"><iframe src="${at}frame"></iframe><iframe src="file:///etc/passwd"></iframe>
      <script>fetch("${at}fetch").catch(() => {}); new WebSocket("${at.replace("http", "ws")}");
      fetch("http://upload.invalid:81/").catch(() => (document.title = "refused"))</script>`;
    const { result, meta } = await send(
      "content",
      { "index.html": tries, "etc/passwd": "root:uploaded" },
      { waitForFunction: { expression: "document.title === 'refused'" } },
    );
    expect(meta).toMatchObject({ title: "refused" });
    expect(result).not.toContain("secret");
    expect(hits).toEqual([]);
  });

  it("needs no browser for its markup", async () => {
    const { status, result } = await send("markdown", page, { render: false });
    expect(status).toBe(200);
    expect(result).toContain("[next](next.html)");
    expect(result).toContain("![](images/a%20b.svg)");
  });

  it.each<[string, Files, object | undefined, string, string]>([
    [
      "without a page",
      { "a.html": "x" },
      {},
      "files",
      "files: One of them has to be called index.html",
    ],
    [
      "a name above the page",
      { "../index.html": "x" },
      {},
      "files",
      'files: "../index.html" is not a name',
    ],
    ["a whole path", { "/etc/x": "x" }, {}, "files", 'files: "/etc/x" is not a name'],
    ["an address", { "http://a/": "x" }, {}, "files", 'files: "http://a/" is not a name'],
    [
      "another field",
      { "index.html": "x" },
      {},
      "file",
      '"file" is not a part of an upload: use "files"',
    ],
    [
      "another page",
      { "index.html": "x" },
      { url: "https://example.com/" },
      "files",
      "options.url: ",
    ],
  ])("is refused %s", async (_, files, options, field, message) => {
    const { status, errors } = await send("markdown", files, options, field);
    expect([status, errors[0]?.message]).toEqual([400, expect.stringContaining(message)]);
  });

  it("is bounded, and taken by five actions", async () => {
    const large = await send("markdown", { "index.html": "x", "a.bin": "x".repeat(8_388_609) });
    expect([large.status, large.errors[0]?.message]).toEqual([
      400,
      'files: "a.bin" has more than 8388608 bytes',
    ]);
    const many = Object.fromEntries(Array.from({ length: 201 }, (__, n) => [`${n}.txt`, "x"]));
    const crowd = await send("markdown", { "index.html": "x", ...many });
    expect([crowd.status, crowd.errors[0]?.message]).toEqual([
      400,
      "files: At most 200 are allowed",
    ]);
    const links = await send("links", page);
    expect([links.status, links.errors[0]?.message]).toEqual([
      400,
      expect.stringContaining("Files are taken by pdf, screenshot, markdown, content and snapshot"),
    ]);
  });
});
