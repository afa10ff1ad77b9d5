import type { Context, Hono, MiddlewareHandler } from "hono";
import { workOwner } from "../../auth/authorize.ts";
import { answerAtMcp, type McpEndpoint } from "../../mcp/mcp-endpoint.ts";
import { traceparentOf } from "../../trace/trace-context.ts";
import { type CrawlDeps, crawlWork } from "../crawl/crawl-deps.ts";
import { crawlTools } from "./crawl-tools.ts";
import { type AskPage, pageTools } from "./page-tools.ts";

/** Bytes of a message. */
const BODY = 1024 * 1024;

/** The parts of rendering that its tools use. */
export interface RenderMcp {
  readonly endpoint: McpEndpoint;
  readonly crawls: CrawlDeps;
  /** Whether a model finds data in pages. */
  readonly hasModel: boolean;
  readonly guard: MiddlewareHandler;
  /** Renders for the caller of a request. */
  readonly askFor: (c: Context, request: Request) => AskPage;
}

/** Registers the endpoint for clients of the Model Context Protocol below each prefix. */
export function renderMcpRoutes(
  app: Hono,
  prefixes: readonly string[],
  { endpoint, crawls, hasModel, guard, askFor }: RenderMcp,
): void {
  const bounds = { factory: "rendering", limit: BODY };
  for (const prefix of prefixes) {
    app.post(`${prefix}/mcp`, guard, (c) =>
      answerAtMcp(c, endpoint, bounds, (request) => {
        const caller = {
          account: c.req.param("account_id") ?? "",
          signal: request.signal,
          trace: traceparentOf(c.req.raw),
        };
        const pages = pageTools(askFor(c, request), endpoint.platform.system);
        const tools = hasModel ? pages : pages.filter(({ name }) => name !== "json");
        return {
          name: "rendering",
          tools: [...tools, ...crawlTools(crawlWork(crawls, workOwner(c)), caller)],
        };
      }),
    );
  }
}
