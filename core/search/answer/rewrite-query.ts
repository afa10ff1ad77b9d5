import { ApiError } from "../../http/api-error.ts";
import type { InstanceSettings } from "../instance/instance-settings.ts";
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
 * The query to search with. A follow-up question is rewritten by the configured chat model when the request or the
 * instance asks for it; the first user message and a failing model leave the query as it is. Throws 7010 when a request asks
 * for it and no chat model is configured.
 */
export async function rewrittenQuery(
  query: string,
  body: Rewritable,
  settings: Pick<InstanceSettings, "rewrite_query" | "rewrite_model"> | null,
  options: SearchOptions,
  signal: AbortSignal,
): Promise<string> {
  const { chatModel, platform } = options;
  const wanted = body.ai_search_options?.query_rewrite;
  const turns = (body.messages ?? []).filter(
    (message) => message.role === "user" || message.role === "assistant",
  );
  const followUp = turns.filter((message) => message.role === "user").length > 1;
  if (wanted?.enabled === true && chatModel === undefined)
    throw noRewriting("query_rewrite.enabled");
  const enabled = wanted?.enabled ?? settings?.rewrite_query === true;
  if (!enabled || chatModel === undefined || !followUp) return query;
  const model =
    [wanted?.model, settings?.rewrite_model, chatModel.model].find(Boolean) ?? "default";
  const instructions = wanted?.rewrite_prompt ?? PROMPT;
  const ask = modelAnswerer(chatModel, platform.system, ({ messages }) => [...messages]);
  try {
    const { content } = await ask.complete(
      {
        query,
        parameters: {},
        chunks: [],
        model,
        messages: [
          { role: "system", content: instructions },
          { role: "user", content: conversationOf(turns) },
        ],
      },
      signal,
    );
    return content.trim().slice(0, MAX_QUERY) || query;
  } catch (error) {
    signal.throwIfAborted();
    platform.log("warn", "A query could not be rewritten", {
      error: error instanceof Error ? error.message : String(error),
    });
    return query;
  }
}

function conversationOf(turns: readonly Message[]): string {
  return turns
    .map((message) => `${message.role}: ${textOf(message)}`)
    .join("\n")
    .slice(-MAX_CONVERSATION);
}

/** The error for a setting that wants queries rewritten where nobody can. */
export function noRewriting(setting: string): ApiError {
  return new ApiError("invalid_model", {
    message: `invalid_model: ${setting}: no chat model is configured, so nobody can rewrite a query`,
  });
}
