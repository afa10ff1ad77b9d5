/** Turns texts into unit vectors. */
export interface Embedder {
  /** Name shown to users, e.g. `builtin/lexical` or `text-embedding-3-small`. */
  readonly model: string;
  readonly dimensions: number;
  embed(
    texts: readonly string[],
    purpose: "query" | "document",
    signal?: AbortSignal,
    /** Names the span of this call, for the header of that name. */
    traceparent?: string,
  ): Promise<Float32Array[]>;
}

/** A chat model: a request in the OpenAI chat-completions format, answered as JSON or as server-sent events. */
export type ChatModel = (request: Request) => Promise<Response>;
