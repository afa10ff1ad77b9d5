import {
  createMcpHandler,
  McpServer,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import type * as v from "valibot";
import { ApiError } from "../http/api-error.ts";
import type { McpTool, McpTools, ServeMcp } from "./mcp-tool.ts";

/** Answers one request by the package. Every request has a server of its own, without sessions. */
export const answerMcp: ServeMcp = async (request, body, tools, closing) => {
  const handler = createMcpHandler(() => serverOf(tools), { maxSubscriptions: 0, keepAliveMs: 0 });
  const close = (): void => void handler.close();
  closing?.addEventListener("abort", close, { once: true });
  try {
    return await handler.fetch(request, { parsedBody: body });
  } finally {
    closing?.removeEventListener("abort", close);
  }
};

function serverOf({ name, tools }: McpTools): McpServer {
  const server = new McpServer({ name: `causey: ${name}`, version: "1.0.0" });
  for (const tool of tools) {
    const { title, description, isReading, isOpen } = tool;
    server.registerTool(
      tool.name,
      {
        title,
        description,
        inputSchema: withJson(tool.schema, { ...tool.json }),
        annotations: { readOnlyHint: isReading, openWorldHint: isOpen },
      },
      (given: unknown) => resultOf(tool, given),
    );
  }
  return server;
}

/** Returns a tool's result: an object as text, too, which every client reads. */
async function resultOf(tool: McpTool, given: unknown) {
  try {
    const result = await tool.run(given);
    if ("content" in result) return { content: [...result.content] };
    const { structured } = result;
    const content = [{ type: "text" as const, text: JSON.stringify(structured) }];
    return { content, structuredContent: { ...structured } };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { content: [{ type: "text" as const, text: error.message }], isError: true };
  }
}

/** Makes a schema that also tells its JSON Schema, as the protocol shows it. */
function withJson<S extends v.GenericSchema>(
  schema: S,
  json: Record<string, unknown>,
): StandardSchemaWithJSON<v.InferInput<S>, v.InferOutput<S>> {
  const standard = schema["~standard"];
  return {
    "~standard": { ...standard, jsonSchema: { input: () => json, output: () => json } },
  };
}
