import type { HeaderPair } from "./header-pair.ts";

/**
 * Every member of the ports that is there for speed alone: a runtime may lack each, and what is done then is the same but
 * dearer. Beside each stands the benchmark that it is on the way of, and the CPU that it saved there on Node, with it and
 * without it by turns in one process.
 */
export interface FastPaths {
  /**
   * SHA-256 in lower-case hexadecimal, at once. Where it is missing WebCrypto serves, which costs a short text
   * twenty times as much on Node: a thread has to be woken. `bench/gateway.ts`: half of a small request. @default none
   */
  sha256Hex?(data: string | Uint8Array): string;
  /**
   * A signer with this HMAC key that works at once; the reason is that of {@link FastPaths.sha256Hex}.
   * `bench/webhooks.ts`: a tenth of an event. @default none
   */
  hmac?(
    secret: Uint8Array,
    hash: "SHA-256" | "SHA-1" | "SHA-512",
  ): (data: Uint8Array) => Uint8Array;
  /**
   * Has the chunks of an answer's body shown to `watch` as its reader takes them, at less cost than by a stream
   * around it; false when the body is none of this transport's, or already read. `bench/gateway.ts`: a sixth of a stream of
   * 50 events. @default never
   */
  watch?(body: ReadableStream<Uint8Array>, watch: StreamWatch): boolean;
  /**
   * Has the chunks of an answer's body changed behind what `watch` sees, under the same conditions and as cheaply.
   * `bench/gateway.ts`: a quarter of a stream of 50 events whose usage is asked for. @default never
   */
  change?(body: ReadableStream<Uint8Array>, change: StreamChange): boolean;
  /**
   * The same request in a cheaper form, or null when there is none. `bench/gateway.ts`: a tenth of a small request.
   * @default none
   */
  received?(request: Request): ReceivedRequest | null;
}

/** Is told about a stream as it passes. */
export interface StreamWatch {
  onChunk(chunk: Uint8Array): void;
  /** Called once: the stream came to its end, its source broke off, or its reader left. */
  onEnd(end: StreamEnd): void;
}

/** Changes a stream as it passes. */
export interface StreamChange {
  /** What is handed on of a chunk; empty = nothing yet. */
  push(chunk: Uint8Array): Uint8Array;
  /** What was kept back, behind the last chunk. */
  end(): Uint8Array;
}

/** How a stream went: to its end, broken off by its source, left by its reader. */
export type StreamEnd = "complete" | "broken" | "aborted";

/** A request as the runtime's server holds it: cheaper to read than a `Request`. */
export interface ReceivedRequest {
  /** What `Request.headers` would list, in the order of arrival. */
  readonly headers: readonly HeaderPair[];
  /** Reads the whole body, in place of the request's own methods. */
  bytes(): Promise<Uint8Array>;
}
