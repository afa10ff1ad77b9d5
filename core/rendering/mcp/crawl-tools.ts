import * as v from "valibot";
import { notFound } from "../../http/api-error.ts";
import { type McpTool, mcpTool } from "../../mcp/mcp-tool.ts";
import type { SitePage } from "../../ports.ts";
import { beginCrawl } from "../crawl/begin/begin-crawl.ts";
import { siteCrawler } from "../crawl/begin/site-crawler.ts";
import type { CrawlWork } from "../crawl/crawl-deps.ts";

interface CrawlingAccount {
  readonly account: string;
  readonly signal: AbortSignal;
  /** The `traceparent` of the request; null without tracing. */
  readonly trace: string | null;
}

/** Pages of one crawl, characters of Markdown of one result, and bytes of one page. */
const PAGES = 100;
const TEXT = 200_000;
const PAGE_BYTES = 4 * TEXT;

const patterns = v.optional(
  v.pipe(v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(1000))), v.maxLength(20)),
);

/** Makes the tools that read a site: one begins, and the other returns what has been read. */
export function crawlTools(deps: CrawlWork, caller: CrawlingAccount): McpTool[] {
  return [beginTool(deps, caller), readTool(deps, caller)];
}

function beginTool(deps: CrawlWork, caller: CrawlingAccount): McpTool {
  return mcpTool(
    {
      name: "crawl",
      title: "Read a site",
      description:
        "Begins to read a web site page by page, and returns an id at once. The tool crawl_result returns the pages by it.",
      isReading: false,
      isOpen: true,
    },
    {
      url: [
        v.pipe(v.string(), v.minLength(1), v.maxLength(2048)),
        { type: "string", description: "The address of the first page" },
      ],
      limit: [
        v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(PAGES)), 10),
        { type: "integer", minimum: 1, maximum: PAGES, default: 10 },
      ],
      depth: [
        v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(PAGES))),
        { type: "integer", minimum: 0, maximum: PAGES, description: "Links from the first page" },
      ],
      include_patterns: [
        patterns,
        {
          type: "array",
          items: { type: "string" },
          description: "Addresses or paths; * is any text without a slash, ** any text",
        },
      ],
      exclude_patterns: [patterns, { type: "array", items: { type: "string" } }],
    },
    async ({ url, limit, depth, include_patterns: include, exclude_patterns: exclude }) => {
      const body = {
        url,
        limit,
        ...(depth === undefined ? {} : { depth }),
        formats: ["markdown"] as const,
        render: "auto" as const,
        crawlPurposes: ["ai-input"] as const,
        options: { includePatterns: include, excludePatterns: exclude },
      };
      const { id } = await beginCrawl(deps, body, caller);
      return { structured: { id, status: "running" } };
    },
  );
}

function readTool(deps: CrawlWork, { account }: CrawlingAccount): McpTool {
  return mcpTool(
    {
      name: "crawl_result",
      title: "Read the pages of a crawl",
      description: `Returns the pages that a crawl has read so far as Markdown, about ${TEXT} characters at a time. Ask again with cursor for more, and while status is running.`,
      isReading: true,
      isOpen: false,
    },
    {
      id: [
        v.pipe(v.string(), v.regex(/^[\da-f-]{36}$/u, "The id of a crawl is needed")),
        { type: "string", description: "The id that the tool crawl returned" },
      ],
      cursor: [
        v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 0),
        { type: "integer", minimum: 0, default: 0 },
      ],
    },
    async ({ id, cursor }) => {
      const crawler = siteCrawler(deps);
      const found = await crawler.read(account, id, cursor, PAGES);
      if (found === null) throw notFound("crawl job", id);
      const shown: Record<string, unknown>[] = [];
      let next = found.next;
      let room = TEXT;
      for (const page of found.pages) {
        if (room <= 0) {
          next = page.seq;
          break;
        }
        const text = page.status === "read" ? await textOf(page) : "";
        shown.push({ ...shownPage(page), ...(text === "" ? {} : { markdown: text }) });
        room -= text.length;
      }
      const { status, total, finished } = found.crawl;
      const rest = next === null ? {} : { cursor: next };
      return { structured: { status, total, finished, pages: shown, ...rest } };

      async function textOf({ seq }: SitePage): Promise<string> {
        const bytes = await crawler.markdown(account, id, seq, PAGE_BYTES);
        if (bytes === null) return "(The page is too long for this tool.)";
        return new TextDecoder().decode(bytes).slice(0, TEXT).toWellFormed();
      }
    },
  );
}

function shownPage({ url, status, ...page }: SitePage): Record<string, unknown> {
  return {
    url,
    status,
    ...("title" in page && page.title !== undefined ? { title: page.title } : {}),
    ...("error" in page && page.error !== undefined ? { error: page.error } : {}),
  };
}
