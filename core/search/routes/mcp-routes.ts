import type { Hono } from "hono";
import { workOwner } from "../../auth/authorize.ts";
import { ApiError } from "../../http/api-error.ts";
import { checkedJson, parseJson, withBytes } from "../../http/fields/body.ts";
import { answerOrigin } from "../../net/public-url.ts";
import { wholeRequest } from "../../http/whole-request.ts";
import type { Log } from "../../ports.ts";
import { traceOf } from "../../trace/trace-context.ts";
import { searchInstance } from "../answer/ask.ts";
import type { Instance } from "../actor/instance-client.ts";
import { extractText } from "../ingest/extract-text.ts";
import { instanceRoots, type RouteContext } from "./route-context.ts";
import type { McpResult, McpTools, SearchOptions, WorkOptions } from "../models/search-deps.ts";
import { SEARCH_BODY_LIMIT, searchSchema } from "../state/search-schema.ts";
import { withTracedModels } from "../models/traced-models.ts";

/** Characters of one document that the tool `fetch` returns. */
const DOCUMENT_LIMIT = 200_000;

/** Registers the endpoint of each instance for clients of the Model Context Protocol. */
export function mcpRoutes(app: Hono, { options, may, instance }: RouteContext): void {
  for (const root of instanceRoots) {
    // One tool searches, the other reads a whole document.
    app.post(`${root}/:id/mcp`, may("AI Search Run"), may("AI Search Read"), async (c) => {
      const { mcp, platform } = options;
      if (mcp === undefined) {
        const message = "This server has no MCP endpoints: give search() the option mcp";
        throw new ApiError("missing_capability", { message });
      }
      const request = await wholeRequest(c.req);
      refuseOtherOrigin(request, options);
      const found = instance(c);
      const { id } = await found.read();
      return withBytes(request, SEARCH_BODY_LIMIT, platform, (bytes) => {
        const traced = withTracedModels(options, traceOf(c.req.raw));
        const own = { ...traced, owner: workOwner(c) };
        const tools = reported(toolsOf(id, found, own, request), platform.log);
        return mcp(request, parseJson(bytes), tools, platform.system.closing);
      });
    });
  }
}

/**
 * Refuses a page of another site: a name that its owner points at this machine would otherwise reach an endpoint that asks
 * for no token. Required by https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning.
 */
function refuseOtherOrigin(
  request: Request,
  { publicUrl }: Pick<SearchOptions, "publicUrl">,
): void {
  const origin = request.headers.get("origin");
  if (origin === null || origin === answerOrigin(request, publicUrl)) return;
  throw new ApiError("forbidden", {
    message: `Origin: this endpoint answers no page of another site than the server's own, which is ${publicUrl ?? "this machine: set publicUrl to change that"}`,
  });
}

function toolsOf(id: string, instance: Instance, options: WorkOptions, request: Request): McpTools {
  const { signal } = request;
  const { url } = request;
  const origin = answerOrigin(request, options.publicUrl);
  return {
    name: id,
    async search(query, retrieval) {
      const body = { query, ai_search_options: { retrieval } };
      const checked = checkedJson(body, searchSchema, SEARCH_BODY_LIMIT);
      const { chunks } = await searchInstance(instance, checked, options, signal);
      return chunks.map(({ id: chunk, item, text, score, page_number: page }): McpResult => ({
        id: chunk,
        title: item.key,
        url: downloadUrl(url, origin, itemOf(chunk)),
        text,
        score,
        ...(page !== undefined && { page_number: page }),
      }));
    },
    async fetch(chunk) {
      const itemId = itemOf(chunk);
      const [item, content] = await Promise.all([instance.item(itemId), instance.content(itemId)]);
      const { text } = await extractText(content, options);
      return {
        id: chunk,
        title: item.key,
        text: text.slice(0, DOCUMENT_LIMIT).toWellFormed(),
        url: downloadUrl(url, origin, itemId),
        metadata: { ...item.metadata, ...(text.length > DOCUMENT_LIMIT && { truncated: true }) },
      };
    },
  };
}

/** Wraps the tools so that unknown failures are logged: the client only learns that they are internal. */
function reported(tools: McpTools, log: Log): McpTools {
  const failed = (error: unknown): never => {
    if (error instanceof ApiError) throw error;
    log("error", "An MCP tool failed", { instance: tools.name, error: String(error) });
    throw new ApiError("internal");
  };
  return {
    name: tools.name,
    search: (query, options) => tools.search(query, options).catch(failed),
    fetch: (id) => tools.fetch(id).catch(failed),
  };
}

/** Returns the item of a chunk's id; the id of an item is its own. */
function itemOf(chunk: string): string {
  return chunk.split(":", 1)[0] ?? "";
}

function downloadUrl(url: string, origin: string, itemId: string): string {
  return `${origin}${new URL(`items/${encodeURIComponent(itemId)}/download`, url).pathname}`;
}
