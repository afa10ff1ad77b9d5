import { noRewriting } from "../models/models.ts";
import type { ChatModel, Platform } from "../../ports.ts";
import type { Question } from "../retrieve/answerer.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import type { SearchOptions } from "../models/search-deps.ts";
import { type Message, type RequestOptions, textOf } from "../state/search-schema.ts";
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

/** The request and the settings that say whether a query is rewritten, and by which model. */
export interface RewriteInputs {
  readonly body: Rewritable;
  readonly settings: Pick<InstanceSettings, "rewrite_query" | "rewrite_model"> | null;
  readonly options: SearchOptions;
  readonly signal: AbortSignal;
}

/**
 * Returns the query to search with. A follow-up question is rewritten by the configured chat model when the request or the
 * instance asks for it; the first user message and a failing model leave the query as it is. Throws 7010 when a request
 * asks for it and no chat model is configured.
 */
export async function rewrittenQuery(
  query: string,
  { body, settings, options, signal }: RewriteInputs,
): Promise<string> {
  const { chatModel, platform } = options;
  const wanted = body.ai_search_options?.query_rewrite;
  if (chatModel === undefined) {
    if (wanted?.enabled === true) throw noRewriting("query_rewrite.enabled");
    return query;
  }
  const isWanted = wanted?.enabled ?? settings?.rewrite_query === true;
  const turns = (body.messages ?? []).filter(({ role }) => role === "user" || role === "assistant");
  if (!isWanted || !isFollowUp(turns)) return query;
  const model = firstNamed(wanted?.model, settings?.rewrite_model, chatModel.model);
  const question = { query, model, messages: promptOf(turns, wanted?.rewrite_prompt) };
  return (await answerOf(chatModel, question, platform, signal)) ?? query;
}

function firstNamed(...names: readonly (string | null | undefined)[]): string {
  return names.find(Boolean) ?? "default";
}

function isFollowUp(turns: readonly Message[]): boolean {
  return turns.filter(({ role }) => role === "user").length > 1;
}

function promptOf(turns: readonly Message[], prompt: string = PROMPT): Message[] {
  return [
    { role: "system", content: prompt },
    { role: "user", content: conversationOf(turns) },
  ];
}

/** Asks the model for another wording; null when it fails or returns nothing. */
async function answerOf(
  chatModel: ChatModel,
  question: Pick<Question, "messages" | "model" | "query">,
  { log, system }: Platform,
  signal: AbortSignal,
): Promise<string | null> {
  const ask = modelAnswerer(chatModel, system, ({ messages }) => [...messages]);
  try {
    const { content } = await ask.complete({ ...question, parameters: {}, chunks: [] }, signal);
    return withoutThoughts(content).trim().slice(0, MAX_QUERY) || null;
  } catch (error) {
    signal.throwIfAborted();
    log("warn", "A query could not be rewritten", {
      error: error instanceof Error ? error.message : String(error),
    });
    return null;
  }
}

/**
 * Takes out what a model thought aloud: some servers put it into the answer, between `<think>` and `</think>`
 * (https://huggingface.co/deepseek-ai/DeepSeek-R1), and some templates write the first mark themselves.
 */
export function withoutThoughts(text: string): string {
  const end = text.lastIndexOf("</think>");
  const answer = end < 0 ? text : text.slice(end + "</think>".length);
  const begin = answer.indexOf("<think>");
  return begin < 0 ? answer : answer.slice(0, begin);
}

function conversationOf(turns: readonly Message[]): string {
  return turns
    .map((message) => `${message.role}: ${textOf(message)}`)
    .join("\n")
    .slice(-MAX_CONVERSATION);
}
