import { readUpTo } from "../../http/stream.ts";
import { parsedJson } from "../../http/json.ts";
import * as v from "valibot";
import { ApiError } from "../../http/api-error.ts";
import type { Embedder, HeaderPair, InboundResponse, Transport } from "../../ports.ts";
import { utf8 } from "../../crypto/encoding.ts";
import { withTraceparent } from "../../trace/trace-context.ts";
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
  /** Length of the vectors; asked for only when `sendDimensions`. */
  readonly dimensions: number;
  /** Sends `dimensions` with each request, which some models shorten their vectors by. @default false */
  readonly sendDimensions?: boolean | undefined;
}

/** Bytes of an embeddings answer that are read. */
const MAX_ANSWER = 64 * 1024 * 1024;

/** Makes a chat model behind any OpenAI-compatible endpoint. */
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

/** Makes an embedder behind any OpenAI-compatible endpoint. */
export function openAiEmbedder(endpoint: OpenAiEmbeddings, transport: Transport): Embedder {
  const { model, dimensions } = endpoint;
  const url = endpointUrl(endpoint, "embeddings");
  const who = `The embedder "${model}"`;
  return {
    model,
    dimensions,
    async embed(texts, _purpose, signal, traceparent) {
      const body = {
        model,
        input: texts,
        encoding_format: "float",
        ...(endpoint.sendDimensions === true ? { dimensions } : {}),
      };
      const answer = await transport.send({
        method: "POST",
        url,
        headers: tracedHeaders(endpoint, traceparent),
        body: utf8(JSON.stringify(body)),
        ...(signal === undefined ? {} : { signal }),
      });
      const text = await answerText(answer.body, who);
      if (answer.status !== 200)
        throw failed(who, `status ${answer.status}`, { status: answer.status });
      const parsed = v.safeParse(embeddings, parsedJson(text));
      if (!parsed.success) throw failed(who, "no list of embeddings");
      const sorted = parsed.output.data
        .map((one, at) => ({ ...one, index: one.index ?? at }))
        .toSorted((a, b) => a.index - b.index);
      return sorted.map((one) => Float32Array.from(one.embedding));
    },
  };
}

/** Returns the address of a path below an endpoint. */
export function endpointUrl({ baseUrl }: OpenAiEndpoint, path: string): string {
  return `${baseUrl.replace(/\/+$/, "")}/${path}`;
}

/** Returns the headers of a request to an endpoint. */
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
  if (body === null) return "";
  const bytes =
    body instanceof Uint8Array
      ? body
      : await readUpTo(body, MAX_ANSWER).catch((cause: unknown) => {
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
