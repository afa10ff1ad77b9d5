import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type { ServerSentEvent } from "../../http/sse.ts";
import type { AnswerDelta, Answerer, Question, Usage } from "../retrieve/answerer.ts";
import type { Chunk } from "../retrieve/chunk-view.ts";
import { extractiveAnswerer } from "./extractive.ts";
import { EXTRACTIVE_MODEL, noChatModel } from "../models/models.ts";
import { shownFailure } from "./hidden-failures.ts";
import type { InstanceFailure } from "./find-across.ts";
import { modelAnswerer } from "./model-answerer.ts";
import type { SearchOptions } from "../models/search-deps.ts";

/** A question whose chunks were found. */
export interface ChatInput extends Question {
  /** Instances that failed, in a search over several. */
  readonly errors?: readonly InstanceFailure[];
}

/** Parameters that the builtin model honours, or that change nothing where nothing is left to chance. */
const FOR_EXTRACTIVE: ReadonlySet<string> = new Set([
  "max_completion_tokens",
  "max_tokens",
  "metadata",
  "seed",
  "store",
  "temperature",
  "top_p",
  "user",
]);

/**
 * Chooses the answerer and the model for a request. Throws 7010 for a model that the builtin one cannot be, and 400 for a
 * parameter that would have no effect on it.
 */
export function chooseModel(
  asked: string | undefined,
  configured: string,
  parameters: Readonly<Record<string, unknown>>,
  options: SearchOptions,
): { readonly answerer: Answerer; readonly model: string } {
  const { chatModel, platform } = options;
  const wanted = asked === undefined || asked === "" ? configured : asked;
  if (wanted === EXTRACTIVE_MODEL || (chatModel === undefined && wanted === "")) {
    const odd = Object.keys(parameters).find((key) => !FOR_EXTRACTIVE.has(key));
    if (odd === undefined) return { answerer: extractiveAnswerer, model: EXTRACTIVE_MODEL };
    throw invalidRequest(
      `${odd.slice(0, 64)}: has no effect on "${EXTRACTIVE_MODEL}", which quotes sentences; configure a chat model`,
    );
  }
  if (chatModel === undefined) {
    throw noChatModel(wanted);
  }
  return {
    answerer: modelAnswerer(chatModel, platform.system),
    model: wanted === "" ? (chatModel.model ?? "default") : wanted,
  };
}

const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** A chat completion object. */
export interface ChatCompletion {
  readonly id: string;
  readonly object: "chat.completion";
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: number;
    readonly message: {
      readonly role: "assistant";
      readonly content: string;
      readonly refusal: string | null;
      readonly tool_calls?: unknown;
    };
    readonly logprobs: null;
    readonly finish_reason: string;
  }[];
  readonly usage: unknown;
  readonly chunks: readonly Chunk[];
  readonly errors?: readonly InstanceFailure[];
}

/** Returns the chat completion object, with the chunks. Without chunks no chat model is asked and the content is empty. */
export async function completeChat(
  input: ChatInput,
  answerer: Answerer,
  { platform: { system } }: SearchOptions,
  signal: AbortSignal,
): Promise<ChatCompletion> {
  const answer = hasNothingToAsk(input, answerer)
    ? { content: "", refusal: null, finishReason: "stop", usage: NO_USAGE }
    : await answerer.complete(input, signal);
  return {
    id: `chatcmpl-${system.id()}`,
    object: "chat.completion",
    created: Math.floor(system.now() / 1000),
    model: input.model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: answer.content,
          refusal: answer.refusal,
          ...("toolCalls" in answer && { tool_calls: answer.toolCalls }),
        },
        logprobs: null,
        finish_reason: answer.finishReason,
      },
    ],
    usage: answer.usage,
    chunks: input.chunks,
    ...(input.errors === undefined || input.errors.length === 0 ? {} : { errors: input.errors }),
  };
}

/** The answerer of a chat, and the form of its events. */
export interface StreamInputs {
  readonly answerer: Answerer;
  readonly chunksAs: ChunksForm;
  readonly options: SearchOptions;
  readonly signal: AbortSignal;
}

/**
 * Yields the events of a streamed answer: `chunks`, then the deltas, then `[DONE]`; or `error` in place of the rest. The
 * chunks go out before the model is asked. A client that leaves aborts the model's request at once.
 */
