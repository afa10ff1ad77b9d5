import type { Chunk } from "../retrieve/chunk-view.ts";
import type { Message } from "../search-schema.ts";

/** A question with what was retrieved for it; there is at least one chunk. */
export interface Question {
  readonly query: string;
  readonly messages: readonly Message[];
  readonly chunks: readonly Chunk[];
  /** The model to answer with. */
  readonly model: string;
}

/** Tokens of an answer, as reported by the model or estimated. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** A whole answer. */
export interface Answer {
  readonly content: string;
  readonly refusal: string | null;
  readonly finishReason: string;
  readonly usage: Usage;
}

/** A piece of an answer that streams. */
export interface AnswerDelta {
  readonly content: string;
  readonly finishReason: string | null;
}

/** Writes answers: a chat model behind the prompt of `prompt.ts`, or the builtin extractive one. */
export interface Answerer {
  complete(question: Question, signal: AbortSignal): Promise<Answer>;
  stream(question: Question, signal: AbortSignal): AsyncIterable<AnswerDelta>;
}
