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