export function streamChat(
  input: ChatInput,
  { answerer, chunksAs, options, signal }: StreamInputs,
): AsyncIterable<ServerSentEvent> {
  const { system, log } = options.platform;
  const base = {
    id: `chatcmpl-${system.id()}`,
    object: "chat.completion.chunk",
    created: Math.floor(system.now() / 1000),
    model: input.model,
  };
  async function* events(own: AbortSignal): AsyncGenerator<ServerSentEvent> {
    let usage: Usage | null = null;
    if (chunksAs !== "none") yield chunksEvent(base, input.chunks, chunksAs);
    try {
      if (!hasNothingToAsk(input, answerer))
        for await (const delta of answerer.stream(input, own)) {
          if (delta.usage !== undefined && input.wantsUsage === true) usage = delta.usage;
          if (isShown(delta)) yield deltaEvent(base, delta);
        }
    } catch (error) {
      if (own.aborted) throw error;
      log("warn", "An answer broke off", {
        error: error instanceof Error ? error.message : String(error),
      });
      yield errorEvent(error, options);
      return;
    }
    if (usage !== null) yield { data: JSON.stringify({ ...base, choices: [], usage }) };
    yield { data: "[DONE]" };
  }
  return abortable(events, signal);
}

/**
 * Whether the model should not be asked: without sources it would answer by itself. The builtin one says that nothing was
 * found.
 */
function hasNothingToAsk({ chunks }: ChatInput, answerer: Answerer): boolean {
  return chunks.length === 0 && answerer !== extractiveAnswerer;
}

/** How a stream tells its chunks: as the event `chunks`, inside a first delta, or not at all. */
export type ChunksForm = "event" | "delta" | "none";

/**
 * Returns the form that a request asks for, else the one that its client reads: the `openai` clients take every event for a
 * delta, and clients that read the choices of a bare list fail.
 */
export function chunksForm(wanted: boolean | ChunksForm | undefined, client: string): ChunksForm {
  if (typeof wanted === "string") return wanted;
  if (wanted === false) return "none";
  return OPENAI_CLIENT.test(client) ? "delta" : "event";
}

/** How the official clients of OpenAI name themselves, e.g. `OpenAI/JS 6.1.0`, `AsyncOpenAI/Python 2.1.0`, `openai-go/3.0`. */
const OPENAI_CLIENT = /^(?:async)?(?:azure)?openai[/-]/i;

function chunksEvent(
  base: Readonly<Record<string, unknown>>,
  chunks: readonly Chunk[],
  form: "event" | "delta",
): ServerSentEvent {
  if (form === "event") return { event: "chunks", data: JSON.stringify(chunks) };
  const choice = { index: 0, delta: { role: "assistant", content: "" } };
  return { data: JSON.stringify({ ...base, choices: [choice], chunks }) };
}

/** In the form that the OpenAI clients throw as an error. */
function errorEvent(error: unknown, options: SearchOptions): ServerSentEvent {
  const own = error instanceof Error ? shownFailure(error, options) : error;
  const known = own instanceof ApiError ? own : new ApiError("chat_model_failed");
  const shown = { message: known.message, type: "server_error", code: String(known.code) };
  return { event: "error", data: JSON.stringify({ error: shown }) };
}

function isShown({ content, finishReason, toolCalls }: AnswerDelta): boolean {
  return content !== "" || finishReason !== null || toolCalls !== undefined;
}

function deltaEvent(
  base: Readonly<Record<string, unknown>>,
  { content, finishReason, toolCalls }: AnswerDelta,
): ServerSentEvent {
  const choice = {
    index: 0,
    delta: { content, ...(toolCalls !== undefined && { tool_calls: toolCalls }) },
    ...(finishReason === null ? {} : { finish_reason: finishReason }),
  };
  return { data: JSON.stringify({ ...base, choices: [choice] }) };
}

/** A generator waits for its own `await` before it sees `return()`: the signal gets through at once. */
function abortable<T>(
  source: (signal: AbortSignal) => AsyncGenerator<T>,
  outer: AbortSignal,
): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const left = new AbortController();
      const generator = source(AbortSignal.any([outer, left.signal]));
      return {
        next: () => generator.next(),
        async return(value?: unknown) {
          left.abort(new DOMException("The client left", "AbortError"));
          await generator.return(undefined).catch(() => undefined);
          return { done: true, value };
        },
      };
    },
  };
}
