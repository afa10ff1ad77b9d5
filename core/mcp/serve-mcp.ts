import { ApiError } from "../http/api-error.ts";
import type { ServeMcp } from "./mcp-tool.ts";

/**
 * Serves the tools of an endpoint over Streamable HTTP, without sessions, to clients of the protocol's revisions 2024-11-05
 * to 2026-07-28 (https://modelcontextprotocol.io/specification). The error of a tool is its result, with `isError`.
 *
 * @example
 * ```ts
 * import { memoryPlatform } from "causey/memory";
 * import { rendering } from "causey/rendering";
 * import { serveMcp } from "causey/rendering/mcp";
 *
 * const platform = await memoryPlatform();
 * // The app's own middleware authenticates callers.
 * const app = rendering({ platform, auth: "off", mcp: serveMcp });
 * const answer = await app.request("/accounts/local/browser-rendering/mcp", {
 *   method: "POST",
 *   headers: {
 *     "Content-Type": "application/json",
 *     "Accept": "application/json, text/event-stream",
 *   },
 *   body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
 * });
 * answer.status; // → 200
 * ```
 */
export const serveMcp: ServeMcp = async (request, body, tools, closing) => {
  const { answerMcp } = await import("./mcp-server.ts").catch((error: unknown) => {
    const message = "mcp: Install the package @modelcontextprotocol/server";
    throw new ApiError("missing_capability", { message, cause: error });
  });
  return answerMcp(request, body, tools, closing);
};
