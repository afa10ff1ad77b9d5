/**
 * Search instances for clients of the Model Context Protocol. Needs the package `@modelcontextprotocol/server`; nothing
 * else of causey imports it.
 *
 * @module
 */
import { ApiError } from "../../http/api-error.ts";
import type { ServeMcp } from "../models/search-deps.ts";

export type {
  McpDocument,
  McpResult,
  McpSearchOptions,
  McpTools,
  ServeMcp,
} from "../models/search-deps.ts";

/**
 * Serves the tools `search` and `fetch` of an instance over Streamable HTTP, without sessions, to clients of the protocol's
 * revisions 2024-11-05 to 2026-07-28 (https://modelcontextprotocol.io/specification). The error of a tool is its result,
 * with `isError`.
 *
 * @example
 * ```ts
 * import { memoryPlatform } from "causey/memory";
 * import { search } from "causey/search";
 * import { serveMcp } from "causey/search/mcp";
 *
 * const app = search({ platform: await memoryPlatform(), mcp: serveMcp });
 * ```
 */
export const serveMcp: ServeMcp = async (request, body, tools, closing) => {
  const { answerMcp } = await import("./mcp-server.ts").catch((error: unknown) => {
    const message = "mcp: Install the package @modelcontextprotocol/server";
    throw new ApiError("missing_capability", { message, cause: error });
  });
  return answerMcp(request, body, tools, closing);
};
