import { openPlatform } from "#platform";
import { describe, expect, it } from "vitest";
import type { InboundResponse } from "../../../core/ports.ts";
import type { RenderingSettings } from "../../../core/rendering/mod.ts";
import { pdfReader } from "../../../core/rendering/pdf/mod.ts";
import { mainContent } from "../../../core/rendering/extract/mod.ts";
import { readHere } from "../../fakes/read-here.ts";
import { crawlUnderTest, type PlayedSite } from "../../fakes/rendering-crawl.ts";
import { lockedPdf, pdf } from "../../fakes/search-documents.ts";

const root = "https://example.com";
const url = `${root}/report.pdf`;
const served = (
  body: Uint8Array<ArrayBuffer>,
  ...more: InboundResponse["headers"]
): Partial<InboundResponse> => ({ headers: [["content-type", "application/pdf"], ...more], body });
const report = pdf({ text: "Bridges & <stones>", link: `${root}/stones` }, "The second page");
const site: PlayedSite = {
  [`${root}/`]: `<a href="/report.pdf">r</a>`,
  [url]: served(report, ["content-disposition", "attachment"]),
  [`${root}/locked`]: served(lockedPdf()),
  [`${root}/broken`]: served(new TextEncoder().encode("%PDF-1.7\nnothing")),
  [`${root}/scan`]: served(pdf("", "")),
  [`${root}/huge`]: served(new Uint8Array(32 * 1024 * 1024 + 1)),
  [`${root}/stones`]: "<p>stones",
};

interface Answer {
  readonly result: string;
  readonly errors: readonly { readonly code: number; readonly message: string }[];
  readonly meta: Readonly<Record<string, unknown>>;
}

/** Renders without a browser, of a site with PDFs. */
async function opened(options: Partial<RenderingSettings> = { readPdf: pdfReader }) {
  const platform = { ...(await openPlatform()), ...readHere };
  const { app, crawl } = await crawlUnderTest(site, options, platform);
  const send = (name: string, body: object): Promise<Response> =>
    Promise.resolve(
      app.request(`http://test/accounts/a/browser-rendering/${name}?cacheTTL=0`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ url, render: false, ...body }),
      }),
    );
  const ask = async (name: string, body: object = {}): Promise<Answer & { status: number }> => {
    const response = await send(name, body);
    return { ...((await response.json()) as Answer), status: response.status };
  };
  return { send, ask, crawl };
}

describe("a url that is a PDF", () => {
  it("is read as Markdown, page by page, and meta says what it was", async () => {
    const { ask } = await opened();
    expect(await ask("markdown")).toMatchObject({
      status: 200,
      result: [
        "## Page 1",
        String.raw`Bridges & \<stones>`,
        `- [${root}/stones](${root}/stones)`,
        "## Page 2",
        "The second page",
      ].join("\n\n"),
      meta: { status: 200, finalUrl: url, document: { type: "application/pdf", pages: 2 } },
    });
  });

  it("has HTML, links and parts as any page", async () => {
    const { ask } = await opened({ readPdf: pdfReader, extract: mainContent });
    const { result: html } = await ask("content");
    expect(html).toContain(
      '<section id="page-1">\n<h2>Page 1</h2>\n<p>Bridges &amp; &lt;stones&gt;',
    );
    expect((await ask("links")).result).toEqual([`${root}/stones`]);
    const second = await ask("markdown", { includeTags: ["#page-2"] });
    expect(second.result).toBe("## Page 2\n\nThe second page");
    const elements = [{ selector: "#page-2 p" }];
    expect((await ask("scrape", { elements })).result).toMatchObject([
      { results: [{ text: "The second page" }] },
    ]);
  });

  it("is passed on by /pdf, with a reader and without", async () => {
    for (const options of [{ readPdf: pdfReader }, {}]) {
      const { send, ask } = await opened(options);
      const answer = await send("pdf", {});
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/pdf"]);
      expect(new Uint8Array(await answer.arrayBuffer())).toEqual(report);
      const page = await ask("pdf", { url: `${root}/stones` });
      expect([page.status, page.errors[0]?.message]).toEqual([
        400,
        "render: The URL is a page, and only a browser prints one: leave render out",
      ]);
      expect((await ask("pdf", { html: "<p>x" })).status).toBe(400);
    }
  });

  it.each([
    ["/locked", 5002, "The URL is a PDF, and it is protected by a password"],
    ["/broken", 5002, "The URL is a PDF, and it is damaged"],
    ["/scan", 5002, "The URL is a PDF, and it has no text, perhaps only pictures of it"],
    ["/huge", 6003, "The page has more than 33554432 bytes"],
  ])("is refused with the reason: %s", async (path, code, message) => {
    const { ask } = await opened();
    const { status, errors } = await ask("markdown", { url: root + path });
    expect([status, errors[0]?.code, errors[0]?.message]).toEqual([422, code, message]);
  });

  it("needs the option", async () => {
    const { ask } = await opened({});
    const { status, errors } = await ask("markdown");
    expect([status, errors[0]?.code]).toEqual([422, 5002]);
    expect(errors[0]?.message).toContain("give rendering() the option readPdf");
  });

  it("is a page of a crawl, and its links are followed", async () => {
    const { crawl } = await opened();
    const { records } = await crawl({ url: root, source: "links", formats: ["markdown"] });
    expect(records[1]).toMatchObject({
      url,
      status: "completed",
      markdown: expect.stringContaining("## Page 2\n\nThe second page"),
      metadata: { status: 200, document: { type: "application/pdf", pages: 2 } },
    });
    expect(records[2]).toMatchObject({ url: `${root}/stones`, status: "completed" });
  });
});
