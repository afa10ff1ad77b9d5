import { describe, expect, it } from "vitest";
import { runThrough, stepwise } from "../../../core/work/background.ts";
import { utf8 } from "../../../core/crypto/encoding.ts";
import type { InboundResponse, Platform } from "../../../core/ports.ts";
import { parseDocument } from "../../../core/rendering/extract/document.ts";
import { pageKindOf } from "../../../core/rendering/extract/page-kind.ts";
import { mainContent } from "../../../core/rendering/extract/mod.ts";
import { rendering } from "../../../core/rendering/mod.ts";
import { fakePlatform } from "../../fakes/auth-platform.ts";

const sentence = "The bridge was built in the winter, by hand, and it has stood since then. ";
const paragraphs = `<p>${sentence.repeat(3)}</p>`.repeat(6);
const around = (content: string): string =>
  `<html><head><title>Bridge</title><meta name="description" content="On a bridge"></head><body>
  <nav><a href="/home">Home</a></nav><div class="menu"><a href="/a">Other news</a></div>${content}
  <div class="comments"><p>First!</p></div><footer>Imprint</footer></body></html>`;

const extract = async (html: string): Promise<string> => {
  const steps = await mainContent.load();
  const found = runThrough(steps({ bytes: utf8(html), contentType: "text/html;charset=utf-8" }));
  return new TextDecoder().decode(found);
};

describe("mainContent", () => {
  it("keeps the article and the facts of the head", async () => {
    const found = await extract(around(`<div id="story"><h2>Stone</h2>${paragraphs}</div>`));
    expect(found).toContain(sentence.trim());
    expect(found).toContain("<title>Bridge</title>");
    expect(found).toContain('content="On a bridge"');
    for (const other of ["Home", "Other news", "Imprint"]) expect(found).not.toContain(other);
  });

  it("knows head and body where their tags are left out", async () => {
    const content = `<nav><a href="/home">Home</a></nav><article>${paragraphs}</article>`;
    const head = "<meta charset=utf-8><title>Bridge</title><!-- a --><style>p { top: 0 }</style>";
    for (const html of [
      `<!doctype html>\n<html lang=en>\n${head}${content}`,
      `<!doctype html>${head}${content}</html>`,
      `${head}<body class=a>${content}`,
      `<head>${head}</head>${content}`,
      `<html><head>${head}<body>${content}`,
      `<html>${head}<body>${content}</body></html>`,
    ]) {
      const found = await extract(html);
      expect(found).toMatch(/^<!doctype html><html><head><title>Bridge<\/title><\/head><body>/u);
      expect(found).toContain(sentence.trim());
      for (const other of ["Home", "top: 0"]) expect(found).not.toContain(other);
      expect(found.split("Bridge").length).toBe(2);
    }
  });

  it("believes the author's mark, when there is one only", async () => {
    const other = `<div><p>${"Something else, long enough to be taken for it. ".repeat(40)}</p></div>`;
    const found = await extract(around(`${other}<article>${paragraphs}</article>`));
    expect(found).toContain("The bridge");
    expect(found).not.toContain("Something else");
  });

  it("drops paragraphs that are only links, and keeps links in lists that say more", async () => {
    const list =
      '<ul><li><a href="/s">Stone</a></li><li>Sand and gravel from the river bank</li></ul>';
    const teaser = '<p>More: <a href="/x">Ten bridges that you have to see this year</a></p>';
    const found = await extract(
      around(`<article>${paragraphs}${teaser}${list}${paragraphs}</article>`),
    );
    expect(found).not.toContain("Ten bridges");
    expect(found).toContain("Stone");
  });

  it("keeps the code, the tables and the figures of an article, with what names their parts", async () => {
    const parts =
      '<pre><code class="language-ts"><span class="line">let a;</span></code></pre><table><tr><th>A</th><td>1</td></tr></table><figure><img src="i.png"><figcaption>F</figcaption></figure>';
    const found = await extract(around(`<article>${paragraphs}${parts}${paragraphs}</article>`));
    for (const part of ['class="language-ts"', 'class="line"', "<table", "<figcaption"])
      expect(found).toContain(part);
  });

  const says = `<p>${"The bridge stands. ".repeat(4)}</p>`;
  const post = `<div class="post"><div class="postprofile">Joined 2019</div><div class="postbody">${says}</div></div>`;
  const row = '<li><a href="/x">A bridge of stone over the river</a> 1890</li>';

  it("takes all posts of a thread, without the figures of their authors", async () => {
    const thread = around(`<main id="phpbb">${post.repeat(12)}</main>`);
    const found = await extract(thread);
    expect(found.split("The bridge stands.").length - 1).toBe(48);
    expect(found).not.toContain("Joined");
  });

  it("takes all rows of a list, where Readability finds a part of it", async () => {
    const list = `<main><p>${sentence}</p><ul>${row.repeat(40)}</ul><div class="related-posts">More</div></main>`;
    const found = await extract(around(list));
    expect(found.split("A bridge of stone").length - 1).toBe(40);
    expect(found).not.toContain("More");
  });

  it("keeps the region of a page that names all of it as something else", async () => {
    const inner = `<div class="has-sidebar"><div class="menu">${says}</div></div><div class="menu">${says}</div>`;
    const found = await extract(`<body><nav>Home</nav><main>${inner.repeat(3)}</main>`);
    expect(found).toContain("The bridge stands.");
    expect(found).not.toContain("Home");
  });

  it("reads a page that scripts would show as its noscript has it", async () => {
    const shell = `<body><div id="app"></div><noscript><main>${says.repeat(10)}</main></noscript><script>${"x".repeat(9000)}</script>`;
    expect(await extract(shell)).toContain("The bridge stands.");
  });

  it.each([
    ['<meta property="og:type" content="article">', "article"],
    ['<script type="application/ld+json">{"@type": ["NewsArticle"]}</script>', "article"],
    ['<script type="application/ld+json">{"@type":"Product"}</script>', "product"],
    ['<meta property="og:type" content="product">', "product"],
    [
      '<script type="application/ld+json">{"@type":"NewsArticle","isPartOf":{"@type":["Product"]}}</script>',
      "article",
    ],
    ['<meta name="generator" content="Discourse 3.1">', "forum"],
    ['<div itemscope itemtype="https://schema.org/QAPage">', "forum"],
    [
      '<script type="application/ld+json">[{"@type":"FAQPage"},{"@type":"Question"}]</script>',
      "other",
    ],
    [
      '<i itemtype="http://schema.org/Product"></i><i itemtype="http://schema.org/Product"></i>',
      "other",
    ],
  ])("takes %s for the mark of its kind", (html, kind) => {
    expect(pageKindOf(parseDocument(html))).toBe(kind);
  });

  it("gives a page without any content as it is", async () => {
    expect(await extract("<p>")).toBe("<p>");
    expect(await extract("")).toBe("");
  });

  it.each([
    ["too many elements", "<p>a, b".repeat(10_001)],
    ["elements too deep", `${"<div>".repeat(101)}a`],
    ["elements so deep that their tree takes minutes", "<div>".repeat(300_000)],
  ])("refuses %s", async (_, html) => {
    await expect(extract(html)).rejects.toMatchObject({ kind: "page_too_large" });
  });
});

