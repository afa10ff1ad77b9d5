import { readFileSync } from "node:fs";
import { describe, expect, inject } from "vitest";
import { common } from "../../core/rendering/job/schema.ts";
import { itUnless } from "../config/it-unless.ts";
import { root } from "../config/shared.ts";

const base = inject("baseUrl");
const token = inject("token");
const account = inject("accountId");

function render(name: string, body: object): Promise<Response> {
  return fetch(`${base}/client/v4/accounts/${account}/browser-rendering/${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

const html =
  '<title>T</title><nav>Menu</nav><main><h1>Hi</h1><a href="/own">own</a><a href="https://other.example/">o</a></main>';
const probe = await render("content", { html });
const withBrowser = itUnless(probe.status === 503 ? "there is no browser" : undefined);

/** The bodies of the document's examples, by their actions. */
const examples = [
  ...readFileSync(`${root}docs/rendering.md`, "utf8").matchAll(
    /^\| `(?<name>\w+)`\s*\| `(?<body>\{.*?\})`\s*\|/gmu,
  ),
].map(({ groups = {} }) => [groups["name"] ?? "", groups["body"] ?? ""] as const);

/** What the answer to each has, of the page above. */
const answers: Readonly<Record<string, unknown>> = {
  markdown: expect.not.stringContaining("Menu"),
  content: expect.stringContaining("<h1>Hi</h1>"),
  links: ["https://example.com/own"],
  scrape: [
    { selector: "h1", results: [expect.objectContaining({ text: "Hi" })] },
    expect.objectContaining({ selector: "a[href]" }),
  ],
  snapshot: { screenshot: expect.any(String), markdown: expect.stringContaining("# Hi") },
  accessibilityTree: { accessibilityTree: expect.objectContaining({ role: "main" }) },
};
const types: Readonly<Record<string, string>> = {
  pdf: "application/pdf",
  screenshot: "image/webp",
};

/** The examples of fields, by the heading that they stand below: the first action of it is asked. */
const fields = readFileSync(`${root}docs/rendering/fields.md`, "utf8")
  .split(/^## /mu)
  .slice(1)
  .flatMap((section) => {
    const action = /^(?<name>\w+)/u.exec(section)?.groups?.["name"] ?? "";
    return [...section.matchAll(/^\| (?<named>`.*?)\s*\| `(?<body>\{.*?\})`\s*\|/gmu)].map(
      ({ groups = {} }) => ({
        name: action === "On" ? "content" : action,
        named: groups["named"] ?? "",
        body: groups["body"] ?? "",
      }),
    );
  });

describe("the examples of fields", () => {
  withBrowser("are there for every field that all actions have", () => {
    const shown = fields.flatMap(({ body }) => Object.keys(JSON.parse(body) as object));
    // The second spelling of a field, and lists that are the opposite of one that is shown.
    const others = ["goToOptions", "allowRequestPattern", "allowResourceTypes"];
    expect(Object.keys(common).filter((name) => !shown.includes(name))).toEqual(others);
  });

  for (const { name, named, body } of fields) {
    withBrowser(`work: ${name}, ${named}`, async () => {
      const page = { url: "https://example.com/", html };
      const answer = await render(name, { ...page, ...(JSON.parse(body) as object) });
      const text = await answer.text();
      expect(text).not.toContain('"success":false');
      expect(answer.status).toBe(200);
    });
  }
});

describe("the examples of the document", () => {
  withBrowser("are there for each action of one page", () => {
    expect(examples.map(([name]) => name)).toEqual(
      expect.arrayContaining([...Object.keys(answers), ...Object.keys(types)]),
    );
  });

  for (const [name, text] of examples) {
    withBrowser(`work: ${name}`, async () => {
      const body: object = JSON.parse(text);
      // A page at that address, which is not loaded.
      const answer = await render(name, { ...body, html });
      const type = types[name];
      expect(answer.status).toBe(200);
      if (type !== undefined) return expect(answer.headers.get("content-type")).toBe(type);
      expect((await answer.json()) as unknown).toMatchObject({ result: answers[name] });
    });
  }
});

/** Everything of a page that only its layout and its scripts tell; the script has it rendered by the browser. */
const laidOut: readonly (readonly [name: string, html: string, markdown: string])[] = [
  [
    "items of flex and grid boxes",
    '<div style="display:flex"><span>Price</span><span>10</span></div><div style="display:grid"><b>a</b><i>b</i></div>',
    "Price\n\n10\n\n**a**\n\n_b_",
  ],
  [
    "cells and rows that style sheets make",
    '<style>.r{display:table-row}.r span{display:table-cell}</style><div style="display:table"><span class="r"><span>Name</span><span>Bob</span></span><span class="r"><span>Age</span><span>42</span></span></div>',
    "Name Bob\n\nAge 42",
  ],
  [
    "blocks in a heading, and inline text",
    "<h2><span style='display:block'>a</span><span style='display:block'>b</span></h2>c<span>d</span>",
    "## a b\n\ncd",
  ],
  [
    "small letters above a word",
    "<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rt>じ</ruby>",
    "漢(かん)字(じ)",
  ],
  [
    "the TeX of a formula from what it draws",
    '<math><semantics><mi>x</mi><annotation encoding="application/x-tex">x^{2}</annotation></semantics></math>',
    "$x^{2}$",
  ],
  ["lines of text whose white space counts", '<p style="white-space:pre-line">a\nb</p>', "a  \nb"],
  [
    "code without pre, and lines of code that the style sheet makes",
    '<code style="display:block;white-space:pre">a\n  b</code><style>.l{display:block}</style><pre><span class="l">c</span><span class="l"></span><span class="l">d</span></pre>',
    "```\na\n  b\n```\n\n```\nc\n\nd\n```",
  ],
  [
    "a form whose fields have the names of members",
    '<form><input name="attributes"><input name="childNodes"><input name="localName"><input name="parentElement"><input name="nodeType"><p>a</p></form><img name="body" alt="i"><img name="title" alt="">b',
    "a\n\nib",
  ],
];

describe("markdown of the browser", () => {
  for (const [name, body, markdown] of laidOut)
    withBrowser(`keeps apart ${name}`, async () => {
      const page = `<title>T</title>${body}<script>0</script>`;
      const answer = await render("markdown", { html: page });
      expect(await answer.json()).toMatchObject({
        result: `---\ntitle: "T"\n---\n\n${markdown}`,
        meta: { title: "T" },
      });
    });

  withBrowser("scrapes a form whose fields have the names of members", async () => {
    const page =
      '<form id="f"><input name="innerText"><input name="innerHTML"><input name="getBoundingClientRect">a</form><script>0</script>';
    const answer = await render("scrape", { html: page, elements: [{ selector: "form" }] });
    const { result }: { result: { results: { text: string; html: string }[] }[] } =
      await answer.json();
    expect(result[0]?.results[0]).toMatchObject({
      text: expect.stringContaining("a"),
      html: expect.stringContaining('name="innerText"'),
    });
  });
});
