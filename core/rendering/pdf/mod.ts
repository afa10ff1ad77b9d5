/**
 * PDFs as pages: their text in the place of a page's. Needs the package `unpdf`; nothing else of `causey/rendering` imports it.
 *
 * @module
 */
import { escapeHtml } from "../../text/escape-html.ts";
import { utf8 } from "../../crypto/encoding.ts";
import { ApiError } from "../../http/api-error.ts";
import type { PdfPage } from "../../files/pdf-pages.ts";
import type { PdfReader } from "./pdf-reader.ts";

export type { PdfReader, ReadPdf } from "./pdf-reader.ts";

/**
 * Has `/markdown`, `/json`, `/content`, `/links`, `/scrape` and `/crawl` read a `url` that is a PDF: as HTML with a section for
 * each page, its lines, and the links of the page below them.
 *
 * @example
 * ```ts
 * import { memoryPlatform } from "causey/memory";
 * import { rendering } from "causey/rendering";
 * import { pdfReader } from "causey/rendering/pdf";
 *
 * const app = rendering({ platform: await memoryPlatform(), readPdf: pdfReader });
 * ```
 */
export const pdfReader: PdfReader = {
  name: "rendering/read-pdf",
  kind: "files",
  overrun: unreadable,
  load: () =>
    Promise.resolve(async function* ({ bytes }) {
      const { pdfPages } = await import("../../files/pdf-pages.ts").catch((error: unknown) => {
        throw new ApiError("missing_capability", {
          message: "PDF: Install the package unpdf",
          cause: error,
        });
      });
      const { title, pages } = yield* pdfPages(bytes, unreadable);
      if (pages.every(({ text }) => text.trim() === ""))
        throw unreadable("it has no text, perhaps only pictures of it");
      const html = [
        `<!doctype html><html><head><meta charset="utf-8"><title>${escapeHtml(title)}</title></head><body>`,
      ];
      for (const [index, page] of pages.entries()) {
        html.push(section(page, index + 1));
        yield;
      }
      html.push("</body></html>");
      return { bytes: utf8(html.join("\n")), pages: pages.length };
    }),
};

function unreadable(why: string): ApiError {
  return new ApiError("load_aborted", { message: `The URL is a PDF, and ${why}` });
}

function section({ text, links }: PdfPage, number: number): string {
  const paragraphs = text.trim().split(/\n\s*\n/u);
  const written = paragraphs
    .filter((paragraph) => paragraph !== "")
    .map((paragraph) => `<p>${escapeHtml(paragraph).replaceAll("\n", "<br>\n")}</p>`);
  const items = links.map((url) => `<li><a href="${escapeHtml(url)}">${escapeHtml(url)}</a></li>`);
  return [
    `<section id="page-${number}">`,
    `<h2>Page ${number}</h2>`,
    ...written,
    ...(items.length === 0 ? [] : [`<ul>${items.join("")}</ul>`]),
    "</section>",
  ].join("\n");
}
