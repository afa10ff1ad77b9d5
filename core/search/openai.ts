import * as v from "valibot";
import { ApiError } from "../http/api-error.ts";
import { readBytes } from "../http/body.ts";
import type { Embedder, HeaderPair, Transport } from "../ports.ts";
import { utf8 } from "../crypto/encoding.ts";
import type { NamedChatModel } from "./search-deps.ts";

/** Where an OpenAI-compatible service answers. */
export interface OpenAiEndpoint {
  /** What the service's own SDK calls its base URL, e.g. `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  /** Sent as a bearer token. @default none */
  readonly apiKey?: string | undefined;
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

/** A chat model behind any OpenAI-compatible endpoint. */
export function openAiChatModel(endpoint: OpenAiEndpoint, transport: Transport): NamedChatModel {
  const url = address(endpoint, "chat/completions");
  const model = async (request: Request): Promise<Response> => {
    const { status, headers, body } = await transport.send({
      method: "POST",
      url,
      headers: requestHeaders(endpoint),
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

/** An embedder behind any OpenAI-compatible endpoint. */
export function openAiEmbedder(endpoint: OpenAiEmbeddings, transport: Transport): Embedder {
  const { model, dimensions } = endpoint;
  const url = address(endpoint, "embeddings");
  return {
    model,
    dimensions,
    async embed(texts, _purpose, signal) {
      const body = {
        model,
        input: texts,
        encoding_format: "float",
        ...(endpoint.sendDimensions === true ? { dimensions } : {}),
      };
      const answer = await transport.send({
        method: "POST",
        url,
        headers: requestHeaders(endpoint),
        body: utf8(JSON.stringify(body)),
        ...(signal === undefined ? {} : { signal }),
      });
      const text = await bodyText(answer.body);
      if (answer.status !== 200) throw failed(model, `status ${answer.status}`);
      const parsed = v.safeParse(embeddings, parseJson(text));
      if (!parsed.success) throw failed(model, "no list of embeddings");
      const sorted = parsed.output.data
        .map((one, at) => ({ ...one, index: one.index ?? at }))
        .toSorted((a, b) => a.index - b.index);
      return sorted.map((one) => Float32Array.from(one.embedding));
    },
  };
}

function address({ baseUrl }: OpenAiEndpoint, path: string): string {
  return `${baseUrl.replace(/\/+$/, "")}/${path}`;
}

function requestHeaders({ apiKey }: OpenAiEndpoint): HeaderPair[] {
  const headers: HeaderPair[] = [["content-type", "application/json"]];
  return apiKey === undefined ? headers : [...headers, ["authorization", `Bearer ${apiKey}`]];
}

async function bodyText(body: Uint8Array | ReadableStream<Uint8Array> | null): Promise<string> {
  if (body === null) return "";
  if (body instanceof Uint8Array) return new TextDecoder().decode(body);
  const request = new Request("http://embedder.invalid/", {
    method: "POST",
    body,
    duplex: "half",
  } as RequestInit);
  return new TextDecoder().decode(await readBytes(request, MAX_ANSWER));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function failed(model: string, what: string): ApiError {
  return new ApiError("unavailable", { message: `The embedder "${model}" answered ${what}` });
}
