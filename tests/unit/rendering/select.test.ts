import { describe, expect, it } from "vitest";
import { runThrough } from "../../../core/work/background.ts";
import { scrape } from "../../../core/rendering/select/scrape.ts";
import { parseSelector } from "../../../core/rendering/select/selector.ts";
import { htmlOf } from "../../../core/rendering/select/html-of.ts";
import { readTree } from "../../../core/rendering/select/tree.ts";

const find = (html: string, selector: string) =>
  runThrough(scrape(html, [selector])).results[0]?.results ?? [];
const ids = (html: string, selector: string): string =>
  find(html, selector)
    .map(({ attributes }) => attributes.find(({ name }) => name === "id")?.value ?? "?")
    .join("");

const list =
  '<div id=l class="list big"><p id=a class=x lang=en-GB>1</p><b id=b>2</b><p id=c title="A b">3<i id=d>4</i></p>' +
  "<p id=e data-n=Five hidden></p></div><div id=m><a id=f href=/x>5</a><input id=g TYPE=Checkbox checked></div>";

describe("selectors without a browser", () => {
  it.each([
    ["p", "ace"],
    ["P", "ace"],
    ["*", "???labcdemfg"],
    ["#c", "c"],
    [".x", "a"],
    [".big.list", "l"],
    ["div p", "ace"],
    ["div > i", ""],
    ["div i", "d"],
    ["body > div", "lm"],
    ["html:root > body", "?"],
    ["p + b", "b"],
    ["p ~ p", "ce"],
    ["p ~ p > i", "d"],
    ["b + p ~ p", "e"],
    ["a, b", "bf"],
    ["[title]", "c"],
    ['[title="A b"]', "c"],
    ['[title="a b"]', ""],
    ['[title="a b" i]', "c"],
    ["[title~=b]", "c"],
    ["[lang|=en]", "a"],
    ["[data-n^=Fi]", "e"],
    ["[data-n$=ve]", "e"],
    ["[data-n*=iv]", "e"],
    ['[data-n*=""]', ""],
    ["[type=checkbox]", "g"],
    ["input:checked", "g"],
    ["a:link, a:any-link", "f"],
    ["p:not(.x)", "ce"],
    ["p:not(.x, :empty)", "c"],
    [":is(i, b)", "bd"],
    ["div:has(i)", "l"],
    ["div:has(> i)", ""],
    ["div:has(> a)", "m"],
    ["p:has(+ b)", "a"],
    ["b:has(~ p > i)", "b"],
    ["p:has(~ p ~ p)", "a"],
    ["div:has(p b, p i)", "l"],
    ["p:first-child", "a"],
    ["div:last-child", "m"],
    ["p:first-of-type", "a"],
    ["p:last-of-type", "e"],
    ["i:only-child", "d"],
    ["b:only-of-type", "b"],
    ["#l > :nth-child(2n)", "be"],
    ["#l > :nth-child(odd)", "ac"],
    ["#l > :nth-child(-n+2)", "ab"],
    ["#l > :nth-last-child(1)", "e"],
    ["p:nth-of-type(2)", "c"],
    ["p:nth-last-of-type(2)", "c"],
    ["p:empty", "e"],
    ["[constructor], [toString]", ""],
  ])("%s", (selector, expected) => expect(ids(list, selector)).toBe(expected));

  it.each([
    "[[",
    "",
    "a >",
    "> a",
    "a:hover",
    "a:nth-child(x)",
    "a:nth-child(2 of b)",
    "a::before",
    "svg|a",
    "a:visible",
    "p:contains('x')",
    "a || b",
    "[a!=b]",
    "b:not(:hover)",
  ])("refuses %s by name", (selector) => {
    expect(() => parseSelector("elements.0.selector", selector)).toThrow(
      /^elements\.0\.selector: /u,
    );
  });

  it("reads the elements that authors leave out, as browsers do", () => {
    const html = "<title>T</title> <p>a<p>b<table><tr><td>1<tfoot><tr><td>2</table><ul><li>x<li>y";
    const tree = runThrough(readTree(html));
    const written = runThrough(htmlOf(tree, 0, { characters: 1000 }, true));
    expect(written).toBe(
      "<html><head><title>T</title></head><body><p>a</p><p>b</p><table><tbody><tr><td>1</td></tr></tbody>" +
        "<tfoot><tr><td>2</td></tr></tfoot></table><ul><li>x</li><li>y</li></ul></body></html>",
    );
    expect(
      ids("<body id=b><div id=d></body><p id=p>after<html id=h><body class=k>", "body.k > p"),
    ).toBe("p");
    expect(ids("<div id=d></div><body id=b class=k><p id=p>", ".k > *")).toBe("dp");
    expect(ids("<head><noscript><body id=b></noscript></head><p id=p>", "body > p")).toBe("p");
  });

  it("gives text as a reader sees it, inner HTML as browsers write it, and attributes", () => {
    const html =
      '<div id=o TITLE="a&quot;&lt;"><h1> A\n b </h1><p>c<br>d</p><p>e &amp; <b>f</b>g</p><script>x()</script>' +
      "<p hidden>no</p><table><tr><td>1<td>2</table><pre>\n k\n  l</pre>&nbsp;m</div>";
    const [found] = find(html, "#o");
    expect(found?.text).toBe("A b\n\nc\nd\n\ne & fg\n\n1\t2\n k\n  l\n\u00a0m");
    expect(found?.attributes).toEqual([
      { name: "id", value: "o" },
      { name: "title", value: 'a"<' },
    ]);
    expect(found?.html).toContain("<p>e &amp; <b>f</b>g</p><script>x()</script>");
    expect(found?.html).toMatch(/&nbsp;m$/);
    expect(find(html, "script")[0]).toMatchObject({ text: "x()", html: "x()" });
    expect(find("<p>a <b> b</b>  <i>c </i> d", "p")[0]?.text).toBe("a b c d");
  });

  it("takes time that grows with the document, whatever the selector", () => {
    const count = 20_000;
    const shapes = ["<b>".repeat(400).concat("<i>".repeat(count)), "<p></p>".repeat(count)];
    const hostile = ["* ".repeat(40), "* ~ ".repeat(40), "*:has(~ * * ~ *) ".repeat(8)];
    let steps = 0;
    for (const html of shapes)
      for (const selector of hostile) {
        const run = scrape(html, [`${selector} none`]);
        for (let step = run.next(); step.done !== true; step = run.next()) steps += 1;
      }
    expect(steps).toBeLessThan(3000);
  });

  it("bounds what it answers and what it reads", () => {
    expect(() => find("<b>".repeat(400) + "x".repeat(60_000), "b")).toThrow(/too much HTML/);
    expect(() => find("<p>".repeat(200_001), "i")).toThrow(/more than 200000 elements/);
  });
});
