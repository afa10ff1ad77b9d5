import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { convertHtml } from "../../../core/rendering/markdown/convert.ts";
import { codeCases } from "../../fakes/rendering-code-cases.ts";
import { markdownCases } from "../../fakes/rendering-markdown-cases.ts";
import { mediaCases } from "../../fakes/rendering-media-cases.ts";
import { mathCases } from "../../fakes/rendering-math-cases.ts";

const convert = (html: string, base: string | null = "https://example.com/dir/page"): string =>
  convertHtml(html, { base, frontmatter: false }).markdown;

describe("htmlToMarkdown()", () => {
  it.each(markdownCases)("$name", ({ html, markdown }) => expect(convert(html)).toBe(markdown));

  it.each(mediaCases)("$name", ({ html, markdown }) => expect(convert(html)).toBe(markdown));

  it.each(codeCases)("$name", ({ html, markdown }) => expect(convert(html)).toBe(markdown));

  it.each(mathCases)("$name", ({ html, markdown }) => expect(convert(html)).toBe(markdown));

  it("writes frontmatter when the page has a title", () => {
    const html = `<title>It's "x": a\n --- b</title><meta name="description" content="d"><meta property="og:image" content="/i.png"><p>t`;
    const head = `---\ntitle: "It's \\"x\\": a --- b"\ndescription: "d"\nimage: "https://example.com/i.png"\n---\n\n`;
    expect(convertHtml(html, { base: "https://example.com/", frontmatter: true })).toEqual({
      title: `It's "x": a --- b`,
      head,
      markdown: `${head}t`,
    });
    expect(convertHtml("<p>t", { base: null, frontmatter: true }).markdown).toBe("t");
  });

  it("leaves relative addresses alone without a base", () =>
    expect(convert('<a href="x">y</a>', null)).toBe("[y](x)"));

  it("keeps films and sounds as relative links, too", () => {
    const html =
      '<video src="v.mp4"></video> <audio src="/a/b"></audio><iframe src="data:x"></iframe>';
    expect(convert(html, null)).toBe("[v.mp4](v.mp4) [/a/b](/a/b)");
  });

  it("keeps the text of any markup, and never throws", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        ...(
          "<p>,</p>,<b>,</b>,<i>,</i>,<ul>,<li>,</ul>,<table>,<tr>,<td>,</table>,<a href=x>,</a>,<h1>,</h1>,<pre>,</pre>,<code>," +
          "</code>,<blockquote>,</blockquote>,<br>,<hr>,<ol start=7>,</li>,<div>,</div>,<s>,</s>,<input type=checkbox>,&lt;,&amp;,<!--,-->,<![CDATA["
        ).split(","),
      ),
      fc.string({ maxLength: 6 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const markdown = convert(pieces.join(""));
        expect(markdown).toBe(markdown.trimEnd());
      }),
      { numRuns: 300 },
    );
  });

  it("takes CDATA outside of SVG and MathML for a comment that the next > ends, as browsers do", () => {
    expect(convert("<p>a<![CDATA[ b <i>c</i> ]]>d<p>e")).toBe("ac \\]\\]>d\n\ne");
    expect(convert("<p>a<![CDATA[ b<p>c<p>d")).toBe("ac\n\nd");
    expect(convert("a<![CDATA[>".repeat(3))).toBe("aaa");
    expect(convert("<math><mi><![CDATA[x > y]]></mi></math>")).toContain("x > y");
    // Wherever it stands in what is read at once.
    for (let before = 16_360; before < 16_400; before++) {
      const text = "x".repeat(before);
      expect(convert(`${text}<![CDATA[ b>c`)).toBe(`${text}c`);
    }
  });

  it("keeps every word of text between any elements", () => {
    const names = [
      "p",
      "b",
      "i",
      "ul",
      "li",
      "table",
      "tr",
      "td",
      "a",
      "h1",
      "pre",
      "code",
      "blockquote",
      "div",
      "s",
      "ol",
    ];
    const piece = fc.tuple(fc.constantFrom(...names), fc.boolean());
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const html = pieces
          .map(([name, close], i) => `<${close ? "/" : ""}${name}>w${i}w`)
          .join("");
        const markdown = convert(html);
        for (let i = 0; i < pieces.length; i++) expect(markdown, html).toContain(`w${i}w`);
      }),
      { numRuns: 300 },
    );
  });

  it("takes time in proportion to its input on every kind of nesting", () => {
    const kinds = [
      "<div>",
      "<b>x",
      "<b><i>",
      "<ul><li>x",
      "<li>x",
      "<blockquote>x",
      "<table><tr><td>x",
      "<tr><td>x",
      "<p>x</p>",
      "`",
      " ",
      "<",
      "&",
      "<code>a</code>",
      "<a href=x>y",
      "<font>",
      "</p>",
      "<q><li>",
      "*_",
      "<pre> ",
      "<a href=x>!",
      "<b></b>",
      "<sup>x",
      "<math>x",
      "<math><mi>x</mi></math>",
      "<math><msqrt>x",
      "<p hidden></p>",
      "<div class=lang-x>",
    ];
    for (const kind of kinds) {
      // What is quadratic here takes minutes: the test's own timeout is the measure.
      const html = kind.repeat(Math.floor(200_000 / kind.length));
      expect(convert(html).length).toBeLessThan(html.length * 25);
      expect(convert(`<pre><h1><code>${html} x`)).toContain("x");
    }
  });
});
