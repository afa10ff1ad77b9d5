import { ApiError } from "../../http/api-error.ts";
import type { ServerSentEvent } from "../../http/sse.ts";
import type { AnswerDelta, Answerer, Question } from "./answerer.ts";
import type { Chunk } from "../retrieve/chunk-view.ts";
import { EXTRACTIVE_MODEL, extractiveAnswerer } from "./extractive.ts";
import type { InstanceFailure } from "../retrieve/find-chunks.ts";
import { modelAnswerer } from "./model-answerer.ts";
import type { SearchOptions } from "../search-deps.ts";

/** A question whose chunks were found. */
export interface ChatInput extends Question {
  /** Instances that failed, in a search over several. */
  readonly errors?: readonly InstanceFailure[];
}

/** Which answerer and model serve a request. Throws 7010 for a model that the builtin one cannot be. */
export function chooseModel(
  asked: string | undefined,
  configured: string,
  options: SearchOptions,
): { readonly answerer: Answerer; readonly model: string } {
  const { chatModel, platform } = options;
  const wanted = asked === undefined || asked === "" ? configured : asked;
  if (wanted === EXTRACTIVE_MODEL || (chatModel === undefined && wanted === "")) {
    return { answerer: extractiveAnswerer, model: EXTRACTIVE_MODEL };
  }
  if (chatModel === undefined) {
    throw new ApiError("invalid_model", {
      message: `invalid_model: no chat model is configured, so "${wanted.slice(0, 64)}" cannot answer; use "${EXTRACTIVE_MODEL}"`,
    });
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
    };
    readonly logprobs: null;
    readonly finish_reason: string;
  }[];
  readonly usage: unknown;
  readonly chunks: readonly Chunk[];
  readonly errors?: readonly InstanceFailure[];
}

/** The chat completion object, with the chunks. Without chunks no model is asked and the content is empty. */
export async function completeChat(
  input: ChatInput,
  answerer: Answerer,
  { platform: { system } }: SearchOptions,
  signal: AbortSignal,
): Promise<ChatCompletion> {
  const answer =
    input.chunks.length === 0
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
        message: { role: "assistant", content: answer.content, refusal: answer.refusal },
        logprobs: null,
        finish_reason: answer.finishReason,
      },
    ],
    usage: answer.usage,
    chunks: input.chunks,
    ...(input.errors === undefined || input.errors.length === 0 ? {} : { errors: input.errors }),
  };
}

/**
 * The events of a streamed answer: `chunks`, then the deltas, then `[DONE]`. The chunks go
 * out before the model is asked. A client that leaves aborts the model's request at once.
 */
export function streamChat(
  input: ChatInput,
  answerer: Answerer,
  withChunks: boolean,
  { platform: { system, log } }: SearchOptions,
  signal: AbortSignal,
): AsyncIterable<ServerSentEvent> {
  const base = {
    id: `chatcmpl-${system.id()}`,
    object: "chat.completion.chunk",
    created: Math.floor(system.now() / 1000),
    model: input.model,
  };
  async function* events(own: AbortSignal): AsyncGenerator<ServerSentEvent> {
    if (withChunks) yield chunksEvent(input.chunks);
    try {
      if (input.chunks.length > 0)
        for await (const delta of answerer.stream(input, own)) yield deltaEvent(base, delta);
    } catch (error) {
      if (!own.aborted)
        log("warn", "An answer broke off", {
          error: error instanceof Error ? error.message : String(error),
        });
      throw error;
    }
    yield { data: "[DONE]" };
  }
  return abortable(events, signal);
}

function chunksEvent(chunks: readonly Chunk[]): ServerSentEvent {
  return { event: "chunks", data: JSON.stringify(chunks) };
}

function deltaEvent(
  base: Readonly<Record<string, unknown>>,
  { content, finishReason }: AnswerDelta,
): ServerSentEvent {
  const choice = {
    index: 0,
    delta: { content },
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
