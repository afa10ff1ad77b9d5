import type { Chunk } from "./chunk-view.ts";
import type { AskedWords } from "./coverage.ts";
import type { Plain } from "../../ports.ts";
import type { Message } from "../state/search-schema.ts";

/** A question with what was retrieved for it; there is at least one chunk. */
export interface Question {
  readonly query: string;
  /** Parameters of the request that are passed on to the model, e.g. `temperature`. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly messages: readonly Message[];
  readonly chunks: readonly Chunk[];
  /** The words of the query, as the chunks were searched for them; absent where nothing was searched. */
  readonly asked?: AskedWords;
  /** Whether a stream is to end with the model's count of tokens. */
  readonly wantsUsage?: boolean;
  /** The model to answer with. */
  readonly model: string;
}

/** Tokens of an answer, as reported by the model or estimated. */
export type Usage = {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
};

/** A whole answer. */
export type Answer = {
  readonly content: string;
  readonly refusal: string | null;
  readonly finishReason: string;
  readonly usage: Usage;
  /** Calls of the client's tools, as the model made them. */
  readonly toolCalls?: Plain;
};

/** A piece of an answer that streams. */
export interface AnswerDelta {
  readonly content: string;
  readonly finishReason: string | null;
  readonly toolCalls?: Plain;
  readonly usage?: Usage;
}

/** Writes answers: a chat model (`model-answerer.ts`), or the builtin extractive one. */
export interface Answerer {
  complete(question: Question, signal: AbortSignal): Promise<Answer>;
  stream(question: Question, signal: AbortSignal): AsyncIterable<AnswerDelta>;
}
