import type { Context } from "hono";
import { ApiError, invalidRequest } from "../http/api-error.ts";
import { parseJson, withBytes } from "../http/fields/body.ts";
import { wholeRequest } from "../http/whole-request.ts";
import { answerOrigin } from "../net/public-url.ts";
import type { Log, Platform } from "../ports.ts";
import type { McpTool, McpTools, ServeMcp } from "./mcp-tool.ts";

/** Messages of one request: older revisions of the protocol allow several, each of which is a call. */
const MESSAGES = 10;

/** The operator's options that an endpoint for MCP clients needs. */
export interface McpEndpoint {
  readonly platform: Platform;
  readonly publicUrl?: string | undefined;
  readonly mcp?: ServeMcp | undefined;
}

/**
 * Answers a request at an endpoint for MCP clients, which a middleware has authorised. `factory` names the function whose
 * option is missing where there is none; `limit` is in bytes of the body.
 */
export async function answerAtMcp(
  c: Context,
  { platform, publicUrl, mcp }: McpEndpoint,
  { factory, limit }: { readonly factory: string; readonly limit: number },
  toolsFor: (request: Request) => McpTools | Promise<McpTools>,
): Promise<Response> {
  if (mcp === undefined) {
    const message = `This server has no MCP endpoints: give ${factory}() the option mcp`;
    throw new ApiError("missing_capability", { message });
  }
  const request = await wholeRequest(c.req);
  refuseOtherOrigin(request, publicUrl);
  const { name, tools } = await toolsFor(request);
  const own = { name, tools: tools.map((tool) => reported(tool, name, platform.log)) };
  return withBytes(request, limit, platform, (bytes) =>
    mcp(request, messagesOf(bytes), own, platform.system.closing),
  );
}

function messagesOf(bytes: Uint8Array): unknown {
  const body = parseJson(bytes);
  if (!Array.isArray(body) || body.length <= MESSAGES) return body;
  const message = `A request may have at most ${MESSAGES} messages, got ${body.length}`;
  throw invalidRequest(message);
}

/**
 * Refuses a page of another site: a name that its owner points at this machine would otherwise reach an endpoint that asks
 * for no token. Required by https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning.
 */
function refuseOtherOrigin(request: Request, publicUrl: string | undefined): void {
  const origin = request.headers.get("origin");
  if (origin === null || origin === answerOrigin(request, publicUrl)) return;
  throw new ApiError("forbidden", {
    message: `Origin: this endpoint answers only pages of the server's own origin, which is ${publicUrl ?? "this machine: set publicUrl to change that"}`,
  });
}

/** Wraps a tool so that unknown failures are logged: the client only learns that they are internal. */
function reported(tool: McpTool, endpoint: string, log: Log): McpTool {
  const failed = (error: unknown): never => {
    if (error instanceof ApiError) throw error;
    log("error", "An MCP tool failed", { endpoint, tool: tool.name, error: String(error) });
    throw new ApiError("internal");
  };
  return { ...tool, run: (given) => tool.run(given).catch(failed) };
}