describe('"extract": "main"', () => {
  const page = around(`<article>${paragraphs}</article>`);
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
  const answer: InboundResponse = {
    status: 200,
    headers: [["content-type", "text/html"]],
    body: utf8(page),
  };
  const documents = { send: () => Promise.resolve(answer) };
  const browser = { ...fake.browser, documents };
  const platform: Platform = { ...fake, system, background: stepwise(system), browser };
  const ask = async (name: string, body: object, withExtract = true) => {
    const options = withExtract ? { extract: mainContent } : {};
    const response = await rendering({ platform, auth: "off", ...options }).request(
      `/accounts/a/browser-rendering/${name}?cacheTTL=0`,
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ render: false, ...body }),
      },
    );
    const { result, errors }: { result: string; errors: { message: string }[] } =
      await response.json();
    return { status: response.status, result, message: errors[0]?.message };
  };

  it("works for markdown and content, of a url and of html", async () => {
    const url = "https://example.com/";
    for (const source of [{ url }, { html: page }]) {
      const { result } = await ask("markdown", { ...source, extract: "main" });
      expect(result).toMatch(/^---\ntitle: "Bridge"/);
      expect(result).not.toMatch(/Home|Imprint/);
    }
    expect((await ask("content", { url, extract: "main" })).result).not.toContain("Imprint");
    expect((await ask("content", { url })).result).toContain("Imprint");
  });

  it("is refused where it is not known, or nothing is there that does it", async () => {
    const html = "<p>x";
    expect(await ask("markdown", { html, extract: "all" })).toMatchObject({ status: 400 });
    const without = await ask("markdown", { html, extract: "main" }, false);
    expect(without.status).toBe(503);
    expect(without.message).toContain("extract");
  });
});
