import { bodyUpTo } from "../../http/stream.ts";
import { parsedJson } from "../../http/json.ts";
import * as v from "valibot";
import { ApiError, invalidOptions } from "../../http/api-error.ts";
import type { Embedder, HeaderPair, InboundResponse, Transport } from "../../ports.ts";
import { utf8 } from "../../crypto/encoding.ts";
import { withTraceparent } from "../../trace/trace-context.ts";
import { embedInBatches } from "./embed-in-batches.ts";
import { prefixesOf } from "./embedding-prefixes.ts";
import type { NamedChatModel } from "../models/search-deps.ts";

/** The address of an OpenAI-compatible service. */
export interface OpenAiEndpoint {
  /** The base URL as the service's own SDK takes it, e.g. `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  /** Sent as a bearer token. @default none */
  readonly apiKey?: string | undefined;
  /** Sent with every request, e.g. `cf-aig-authorization` for a gateway. @default none */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** An endpoint for embeddings. */
export interface OpenAiEmbeddings extends OpenAiEndpoint {
  /** Length of the vectors; sent to the endpoint only with `sendDimensions`. */
  readonly dimensions: number;
  /** Sends `dimensions` with each request, which some models shorten their vectors by. @default false */
  readonly sendDimensions?: boolean | undefined;
  /** Texts of one request. A server that takes fewer is asked for half as many, and so on. @default 32 */
  readonly batchSize?: number | undefined;
  /** Stands in front of each query. @default what the model is known to expect (e5, nomic, qwen3, bge and others), else "" */
  readonly queryPrefix?: string | undefined;
  /** Stands in front of each text of a document. @default as for `queryPrefix` */
  readonly documentPrefix?: string | undefined;
}

/** Bytes of an embeddings answer that are read. */
const MAX_ANSWER = 64 * 1024 * 1024;

/**
 * Makes a chat model behind any OpenAI-compatible endpoint.
 *
 * @example
 * ```ts
 * import { memoryPlatform } from "causey/memory";
 * import { openAiChatModel, search } from "causey/search";
 *
 * const platform = await memoryPlatform();
 * const endpoint = { baseUrl: "http://localhost:11434/v1", model: "llama3.2" };
 * const app = search({ platform, chatModel: openAiChatModel(endpoint, platform.transport) });
 * ```
 */
export function openAiChatModel(endpoint: OpenAiEndpoint, transport: Transport): NamedChatModel {
  const url = endpointUrl(endpoint, "chat/completions");
  const model = async (request: Request): Promise<Response> => {
    const { status, headers, body } = await transport.send({
      method: "POST",
      url,
      headers: tracedHeaders(endpoint, request.headers.get("traceparent")),
      body: new Uint8Array(await request.arrayBuffer()),
      signal: request.signal,
    });
    const type = headers.find(([name]) => name === "content-type")?.[1] ?? "application/json";
    const content = body instanceof Uint8Array ? new Uint8Array(body) : body;
    return new Response(content, {
      status: Math.max(200, status),
      headers: { "content-type": type },
    });
  };
  return Object.assign(model, { model: endpoint.model });
}

const embeddings = v.object({
  data: v.array(v.object({ index: v.optional(v.number()), embedding: v.array(v.number()) })),
});

/** Texts of one request: the most used server takes no more by default. */
const BATCH = 32;

/**
 * Makes an embedder behind any OpenAI-compatible endpoint. A batch that is refused for its size (413, 422, or 400 that
 * says so) is halved.
 *
 * @example
 * ```ts
 * import { memoryPlatform } from "causey/memory";
 * import { openAiEmbedder, search } from "causey/search";
 *
 * const platform = await memoryPlatform();
 * const endpoint = { baseUrl: "http://localhost:11434/v1", model: "nomic-embed-text", dimensions: 768 };
 * const app = search({ platform, embedder: openAiEmbedder(endpoint, platform.transport) });
 * ```
 */
export function openAiEmbedder(endpoint: OpenAiEmbeddings, transport: Transport): Embedder {
  const { model, dimensions, batchSize = BATCH } = endpoint;
  if (!Number.isInteger(batchSize) || batchSize < 1 || batchSize > MAX_BATCH)
    throw invalidOptions(`batchSize: expected an integer from 1 to ${MAX_BATCH}, got ${batchSize}`);
  const known = prefixesOf(model);
  const prefixes = {
    query: endpoint.queryPrefix ?? known.query,
    document: endpoint.documentPrefix ?? known.document,
  };
  const limit = { most: batchSize };
  return {
    model,
    dimensions,
    batchSize,
    async embed(texts, purpose, signal, traceparent) {
      const vectors = await embedInBatches(
        texts.map((text) => prefixes[purpose] + text),
        limit,
        (input) => requestVectors(endpoint, transport, { input, signal, traceparent }),
      );
      if (vectors === null)
        throw failed(whoOf(endpoint), "that a single text is too long", { status: 413 });
      return vectors;
    },
  };
}

/** Texts of one request at most. */
const MAX_BATCH = 2048;

interface VectorRequest {
  readonly input: readonly string[];
  readonly signal: AbortSignal | undefined;
  readonly traceparent: string | undefined;
}

/** Asks for the vectors of some texts; null when the server says that they are too many or too long. */
async function requestVectors(
  endpoint: OpenAiEmbeddings,
  transport: Transport,
  { input, signal, traceparent }: VectorRequest,
): Promise<Float32Array[] | null> {
  const { model, dimensions, sendDimensions } = endpoint;
  const who = whoOf(endpoint);
  const body = {
    model,
    input,
    encoding_format: "float",
    ...(sendDimensions === true ? { dimensions } : {}),
  };
  const answer = await transport.send({
    method: "POST",
    url: endpointUrl(endpoint, "embeddings"),
    headers: tracedHeaders(endpoint, traceparent),
    body: utf8(JSON.stringify(body)),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await answerText(answer.body, who);
  if (isTooMuch(answer.status, text)) return null;
  if (answer.status !== 200)
    throw failed(who, `status ${answer.status}`, { status: answer.status });
  const parsed = v.safeParse(embeddings, parsedJson(text));
  if (!parsed.success) throw failed(who, "no list of embeddings");
  const { data } = parsed.output;
  if (data.length !== input.length)
    throw failed(who, `${data.length} vectors for ${input.length} texts`);
  return data
    .map((one, at) => ({ ...one, index: one.index ?? at }))
    .toSorted((a, b) => a.index - b.index)
    .map((one) => Float32Array.from(one.embedding));
}

/** Servers say with these statuses that a request is too large; 400 says other things too. */
function isTooMuch(status: number, text: string): boolean {
  if (status === 413 || status === 422) return true;
  return status === 400 && /batch|too (?:large|long|many)|maximum|exceed|limit/iu.test(text);
}

function whoOf({ model }: OpenAiEmbeddings): string {
  return `The embedder "${model}"`;
}

/** Returns the address of a path below an endpoint. */
export function endpointUrl({ baseUrl }: OpenAiEndpoint, path: string): string {
  return `${baseUrl.replace(/\/+$/, "")}/${path}`;
}

function endpointHeaders({ apiKey, headers = {} }: OpenAiEndpoint): HeaderPair[] {
  const key: HeaderPair[] = apiKey === undefined ? [] : [["authorization", `Bearer ${apiKey}`]];
  const own = Object.entries(headers).map(([name, value]): HeaderPair => [
    name.toLowerCase(),
    value,
  ]);
  return [["content-type", "application/json"], ...key, ...own];
}

/** Returns the headers with the `traceparent` of the request's span; without one, unchanged. */
export function tracedHeaders(
  endpoint: OpenAiEndpoint,
  traceparent: string | null | undefined,
): HeaderPair[] {
  const headers = endpointHeaders(endpoint);
  return traceparent == null ? headers : withTraceparent(headers, traceparent);
}

/** Returns the text of an answer's body; `who` sent it. Throws when it is too long or breaks off. */
export async function answerText(body: InboundResponse["body"], who: string): Promise<string> {
  const bytes = await bodyUpTo(body, MAX_ANSWER).catch((cause: unknown) => {
    throw failed(who, "a body that broke off", cause);
  });
  if (bytes === null) throw failed(who, `more than ${MAX_ANSWER} bytes`);
  return new TextDecoder().decode(bytes);
}

function failed(who: string, what: string, cause?: unknown): ApiError {
  return new ApiError("unavailable", {
    message: `${who} answered ${what}`,
    cause,
  });
}
