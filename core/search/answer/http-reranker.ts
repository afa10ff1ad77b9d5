import { parsedJson } from "../../http/json.ts";
import * as v from "valibot";
import { utf8 } from "../../crypto/encoding.ts";
import { ApiError } from "../../http/api-error.ts";
import type { Transport } from "../../ports.ts";
import type { Reranker } from "../models/search-deps.ts";
import { answerText, endpointUrl, type OpenAiEndpoint, tracedHeaders } from "./openai.ts";

const scored = v.array(
  v.object({
    index: v.number(),
    relevance_score: v.optional(v.number()),
    score: v.optional(v.number()),
  }),
);
/** Cohere, Jina and vLLM say `results`, Voyage `data`, Text Embeddings Inference sends the list itself. */
const answer = v.union([v.object({ results: scored }), v.object({ data: scored }), scored]);

/**
 * Makes a reranker behind an endpoint like Cohere's, Jina's or vLLM's: `POST {baseUrl}/rerank`.
 *
 * @example
 * ```ts
 * import { memoryPlatform } from "causey/memory";
 * import { httpReranker, search } from "causey/search";
 *
 * const platform = await memoryPlatform();
 * const endpoint = { baseUrl: "https://api.cohere.com/v2", model: "rerank-v3.5", apiKey: "secret" };
 * const app = search({ platform, reranker: httpReranker(endpoint, platform.transport) });
 * ```
 */
export function httpReranker(endpoint: OpenAiEndpoint, transport: Transport): Reranker {
  const { model } = endpoint;
  return {
    model,
    async rerank(query, texts, signal, traceparent) {
      const response = await transport.send({
        method: "POST",
        url: endpointUrl(endpoint, "rerank"),
        headers: tracedHeaders(endpoint, traceparent),
        body: utf8(JSON.stringify({ model, query, documents: texts, top_n: texts.length })),
        signal,
      });
      const text = await answerText(response.body, `The reranker "${model}"`);
      if (response.status !== 200) throw failed(model, `status ${response.status}`);
      const parsed = v.safeParse(answer, parsedJson(text));
      if (!parsed.success) throw failed(model, "no list of scores");
      const list = listOf(parsed.output);
      const scores = texts.map((_, at) => {
        const one = list.find(({ index }) => index === at);
        return one?.relevance_score ?? one?.score ?? 0;
      });
      // Some models answer logits.
      const areShares = scores.every((score) => score >= 0 && score <= 1);
      return areShares ? scores : scores.map((score) => 1 / (1 + Math.exp(-score)));
    },
  };
}

function listOf(output: v.InferOutput<typeof answer>): v.InferOutput<typeof scored> {
  if (Array.isArray(output)) return output;
  return "results" in output ? output.results : output.data;
}

function failed(model: string, what: string): ApiError {
  return new ApiError("unavailable", { message: `The reranker "${model}" answered ${what}` });
}
