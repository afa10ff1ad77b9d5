import type { Context } from "hono";
import { errorKind } from "../../http/codes.ts";
import { envelope, json } from "../../http/envelope.ts";
import { sseResponse } from "../../http/sse.ts";
import { traceOf } from "../../trace/trace-context.ts";
import type { Instance } from "../actor/instance-client.ts";
import { shownNote } from "../answer/hidden-failures.ts";
import { findForChat, searchInstance } from "../answer/ask.ts";
import {
  type ChatInput,
  type chooseModel,
  chunksForm,
  completeChat,
  streamChat,
} from "../answer/chat.ts";
import type { SearchOptions } from "../models/search-deps.ts";
import { withTracedModels } from "../models/traced-models.ts";
import type { SearchNote } from "../retrieve/search-input.ts";
import type { ChatBody, SearchBody } from "../state/search-schema.ts";

/** Returns the options for one request, whose models' calls are spans of its trace. */
export function tracedBy(c: Context, options: SearchOptions): SearchOptions {
  return withTracedModels(options, traceOf(c.req.raw));
}

/** The notes of a search as `messages` of the envelope. */
export function messagesOf(notes: readonly SearchNote[]): { code: number; message: string }[] {
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

/** A chat whose chunks were found. */
export interface ReplyInputs {
  readonly body: ChatBody;
  readonly input: ChatInput;
  readonly answerer: ReturnType<typeof chooseModel>["answerer"];
  readonly options: SearchOptions;
}

/** Answers a chat whose chunks were found, as a stream if its body asks for one. */
export async function replyWith(
  c: Context,
  { body, input, answerer, options }: ReplyInputs,
): Promise<Response> {
  const { signal } = c.req.raw;
  const client = c.req.header("user-agent") ?? "";
  const chunksAs = chunksForm(body.stream_options?.include_chunks, client);
  if (body.stream !== true) return json(await completeChat(input, answerer, options, signal));
  return sseResponse(streamChat(input, { answerer, chunksAs, options, signal }));
}
