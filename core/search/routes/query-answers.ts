import type { Context } from "hono";
import { errorKind } from "../../http/codes.ts";
import { envelope, json } from "../../http/envelope.ts";
import { sseResponse } from "../../http/sse.ts";
import type { Instance } from "../actor/instance-client.ts";
import { shownNote } from "../answer/hidden-failures.ts";
import { findForChat, searchInstance } from "../answer/ask.ts";
import { findAcross } from "../answer/find-across.ts";
import { rewrittenQuery } from "../answer/rewrite-query.ts";
import {
  type ChatInput,
  chooseModel,
  chunksForm,
  completeChat,
  streamChat,
} from "../answer/chat.ts";
import type { SearchOptions } from "../models/search-deps.ts";
import type { SearchNote } from "../retrieve/search-input.ts";
import {
  type ChatBody,
  modelParameters,
  queryOf,
  type SearchBody,
} from "../state/search-schema.ts";
import { accountOf, namespaceOf } from "./route-context.ts";

/** The notes of a search as `messages` of the envelope. */
function messagesOf(notes: readonly SearchNote[]): { code: number; message: string }[] {
  return notes.map(({ name, message }) => ({ code: errorKind(name).code, message }));
}

/** Answers a search of one instance. */
export async function answerSearch(
  c: Context,
  instance: Instance,
  body: SearchBody,
  options: SearchOptions,
): Promise<Response> {
  const { notes, ...result } = await searchInstance(instance, body, options, c.req.raw.signal);
  const shown = notes.map((note) => shownNote(note, options));
  return envelope(result, { messages: messagesOf(shown) });
}

/** Answers a chat over one instance. */
export async function answerChat(
  c: Context,
  instance: Instance,
  body: ChatBody,
  options: SearchOptions,
): Promise<Response> {
  const found = await findForChat(instance, body, options, c.req.raw.signal);
  const { input, answerer } = found;
  const response = await replyWith(c, { body, input, answerer, options });
  if (found.cacheStatus !== null) response.headers.set("cf-aig-cache-status", found.cacheStatus);
  return response;
}

/** Answers a search of all instances of a namespace. */
export async function answerSearchAcross(
  c: Context,
  body: SearchBody,
  options: SearchOptions,
): Promise<Response> {
  const query = queryOf(body, "missing_query_search");
  const { text, found } = await foundAcross(c, query.text, body, options);
  const { facets, notes, ...rest } = found;
  const result = { search_query: text, query_kind: query.kind, ...rest, ...facets };
  return envelope(result, { messages: messagesOf(notes) });
}

/** Answers a chat over all instances of a namespace. */
export async function answerChatAcross(
  c: Context,
  body: ChatBody,
  options: SearchOptions,
): Promise<Response> {
  const query = queryOf({ messages: body.messages }, "missing_query_chat");
  const parameters = modelParameters(body);
  const { model, answerer } = chooseModel(body.model, "", parameters, options);
  const { text, found } = await foundAcross(c, query.text, body, options);
  const input = {
    query: text,
    messages: body.messages ?? [],
    model,
    parameters,
    wantsUsage: body.stream_options?.include_usage === true,
    ...found,
  };
  return replyWith(c, { body, input, answerer, options });
}

/** Finds the chunks of a namespace for a question, which a model may have put into other words. */
async function foundAcross(
  c: Context,
  question: string,
  body: SearchBody | ChatBody,
  options: SearchOptions,
): Promise<{ readonly text: string; readonly found: Awaited<ReturnType<typeof findAcross>> }> {
  const { signal } = c.req.raw;
  const text = await rewrittenQuery(question, { body, settings: null, options, signal });
  const found = await findAcross(text, {
    account: accountOf(c),
    namespace: namespaceOf(c),
    options: body.ai_search_options,
    deps: options,
    signal,
  });
  return { text, found };
}

/** A chat whose chunks were found. */
interface ReplyInputs {
  readonly body: ChatBody;
  readonly input: ChatInput;
  readonly answerer: ReturnType<typeof chooseModel>["answerer"];
  readonly options: SearchOptions;
}

/** Answers a chat whose chunks were found, as a stream if its body asks for one. */
async function replyWith(
  c: Context,
  { body, input, answerer, options }: ReplyInputs,
): Promise<Response> {
  const { signal } = c.req.raw;
  const client = c.req.header("user-agent") ?? "";
  const chunksAs = chunksForm(body.stream_options?.include_chunks, client);
  if (body.stream !== true) return json(await completeChat(input, answerer, options, signal));
  return sseResponse(streamChat(input, { answerer, chunksAs, options, signal }));
}
