import { describe, expect } from "vitest";
import { render, withBrowser } from "./render-client.ts";

// A plain document is shown in a page that has shown others. `userAgent` gives it a page of its own: both are to be the same.

const own = { userAgent: "a page of its own" };
const tall = "<p style='height: 3000px; margin: 0; border-top: 9px solid red'>";
const doctype = "<!doctype html>";

/** What may have been shown before. */
const before: readonly (readonly [name: string, action: string, body: object])[] = [
  ["scrolled", "screenshot", { html: doctype + tall, scrollPage: true }],
  [
    "of the whole page",
    "screenshot",
    { html: doctype + tall, screenshotOptions: { fullPage: true } },
  ],
  ["transparent", "screenshot", { html: "a", screenshotOptions: { omitBackground: true } }],
  [
    "small",
    "screenshot",
    { html: "a", viewport: { width: 100, height: 80, deviceScaleFactor: 2 } },
  ],
  ["for paper", "content", { html: "a", emulateMediaType: "print" }],
  ["in quirks mode", "content", { html: "<table><tr><td>a" }],
  [
    "of another language and direction",
    "content",
    { html: "<html lang=ar dir=rtl><body bgcolor=red>" },
  ],
  ["printed", "pdf", { html: `<style>@page { size: a6 } body { zoom: 3 }</style>${tall}` }],
  ["without an end", "content", { html: "<div><b><table><tr><td><pre>" }],
  ["that is empty", "content", { html: " " }],
];

/** What is shown next. */
const next: readonly (readonly [name: string, html: string])[] = [
  [
    "a document",
    `${doctype}<style>@media print { body { color: red } }</style><title>Next</title><h1>Next</h1>${tall}`,
  ],
  ["one in quirks mode", "<title>Next</title><p>Next<table><tr><td>b"],
];

describe("a plain document", () => {
  for (const [name, action, body] of before)
    withBrowser(`looks as in a page of its own after one ${name}`, async () => {
      for (const [, html] of next) {
        expect((await render(action, body)).status).toBe(200);
        const kept = await render("screenshot", { html });
        expect((await render(action, body)).status).toBe(200);
        const { body: text } = await render("content", { html });
        const alone = await render("screenshot", { html, ...own });
        expect([kept.status, alone.status]).toEqual([200, 200]);
        expect(Buffer.from(kept.bytes).equals(Buffer.from(alone.bytes))).toBe(true);
        expect(text).toEqual((await render("content", { html, ...own })).body);
      }
    });
});

