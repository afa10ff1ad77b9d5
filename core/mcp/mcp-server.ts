import {
  createMcpHandler,
  McpServer,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import * as v from "valibot";
import { ApiError } from "../../http/api-error.ts";
import type { McpTools, ServeMcp } from "../models/search-deps.ts";

const question = v.object({
  query: v.pipe(v.string(), v.minLength(1), v.maxLength(8000)),
  max_num_results: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(50)), 10),
  filters: v.optional(v.record(v.string(), v.unknown())),
  sort: v.optional(v.pipe(v.array(v.string()), v.maxLength(3))),
  distinct: v.optional(v.string()),
  query_operators: v.optional(v.boolean()),
});
const questionJson = {
  type: "object",
  properties: {
    query: {
      type: "string",
      minLength: 1,
      maxLength: 8000,
      description: "A question or words",
    },
    max_num_results: { type: "integer", minimum: 1, maximum: 50, default: 10 },
    filters: {
      type: "object",
      description:
        'Metadata that documents must have, such as {"folder": "docs/", "year": {"$gte": 2020}}',
    },
    sort: {
      type: "array",
      items: { type: "string" },
      maxItems: 3,
      description: 'Orders by metadata, such as ["year:desc"]',
    },
    distinct: {
      type: "string",
      description: 'Shows each value of this field once; "key" shows each document once',
    },
    query_operators: {
      type: "boolean",
      description: 'Reads "phrases in quotation marks" and -exclusions in the query',
    },
  },
  required: ["query"],
};
const document = v.object({ id: v.pipe(v.string(), v.minLength(1), v.maxLength(128)) });

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

function serverOf(tools: McpTools): McpServer {
  const server = new McpServer({ name: `causey: ${tools.name}`, version: "1.0.0" });
  const annotations = { readOnlyHint: true, openWorldHint: false };
  server.registerTool(
    "search",
    {
      title: `Search ${tools.name}`,
      description: `Finds passages of the documents in "${tools.name}", best first. The tool fetch reads a whole document by the id of a result.`,
      inputSchema: withJson(question, questionJson),
      annotations,
    },
    async ({ query, ...options }) =>
      result(async () => ({ results: await tools.search(query, options) })),
  );
  server.registerTool(
    "fetch",
    {
      title: `Read a document of ${tools.name}`,
      description: "Reads the text of a whole document by the id of a search result.",
      inputSchema: withJson(document, {
        type: "object",
        properties: { id: { type: "string", minLength: 1, maxLength: 128 } },
        required: ["id"],
      }),
      annotations,
    },
    async ({ id }) => result(() => tools.fetch(id)),
  );
  return server;
}

/** Returns a tool's result as text, which every client reads, and as the object that it is. */
async function result(of: () => Promise<Readonly<Record<string, unknown>>>) {
  try {
    const found = await of();
    const content = [{ type: "text" as const, text: JSON.stringify(found) }];
    return { content, structuredContent: { ...found } };
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
