import * as v from "valibot";
import { base64InSteps } from "../../http/json/long-json.ts";
import type { System } from "../../ports.ts";
import { ApiError } from "../../http/api-error.ts";
import { type McpTool, mcpTool, type McpToolResult } from "../../mcp/mcp-tool.ts";
import { PDF } from "../pdf/pdf-reader.ts";

/** Renders by an operation of the API, whose body is given. */
export type AskPage = (
  operation: "markdown" | "screenshot" | "pdf" | "links" | "json",
  body: Readonly<Record<string, unknown>>,
) => Promise<Response>;

/** Characters of text, links, and bytes of a picture and of a PDF that one result has. */
const TEXT = 200_000;
const LINKS = 2000;
const PICTURE = 5 * 1024 * 1024;
const DOCUMENT = 10 * 1024 * 1024;

const address = v.pipe(v.string(), v.minLength(1), v.maxLength(2048));
const flag = v.optional(v.boolean());

/** Arguments of every tool: the page, and what is waited for. */
const pageArguments = {
  url: [v.optional(address), { type: "string", description: "The address of the page" }],
  html: [
    v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(500_000))),
    { type: "string", description: "A document to render instead; url is its base then" },
  ],
  wait_for_selector: [
    v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(1000))),
    { type: "string", description: "A CSS selector whose element is waited for" },
  ],
} as const;

const browserArgument = [
  v.optional(v.picklist(["auto", "always", "never"]), "auto"),
  {
    enum: ["auto", "always", "never"],
    default: "auto",
    description: "Whether a browser loads the page; auto: where only scripts fill it",
  },
] as const;

interface PageArguments {
  readonly url?: string | undefined;
  readonly html?: string | undefined;
  readonly wait_for_selector?: string | undefined;
}

function bodyOf({ url, html, wait_for_selector: selector }: PageArguments) {
  return {
    ...(url === undefined ? {} : { url }),
    ...(html === undefined ? {} : { html }),
    ...(selector === undefined ? {} : { waitForSelector: { selector } }),
  };
}

const ways = { always: true, never: false, auto: "auto" } as const;

/** Returns the fields for the ways to load a page; what is given as `html` is loaded already. */
function wayOf(browser: keyof typeof ways, { html }: PageArguments) {
  return browser === "auto" && html !== undefined ? {} : { render: ways[browser] };
}

const reads = { isReading: true, isOpen: true } as const;

export function pageTools(ask: AskPage, system: System): McpTool[] {
  return [
    markdownTool(ask),
    linksTool(ask),
    jsonTool(ask),
    screenshotTool(ask, system),
    pdfTool(ask, system),
  ];
}

function markdownTool(ask: AskPage): McpTool {
  return mcpTool(
    {
      name: "markdown",
      title: "Read a page",
      description: `Returns a web page as Markdown, cut off after ${TEXT} characters.`,
      ...reads,
    },
    {
      ...pageArguments,
      main_content: [flag, { type: "boolean", description: "Leaves out menus, ads and footers" }],
      browser: browserArgument,
    },
    async ({ main_content: isMain = false, browser, ...page }) => {
      const body = { ...bodyOf(page), ...wayOf(browser, page) };
      const answer = await ask("markdown", { ...body, ...(isMain ? { extract: "main" } : {}) });
      return textResult(v.parse(v.string(), await resultIn(answer)));
    },
  );
}

function linksTool(ask: AskPage): McpTool {
  return mcpTool(
    {
      name: "links",
      title: "List the links of a page",
      description: `Returns the addresses that a web page links to, ${LINKS} at most.`,
      ...reads,
    },
    {
      ...pageArguments,
      exclude_external: [flag, { type: "boolean", description: "Leaves out other hosts" }],
      browser: browserArgument,
    },
    async ({ exclude_external: excludeExternalLinks = false, browser, ...page }) => {
      const body = { ...bodyOf(page), ...wayOf(browser, page), excludeExternalLinks };
      const all = v.parse(v.array(v.string()), await resultIn(await ask("links", body)));
      const links = [...new Set(all)];
      const isCut = links.length > LINKS;
      return { structured: { links: links.slice(0, LINKS), ...(isCut && { truncated: true }) } };
    },
  );
}

