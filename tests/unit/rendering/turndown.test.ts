import { describe, expect, it } from "vitest";
import { stepwise } from "../../../core/work/background.ts";
import { utf8 } from "../../../core/crypto/encoding.ts";
import type { Platform } from "../../../core/ports.ts";
import { rendering } from "../../../core/rendering/mod.ts";
import { turndownEngine } from "../../../core/rendering/turndown/mod.ts";
import { fakePlatform } from "../../fakes/auth-platform.ts";

interface Rule {
  readonly filter: string;
  readonly replacement: (content: string) => string;
}

type Plugin = (service: PlayedTurndown) => void;

/** What Turndown does with a node, as far as a test needs it. */
class PlayedTurndown {
  readonly options: Readonly<Record<string, unknown>>;
  readonly rules = new Map<string, Rule>();
  constructor(options: Readonly<Record<string, unknown>>) {
    this.options = options;
  }
  addRule(name: string, rule: Rule): void {
    this.rules.set(name, rule);
  }
  use(plugins: Plugin[]): void {
    for (const plugin of plugins) plugin(this);
  }
  turndown(node: { readonly innerHTML: string }): string {
    let text = `${node.innerHTML}\n`;
    for (const { filter, replacement } of this.rules.values())
      text = text.replaceAll(
        new RegExp(`<${filter}>(.*?)</${filter}>`, "gu"),
        (_, content: string) => replacement(content),
      );
    return text;
  }
}

const engineWith = (plugins: readonly Plugin[] = []) =>
  turndownEngine({
    Turndown: PlayedTurndown,
    options: { bulletListMarker: "*" },
    rules: { marked: { filter: "mark", replacement: (content: string) => `==${content}==` } },
    plugins,
  });

describe("turndownEngine()", () => {
  it("gives rules and plugins to Turndown, with options of its own", async () => {
    const seen: unknown[] = [];
    const { convert } = engineWith([(service) => seen.push(service.options)]);
    expect(await convert("<p>a <mark>b</mark></p>", null)).toBe("<p>a ==b==</p>");
    expect(seen).toEqual([
      { headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "*" },
    ]);
  });

  it("gives it a body without what nobody sees, with absolute addresses", async () => {
    const html =
      "<head><base href=/b/></head><body><script>x</script><style>y</style><p hidden>z</p>" +
      '<a href="c">d</a><img src="https://other.example/e"><svg><a></a></svg></body>';
    expect(await engineWith().convert(html, "https://example.com/a/")).toBe(
      '<a href="https://example.com/b/c">d</a><img src="https://other.example/e">',
    );
  });

  it.each([
    ["too many elements", "<p>a".repeat(10_001)],
    ["elements too deep", `${"<div>".repeat(101)}a`],
  ])("refuses %s", async (_, html) => {
    await expect(engineWith().convert(html, null)).rejects.toMatchObject({
      kind: "page_too_large",
    });
  });
});

describe("markdownEngine", () => {
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
  const documents = {
    send: () =>
      Promise.resolve({
        status: 200,
        headers: [["content-type", "text/html; charset=iso-8859-1"]] as const,
        body: Uint8Array.from([
          ...utf8("<title>T</title><nav>n</nav><p>"),
          0xe9,
          ...utf8("<mark>b</mark></p>"),
        ]),
      }),
  };
  const platform: Platform = {
    ...fake,
    system,
    background: stepwise(system),
    browser: { ...fake.browser, documents },
  };
  const app = rendering({ platform, auth: "off", markdownEngine: engineWith() });
  const ask = async (name: string, body: object): Promise<unknown> => {
    const answer = await app.request(`/accounts/a/browser-rendering/${name}?cacheTTL=0`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ url: "https://example.com/", render: false, ...body }),
    });
    return answer.json();
  };

  it("makes the Markdown of a page, under causey's frontmatter", async () => {
    expect(await ask("markdown", { excludeTags: ["nav"] })).toMatchObject({
      result: '---\ntitle: "T"\n---\n\n<p>é==b==</p>',
      meta: { title: "T", status: 200, finalUrl: "https://example.com/" },
    });
    expect(await ask("content", { includeTags: ["p"] })).toMatchObject({
      result: "<html><head><title>T</title></head><body><p>é<mark>b</mark></p></body></html>",
    });
  });

  it("makes that of html without scripts where there is no browser", async () => {
    const html = "<title>T</title><p><mark>b</mark></p>";
    expect(await ask("markdown", { url: undefined, render: undefined, html })).toMatchObject({
      result: '---\ntitle: "T"\n---\n\n<p>==b==</p>',
      meta: { title: "T" },
    });
    const scripted = { url: undefined, render: undefined, html: `${html}<script>x</script>` };
    expect(await ask("markdown", scripted)).toMatchObject({ success: false });
  });
});
