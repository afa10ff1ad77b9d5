import { expect, it } from "vitest";
import { runThrough } from "../../../core/work/background.ts";
import { utf8 } from "../../../core/crypto/encoding.ts";
import { emptyShell } from "../../../core/rendering/static/empty-shell.ts";

const stepsOf = await emptyShell.load();
const isEmpty = (html: string): boolean => {
  return runThrough(stepsOf({ bytes: utf8(html), contentType: "text/html" }));
};
const words = "Words that a reader reads. ".repeat(12);
const bundle = '<script src="/bundle.js"></script>';

it("takes for a shell a page that says next to nothing and runs scripts", () => {
  for (const page of [
    `<title>${words}</title><div id="root"></div>${bundle}`,
    `<div id="root">Loading …</div><script type="module" src="/main.js"></script>`,
    `<noscript>${words}</noscript><div class="any"></div><script>start()</script>`,
    `<template>${words}</template><style>${words}</style><x-app></x-app>${bundle}`,
  ])
    expect(isEmpty(page), page).toBe(true);
});

it("takes for a shell a page whose framework has nothing in its element", () => {
  for (const page of [
    `<header>${words}</header><div id="root"></div>${bundle}`,
    `<p>${words}<app-root></app-root>${bundle}`,
    `<p>${words}<div id="__next"><div><svg><text>${words}</text></svg></div></div>${bundle}`,
  ])
    expect(isEmpty(page), page).toBe(true);
});

it("takes for filled any other page", () => {
  for (const page of [
    "",
    "<p>Short, without scripts",
    `<div id="root"><p>${words}</p></div>${bundle}`,
    `<p>${words}</p>${bundle}`,
    `<div id="app"><img src="/a.png"></div><p>${words}</p>${bundle}`,
    // Data is no script.
    '<p>Short<script type="application/ld+json">{}</script>',
    '<div id="root"></div><script type="text/template">x</script>',
  ])
    expect(isEmpty(page), page).toBe(false);
});

it("reads a hostile page in time that grows with it", () => {
  // In time that grows with its square this would last longer than any test may.
  isEmpty(`${'<div id="root">'.repeat(200_000)}${"<script>".repeat(200_000)}`);
});

it("takes for a shell a page that leads elsewhere at once", () => {
  const leading = (content: string): boolean =>
    isEmpty(`<meta http-equiv="Refresh" content="${content}"><p>${words}</p>`);
  for (const content of ["0; url=/next", "0;/next", " 0 , URL='/next'", "0.5 url=/next", "0 /next"])
    expect(leading(content), content).toBe(true);
  for (const content of ["0", "30", "5; url=/next", "10;/next", "", "soon; url=/next"])
    expect(leading(content), content).toBe(false);
});
