import type { HeaderPair } from "./header-pair.ts";
import type { FastPaths } from "./fast-paths.ts";

/** A request for {@link Transport.send}. */
export interface OutboundRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly HeaderPair[];
  readonly body?: Uint8Array | ReadableStream<Uint8Array> | null;
  readonly signal?: AbortSignal;
  /**
   * Milliseconds from the last byte of the request within which an answer must begin; else `send` rejects with the
   * reason `late`. A body that streams must not stand still for longer either. @default the transport's own patience
   */
  readonly beginMs?: number;
  /** Ends an answer that has begun and then sends nothing. @default after 10 minutes */
  readonly silence?: AnswerSilence;
}

/** The longest pause in the middle of an answer; after it the body errors with the reason `broken`. */
export interface AnswerSilence {
  /** Milliseconds for which a reader waits for the next bytes. */
  readonly ms: number;
  /** The last bytes of a stream with these headers, so that its reader learns why it ended. @default none */
  last?(headers: readonly HeaderPair[]): Uint8Array<ArrayBuffer> | null;
}

/** The answer to a request of a transport. `body` and the `content-encoding`/`content-length` headers always agree. */
export interface InboundResponse {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  /** Bytes if the whole body was there at once; else a stream, which errors if the upstream breaks off. */
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
}

/**
 * Sends an HTTP request. Redirects are never followed, no header is added but framing and `host`,
 * an abort closes the upstream connection at once. Rejects with `TransportError` (`core/net/transport-error.ts`).
 */
export interface Transport extends Pick<FastPaths, "watch" | "change"> {
  send(request: OutboundRequest): Promise<InboundResponse>;
  /**
   * The reason why `send` would refuse an address whatever it resolves to, as far as its text shows; null for an
   * allowed one. Settings with a refused address are not stored. @default nothing is refused beforehand
   */
  refusal?(url: string): string | null;
}
