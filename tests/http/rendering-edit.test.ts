import { getDocumentProxy } from "unpdf";
import { describe, expect, inject, it } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { pdf } from "../fakes/search-documents.ts";
import { missingBrowser } from "./render-client.ts";
import { targetName } from "./target.ts";

const base = inject("baseUrl");
const token = inject("token");
const account = inject("accountId");

/** The Worker of `serve:workers` is uploaded whole, so it has no library for it. */
const noEditor = targetName() === "workers" ? "serve:workers brings no editor of PDFs" : undefined;
const withEditor = itUnless(noEditor);
const withBoth = itUnless(noEditor ?? missingBrowser);

type Files = Readonly<Record<string, Uint8Array<ArrayBuffer> | string>>;

function post(name: string, files: Files, options: object): Promise<Response> {
  const form = new FormData();
  for (const [file, content] of Object.entries(files))
    form.append("files", new File([content], file));
  form.append("options", JSON.stringify(options));
  return fetch(`${base}/client/v4/accounts/${account}/browser-rendering/${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: form,
  });
}

async function open(answer: Response) {
  const bytes = new Uint8Array(await answer.arrayBuffer());
  expect(answer.status, new TextDecoder().decode(bytes.subarray(0, 500))).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/pdf");
  const document = await getDocumentProxy(bytes.slice(), { verbosity: 0 });
  const texts: string[] = [];
  for (let n = 1; n <= document.numPages; n++) {
    const { items } = await (await document.getPage(n)).getTextContent();
    texts.push(
      items
        .map((item) => ("str" in item ? item.str : ""))
        .join(" ")
        .trim(),
    );
  }
  return { bytes, document, texts };
}

const chapters = `<!doctype html><html lang="en"><title>Chapters</title>
  <style>h1 { break-before: page; break-inside: avoid }</style>
  <p><a href="#two">to the second</a><h1 id="one">First chapter</h1><h1 id="two">Second chapter</h1>`;
const options = { pdfOptions: { outline: true, tagged: true } };

describe("a PDF that Chromium has printed", () => {
  withBoth("is an invoice with its data, a stamp and a name", async () => {
    const answer = await post(
      "pdf",
      { "index.html": "<h1>Invoice 7</h1>", "factur-x.xml": "<invoice/>" },
      {
        edit: {
          metadata: { title: "Invoice 7", author: "ACME" },
          attachments: [{ file: "factur-x.xml", type: "text/xml", relationship: "Alternative" }],
          stamps: [{ text: "COPY", rotate: 30, opacity: 0.2 }],
        },
      },
    );
    expect(Number(answer.headers.get("x-browser-ms-used"))).toBeGreaterThan(0);
    const { document, texts } = await open(answer);
    expect(texts).toEqual([expect.stringMatching(/Invoice 7.*COPY/u)]);
    expect((await document.getMetadata()).info).toMatchObject({
      Title: "Invoice 7",
      Author: "ACME",
    });
    expect(await document.getAttachmentContent("factur-x.xml")).toEqual(
      new TextEncoder().encode("<invoice/>"),
    );
    // It is still tagged.
    expect(await document.getMarkInfo()).toMatchObject({ Marked: true });
  });

  withBoth("goes between a cover and terms, and its links and bookmarks stay", async () => {
    const printed = await open(await post("pdf", { "index.html": chapters }, options));
    const merge = ["page.pdf", "terms.pdf"];
    const files = { "index.html": chapters, "terms.pdf": pdf("Terms") };
    const { document, texts } = await open(
      await post("pdf", files, { ...options, edit: { merge } }),
    );
    expect(texts).toEqual([...printed.texts, "Terms"]);
    const outline = await document.getOutline();
    expect(outline.map(({ title }) => title)).toEqual(["First chapter", "Second chapter"]);
    // Behind a cover the same links lead to the same pages.
    const covered = await post(
      "pdf/edit",
      { "cover.pdf": pdf("Cover"), "printed.pdf": printed.bytes },
      { pages: "1-" },
    );
    const behind = await open(covered);
    expect(behind.texts).toEqual(["Cover", ...printed.texts]);
    const [link] = await (await behind.document.getPage(2)).getAnnotations();
    expect(Array.isArray(link?.dest)).toBe(true);
    expect(await behind.document.getPageIndex(link?.dest[0])).toBe(behind.document.numPages - 1);
    // A choice of its pages can be made of the result, too.
    const last = await open(await post("pdf/edit", { "a.pdf": behind.bytes }, { pages: "4" }));
    expect(last.texts).toEqual(["Second chapter"]);
  });
});

describe("PDFs that are sent", () => {
  withEditor("are merged", async () => {
    const files = { "a.pdf": pdf("a"), "b.pdf": pdf("b1", "b2") };
    const answer = await post("pdf/edit", files, { pages: "3,1" });
    expect(answer.headers.get("x-browser-ms-used")).toBe("0");
    expect((await open(answer)).texts).toEqual(["b2", "a"]);
  });

  withEditor("that cannot be read are a 400 with the name of the file", async () => {
    const answer = await post("pdf/edit", { "a.pdf": "%PDF-1.7 and no more" }, {});
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { errors: [{ message: 'merge: "a.pdf" is damaged' }] },
    ]);
  });

  it("need an editor, and without one that is said", async () => {
    const answer = await post("pdf/edit", { "a.pdf": pdf("a") }, {});
    if (noEditor === undefined) expect(answer.status).toBe(200);
    else
      expect([answer.status, await answer.json()]).toMatchObject([
        503,
        { errors: [{ message: expect.stringContaining("editPdf") }] },
      ]);
  });
});
