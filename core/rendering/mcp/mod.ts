/**
 * Rendering for clients of the Model Context Protocol. Needs the package `@modelcontextprotocol/server`; nothing else of
 * causey imports it, but for `causey/search/mcp`.
 *
 * @module
 */
export { serveMcp } from "../../mcp/serve-mcp.ts";
export type { McpContent, McpTool, McpToolResult, McpTools, ServeMcp } from "../../mcp/mcp-tool.ts";
