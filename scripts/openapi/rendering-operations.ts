import type { Operation, Operations } from "./operation.ts";

const page = { url: "https://example.com" };

const examples: Readonly<Record<string, unknown>> = {
  scrape: { ...page, elements: [{ selector: "h1" }] },
  json: { ...page, prompt: "The product's name and price" },
};

/** The operations that take a page and its files as a form. */
const uploads: ReadonlySet<string> = new Set([
  "pdf",
  "screenshot",
  "markdown",
  "content",
  "snapshot",
]);

/** Renderings of one page. */
export const rendering: Operations = Object.fromEntries(
  (
    [
      ["pdf", "RenderPdf", "Render a page as PDF", "pdf", undefined],
      ["screenshot", "RenderScreenshot", "Take a picture of a page", "image", undefined],
      ["markdown", "Render", "Convert a page to Markdown", "rendering", "RenderedText"],
      ["content", "Render", "Read a page's HTML once it has loaded", "rendering", "RenderedText"],
      ["json", "RenderJson", "Find data in a page with a model", "rendering", "RenderedData"],
      ["links", "RenderLinks", "List a page's links", "rendering", "RenderedLinks"],
      [
        "scrape",
        "RenderScrape",
        "Read elements of a page by CSS selectors",
        "rendering",
        "RenderedElements",
      ],
      [
        "snapshot",
        "RenderSnapshot",
        "Read a page's HTML and take a picture of it",
        "rendering",
        "RenderedSnapshot",
      ],
      [
        "accessibilityTree",
        "RenderAccessibilityTree",
        "Read a page's accessibility tree",
        "rendering",
        "RenderedTree",
      ],
    ] as const
  ).map(([name, body, summary, answer, result]): [string, Operation] => [
    `POST /${name}`,
    {
      summary,
      body,
      answer,
      ...(result !== undefined && { result }),
      query: ["cacheTTL"],
      isUpload: uploads.has(name),
      example: examples[name] ?? page,
    },
  ]),
);

/** Changes of PDFs, crawls, and the map of a site. */
export const crawls: Operations = {
  "POST /pdf/edit": {
    summary: "Merge, select, stamp, describe, attach to and split PDFs",
    body: "PdfEdit",
    answer: "pdf",
    isUpload: true,
    example: { files: [{ name: "a.pdf", content: "JVBERi0xLjcK" }], pages: "1-3" },
  },
  "POST /crawl": {
    result: "CrawlId",
    summary: "Crawl a site; answers the id of the job",
    body: "RenderCrawl",
    query: ["cacheTTL"],
    example: { ...page, render: false, formats: ["markdown"] },
  },
  "GET /crawl": {
    result: "CrawlList",
    summary: "List the crawls",
    query: ["cursor", "limit", "status"],
  },
  "GET /crawl/:job_id": {
    result: "CrawlState",
    summary: "Read a crawl and its pages",
    query: ["cursor", "limit", "status", "cacheTTL"],
  },
  "GET /crawl/:job_id/llms.txt": {
    summary: "Read the llms.txt of the pages of a crawl",
    answer: "text",
  },
  "POST /map": {
    result: "SiteMap",
    summary: "List the addresses of a site: its sitemaps, and the links of its start",
    body: "RenderMap",
    example: page,
  },
  "POST /mcp": {
    answer: "events",
    summary:
      "Render by the Model Context Protocol (Streamable HTTP): tools markdown, links, json, screenshot, pdf, crawl and crawl_result",
    freeBody: "json",
    example: { jsonrpc: "2.0", id: 1, method: "tools/list" },
  },
  "DELETE /crawl/:job_id": { result: "CrawlEnd", summary: "Cancel a crawl" },
};