/** Documents that change something, which must not outlive them. */
const changes: readonly string[] = [
  "<meta name=color-scheme content=dark>a",
  "<meta name=color-scheme content='only dark'>a",
  "<meta name=supported-color-schemes content=dark>a",
  "<style>:root { color-scheme: dark }</style>a",
  "<html style='color-scheme: dark'>a",
  "<body style='color-scheme: only dark; background: Canvas'>a",
  "<meta name=theme-color content=red>a",
  "<meta name=referrer content=no-referrer>a",
  "<meta name=viewport content='width=300, initial-scale=3, user-scalable=no'>a",
  "<meta name=HandheldFriendly content=true><meta name=MobileOptimized content=200>a",
  "<meta name=text-scale content=scale>a",
  "<meta http-equiv=Content-Security-Policy content=\"style-src 'none'; sandbox\">a",
  "<meta http-equiv=content-language content=ar>a",
  "<meta http-equiv=default-style content=b>a",
  "<meta http-equiv=x-dns-prefetch-control content=on>a",
  "<meta charset=utf-16>a",
  "<base href=https://example.com/ target=_blank>a",
  "<title>Before</title>a",
  "<html lang=ar dir=rtl>a",
  "<html lang=ja><body>a",
  "<body link=red vlink=red alink=red text=red><a href=https://example.com/>a</a>",
  "<body bgcolor=black leftmargin=90 topmargin=90>a",
  "<style title=a>p { color: red }</style><style title=b>p { color: blue }</style><p>a",
  "<p tabindex=0 autofocus>a",
  "<p contenteditable autofocus>a",
  "<style>html { font-size: 40px; zoom: 2 }</style>a",
  "<style>body { writing-mode: vertical-rl }</style>a",
  "<html style='writing-mode: vertical-rl; direction: rtl'>a",
  "<style>html { overflow: scroll; scrollbar-gutter: stable; background: red }</style>a",
  "<style>@page { size: a6 landscape; margin: 3cm } @page :first { margin: 5cm }</style>a",
  "<style>@property --x { syntax: '<color>'; inherits: true; initial-value: red }</style>a",
  "<style>@layer a, b; @layer b { p { color: red } }</style><p>a",
  "<style>@counter-style x { system: cyclic; symbols: X } li { list-style: x }</style><li>a",
  "<style>@font-palette-values --x { font-family: serif }</style>a",
  "<style>@view-transition { navigation: auto } ::selection { color: red }</style>a",
  "<style>@media print { h1 { display: none } } @keyframes x { to { color: red } } p { animation: x 9s }</style><p>a",
  "<style>@namespace x 'x'; * { counter-increment: x 9; font-family: monospace }</style>a",
  "<p popover>a</p><details name=x open><summary>a</summary>b</details>",
  "<div id=x style='height: 9000px; scroll-snap-type: y mandatory'>a</div><p id=x>b",
  "<style>html { scroll-snap-type: y mandatory } p { scroll-snap-align: end }</style><div style='height: 9000px'>a</div><p>b",
  "<style>p { scroll-initial-target: nearest }</style><div style='height: 9000px'>a</div><p>b",
  "<!doctype html><html class=no-quirks><table><td>a",
  "<frameset><frame></frameset>",
  "<p><table><b><tr><td></b><p>a<plaintext></p>",
  "<svg><style>p { color: red }</style></svg><math><mi>a",
];

/** Shows links, colours of the system, sizes of the root, what is quirky, and how far it is scrolled. */
const last =
  "<title>Next</title><h1>Next</h1><p style='color: CanvasText'>a <a href='https://example.com/'>b</a>" +
  "<p style='font-size: 2rem'>c<table><tr><td>d</table><ol><li>e</ol><details open><summary>f</summary>g</details><p tabindex=0>h" +
  tall;

describe("forty documents that change something", () => {
  const dates = (bytes: Uint8Array): string =>
    Buffer.from(bytes)
      .toString("latin1")
      .replaceAll(/D:\d{14}[^)]*/gu, "");
  withBrowser("leave a plain document the same bytes as in a page of its own", async () => {
    const pages = await Promise.all(
      [last, doctype + last].map(async (html) => ({
        html,
        picture: await render("screenshot", { html, ...own }),
        print: await render("pdf", { html, ...own }),
        text: await render("content", { html, ...own }),
      })),
    );
    for (const [n, change] of changes.entries()) {
      const page = pages[n % 2];
      if (page === undefined) break;
      const { html, picture, print, text } = page;
      expect((await render("screenshot", { html: change })).status, change).toBe(200);
      const pictured = await render("screenshot", { html });
      expect(Buffer.from(pictured.bytes).equals(Buffer.from(picture.bytes)), change).toBe(true);
      const printed = await render("pdf", { html });
      expect(dates(printed.bytes) === dates(print.bytes), change).toBe(true);
      expect((await render("content", { html })).body, change).toEqual(text.body);
    }
  });
});

describe("a page without scripts", () => {
  const off = { setJavaScriptEnabled: false };
  withBrowser("is scrolled through, and given style sheets", async () => {
    const { status } = await render("screenshot", { html: tall, scrollPage: true, ...off });
    expect(status).toBe(200);
    const styled = await render("content", {
      html: "<p>a",
      ...off,
      addStyleTag: [{ content: "p { color: blue }" }],
      addScriptTag: [{ content: "document.body.append('never')" }],
    });
    expect(styled.status).toBe(200);
    expect(styled.body.result).toContain("color: blue");
    expect(styled.body.result).not.toContain("</p>never");
  });
});