function jsonTool(ask: AskPage): McpTool {
  return mcpTool(
    {
      name: "json",
      title: "Find data in a page",
      description: "Has a model read a web page, and returns the data that you ask for.",
      ...reads,
    },
    {
      ...pageArguments,
      prompt: [
        v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(8000))),
        { type: "string", maxLength: 8000, description: "The data that is wanted, in words" },
      ],
      schema: [
        v.optional(v.record(v.string(), v.unknown())),
        { type: "object", description: "A JSON Schema of the data" },
      ],
      browser: browserArgument,
    },
    async ({ prompt, schema, browser, ...page }) => {
      const body = {
        ...bodyOf(page),
        ...wayOf(browser, page),
        ...(prompt === undefined ? {} : { prompt }),
        ...(schema === undefined
          ? {}
          : { response_format: { type: "json_schema", json_schema: schema } }),
      };
      return { structured: { result: await resultIn(await ask("json", body)) } };
    },
  );
}

function screenshotTool(ask: AskPage, system: System): McpTool {
  return mcpTool(
    {
      name: "screenshot",
      title: "Take a picture of a page",
      description: "Returns a picture of a web page, or of one element of it.",
      ...reads,
    },
    {
      ...pageArguments,
      selector: [v.optional(address), { type: "string", description: "The element to show" }],
      full_page: [flag, { type: "boolean", description: "Shows the whole length of the page" }],
      type: [
        v.optional(v.picklist(["png", "jpeg", "webp"]), "png"),
        { enum: ["png", "jpeg", "webp"], default: "png" },
      ],
      width: [
        v.optional(v.pipe(v.number(), v.integer(), v.minValue(200), v.maxValue(3840)), 1280),
        { type: "integer", minimum: 200, maximum: 3840, default: 1280 },
      ],
      height: [
        v.optional(v.pipe(v.number(), v.integer(), v.minValue(200), v.maxValue(3840)), 800),
        { type: "integer", minimum: 200, maximum: 3840, default: 800 },
      ],
    },
    async ({ selector, full_page: fullPage = false, type, width, height, ...page }) => {
      const body = {
        ...bodyOf(page),
        ...(selector === undefined ? {} : { selector }),
        viewport: { width, height },
        screenshotOptions: { type, ...(fullPage ? { fullPage } : {}) },
      };
      const answer = await ask("screenshot", body);
      const picture = await bytesIn(answer, PICTURE, "selector, width or type jpeg");
      const data = await base64InSteps(picture, system);
      const mimeType = answer.headers.get("content-type") ?? `image/${type}`;
      return { content: [{ type: "image", data, mimeType }] };
    },
  );
}

function pdfTool(ask: AskPage, system: System): McpTool {
  return mcpTool(
    {
      name: "pdf",
      title: "Print a page",
      description: "Returns a web page as a PDF.",
      ...reads,
    },
    {
      ...pageArguments,
      format: [
        v.optional(v.pipe(v.string(), v.maxLength(20)), "a4"),
        { type: "string", default: "a4", description: "letter, legal, tabloid, ledger, a0 to a6" },
      ],
      landscape: [flag, { type: "boolean" }],
      print_background: [flag, { type: "boolean", description: "Prints colours behind the text" }],
      page_ranges: [
        v.optional(v.pipe(v.string(), v.maxLength(200))),
        { type: "string", description: 'Pages, such as "1-5, 8"' },
      ],
    },
    async ({
      format,
      landscape,
      print_background: printBackground,
      page_ranges: pageRanges,
      ...page
    }) => {
      const pdfOptions = { format, landscape, printBackground, pageRanges };
      const answer = await ask("pdf", { ...bodyOf(page), pdfOptions });
      const blob = await base64InSteps(await bytesIn(answer, DOCUMENT, "page_ranges"), system);
      const uri = page.url ?? "about:srcdoc";
      return { content: [{ type: "resource", resource: { uri, mimeType: PDF, blob } }] };
    },
  );
}

/** Returns a text as a result, cut off where it is too long for a model. */
export function textResult(text: string): McpToolResult {
  const isCut = text.length > TEXT;
  const shown = text.slice(0, TEXT).toWellFormed();
  const note = isCut ? [`Cut off after ${TEXT} of ${text.length} characters.`] : [];
  return { content: [shown, ...note].map((one) => ({ type: "text", text: one })) };
}

async function resultIn(answer: Response): Promise<unknown> {
  return v.parse(v.object({ result: v.unknown() }), await answer.json()).result;
}

async function bytesIn(answer: Response, limit: number, help: string): Promise<Uint8Array> {
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (bytes.length <= limit) return bytes;
  throw new ApiError("too_large", {
    message: `The result has ${bytes.length} bytes, which is over the limit of ${limit}: ask for less by ${help}`,
  });
}
