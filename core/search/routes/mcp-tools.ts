import * as v from "valibot";
import { checkedJson } from "../../http/fields/body.ts";
import { type McpTool, mcpTool, type McpTools } from "../../mcp/mcp-tool.ts";
import { answerOrigin } from "../../net/public-url.ts";
import { searchInstance } from "../answer/ask.ts";
import type { Instance } from "../actor/instance-client.ts";
import { utf8 } from "../../crypto/encoding.ts";
import { extractText } from "../ingest/extract-text.ts";
import { picturesLater } from "./index-item.ts";
import type { WorkOptions } from "../models/search-deps.ts";
import { SEARCH_BODY_LIMIT, searchSchema } from "../state/search-schema.ts";

/** Characters of one document that the tool `fetch` returns. */
const DOCUMENT_LIMIT = 200_000;
/** Chunks of a document that are read at a time. */
const CHUNKS = 100;

const searchArguments = {
  query: [
    v.pipe(v.string(), v.minLength(1), v.maxLength(8000)),
    { type: "string", minLength: 1, maxLength: 8000, description: "A question or words" },
  ],
  max_num_results: [
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(50)), 10),
    { type: "integer", minimum: 1, maximum: 50, default: 10 },
  ],
  filters: [
    v.optional(v.record(v.string(), v.unknown())),
    {
      type: "object",
      description:
        'Metadata that documents must have, such as {"folder": "docs/", "year": {"$gte": 2020}}',
    },
  ],
  sort: [
    v.optional(v.pipe(v.array(v.string()), v.maxLength(3))),
    {
      type: "array",
      items: { type: "string" },
      maxItems: 3,
      description: 'Orders by metadata, such as ["year:desc"]',
    },
  ],
  distinct: [
    v.optional(v.string()),
    {
      type: "string",
      description: 'Shows each value of this field once; "key" shows each document once',
    },
  ],
  query_operators: [
    v.optional(v.boolean()),
    {
      type: "boolean",
      description: 'Reads "phrases in quotation marks" and -exclusions in the query',
    },
  ],
} as const;
const identifier = v.pipe(v.string(), v.minLength(1), v.maxLength(128));

/** An instance that is asked, and what its tools need for that. */
interface AskedInstance {
  readonly id: string;
  readonly instance: Instance;
  readonly options: WorkOptions;
  readonly request: Request;
}

/** Makes the tools of an instance: one searches, the other reads a whole document. */
export function searchTools(
  id: string,
  instance: Instance,
  options: WorkOptions,
  request: Request,
): McpTools {
  const asked = { id, instance, options, request };
  return { name: id, tools: [searchTool(asked), fetchTool(asked)] };
}

function searchTool(asked: AskedInstance): McpTool {
  const { id, instance, options, request } = asked;
  return mcpTool(
    {
      name: "search",
      title: `Search ${id}`,
      description: `Finds passages of the documents in "${id}", best first. The tool fetch reads a whole document by the id of a result.`,
      isReading: true,
      isOpen: false,
    },
    searchArguments,
    async ({ query, ...retrieval }) => {
      const body = { query, ai_search_options: { retrieval } };
      const checked = checkedJson(body, searchSchema, SEARCH_BODY_LIMIT);
      const { chunks } = await searchInstance(instance, checked, options, request.signal);
      const found = chunks.map(({ id: chunk, item, text, score, page_number: page }) => ({
        id: chunk,
        title: item.key,
        url: downloadUrl(asked, itemOf(chunk)),
        text,
        score,
        ...(page !== undefined && { page_number: page }),
      }));
      return { structured: { results: found } };
    },
  );
}

function fetchTool(asked: AskedInstance): McpTool {
  const { id: name, instance, options } = asked;
  return mcpTool(
    {
      name: "fetch",
      title: `Read a document of ${name}`,
      description: "Reads the text of a whole document by the id of a search result.",
      isReading: true,
      isOpen: false,
    },
    { id: [identifier, { type: "string", minLength: 1, maxLength: 128 }] },
    async ({ id }) => {
      const itemId = itemOf(id);
      const [item, content] = await Promise.all([instance.item(itemId), instance.content(itemId)]);
      const read = await extractText<"later">(content, options, () =>
        picturesLater(instance, options),
      );
      const text = read === "later" ? await indexedText(instance, itemId) : read.text;
      const isCut = text.length > DOCUMENT_LIMIT;
      return {
        structured: {
          id,
          title: item.key,
          text: text.slice(0, DOCUMENT_LIMIT).toWellFormed(),
          url: downloadUrl(asked, itemId),
          metadata: { ...item.metadata, ...(isCut && { truncated: true }) },
        },
      };
    },
  );
}

/** Returns the text that is indexed of a document, whose pictures would take long to be read again. */
async function indexedText(instance: Instance, itemId: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let end = 0;
  for (let offset = 0; text.length <= DOCUMENT_LIMIT; offset += CHUNKS) {
    const { chunks } = await instance.chunks(itemId, CHUNKS, offset);
    for (const chunk of chunks) {
      if (chunk.start_byte > end) text += "\n\n";
      // Chunks overlap.
      text += decoder.decode(utf8(chunk.text).subarray(Math.max(0, end - chunk.start_byte)));
      end = chunk.end_byte;
    }
    if (chunks.length < CHUNKS) break;
  }
  return text;
}

/** Returns the item of a chunk's id; the id of an item is its own. */
function itemOf(chunk: string): string {
  return chunk.split(":", 1)[0] ?? "";
}

function downloadUrl({ request, options }: AskedInstance, itemId: string): string {
  const origin = answerOrigin(request, options.publicUrl);
  const path = new URL(`items/${encodeURIComponent(itemId)}/download`, request.url).pathname;
  return `${origin}${path}`;
}
