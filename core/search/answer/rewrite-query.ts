import type { SearchOptions } from "../search-deps.ts";
import { type Message, type RequestOptions, textOf } from "../search-schema.ts";
import { modelAnswerer } from "./model-answerer.ts";

/** Characters of the conversation that the rewriting model is shown. */
const MAX_CONVERSATION = 8_000;
const MAX_QUERY = 512;

const PROMPT =
  "Rewrite the last user message as one search query that can be understood without the conversation. Answer with the query only.";

/** The parts of a request that rewriting looks at. */
export interface Rewritable {
  readonly messages?: readonly Message[] | undefined;
  readonly ai_search_options?: RequestOptions | undefined;
}

/**
 * The query to search with. A follow-up question is rewritten by the configured chat model when the request
 * asks for it; the first user message, a failing model and the builtin one leave the query as it is.
 */
export async function rewrittenQuery(
  query: string,
  body: Rewritable,
  options: SearchOptions,
  signal: AbortSignal,
): Promise<string> {
  const { chatModel, platform } = options;
  const wanted = body.ai_search_options?.query_rewrite;
  const turns = (body.messages ?? []).filter(
    (message) => message.role === "user" || message.role === "assistant",
  );
  const followUp = turns.filter((message) => message.role === "user").length > 1;
  if (wanted?.enabled !== true || chatModel === undefined || !followUp) return query;
  const conversation = turns
    .map((message) => `${message.role}: ${textOf(message)}`)
    .join("\n")
    .slice(-MAX_CONVERSATION);
  try {
    const answer = await modelAnswerer(chatModel, platform.system, (question) => [
      ...question.messages,
    ]).complete(
      {
        query,
        chunks: [],
        model: wanted.model ?? chatModel.model ?? "default",
        messages: [
          { role: "system", content: wanted.rewrite_prompt ?? PROMPT },
          { role: "user", content: conversation },
        ],
      },
      signal,
    );
    const text = answer.content.trim().slice(0, MAX_QUERY);
    return text === "" ? query : text;
  } catch (error) {
    signal.throwIfAborted();
    platform.log("warn", "A query could not be rewritten", {
      error: error instanceof Error ? error.message : String(error),
    });
    return query;
  }
}
