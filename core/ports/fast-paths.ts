import type { HeaderPair } from "./header-pair.ts";

/**
 * Cryptography at once. The fallback is WebCrypto, which costs a short text twenty times as much on Node, because a thread
 * must wake up.
 */
export interface SyncCrypto {
  /** SHA-256 in lower-case hexadecimal. `bench/gateway.ts`: half of a small request. @default none */
  sha256Hex?(data: string | Uint8Array): string;
  /** A signer with this HMAC key. `bench/webhooks.ts`: a tenth of an event. @default none */
  hmac?(
    secret: Uint8Array,
    hash: "SHA-256" | "SHA-1" | "SHA-512",
  ): (data: Uint8Array) => Uint8Array;
  /** AES-256-GCM with this key. `bench/gateway-features.ts`: a tenth of a cacheable miss. @default none */
  aesGcm?(key: Uint8Array): SyncCipher;
}

/** A cipher with one key; it seals as `sealBytes` in `core/crypto/seal.ts` does. */
export interface SyncCipher {
  /** Returns the nonce of 12 bytes, the ciphertext and the tag; `context` is authenticated. */
  seal(plain: Uint8Array, context: string, nonce: Uint8Array): Uint8Array<ArrayBuffer>;
  /** Returns null when key, context or bytes are wrong. */
  unseal(sealed: Uint8Array, context: string): Uint8Array<ArrayBuffer> | null;
}

/**
 * Every member of the ports that is there for speed alone: a runtime may lack each, and the fallback does the same at a
 * higher cost. Each names the benchmark that exercises it, and the share of CPU that it saved there on Node, measured
 * in one process with and without it in turn.
 */
export interface FastPaths extends SyncCrypto {
  /**
   * Shows the chunks of an answer's body to `watch` as its reader takes them, at less cost than a stream around it;
   * null when the body is not from this transport, or already read. `bench/gateway.ts`: a sixth of a stream of 50
   * events. @default never
   */
  watch?(body: ReadableStream<Uint8Array>, watch: StreamWatch): BreakOff | null;
  /**
   * Has the chunks of an answer's body changed behind what `watch` sees, under the same conditions and as cheaply.
   * `bench/gateway.ts`: a quarter of a stream of 50 events whose usage is asked for. @default never
   */
  change?(body: ReadableStream<Uint8Array>, change: StreamChange): boolean;
  /**
   * The same request in a cheaper form, or null without one. `bench/gateway.ts`: a tenth of a small request.
   * @default none
   */
  received?(request: Request): ReceivedRequest | null;
}

/** Receives a stream as it passes. */
export interface StreamWatch {
  onChunk(chunk: Uint8Array): void;
  /** Called once: when the stream ended, its source broke off, or its reader left. */
  onEnd(end: StreamEnd): void;
}

/**
 * Breaks a watched stream off, as if its source had: the source is cancelled, and a reader that waits gets these last bytes
 * before the error. Does nothing after the end.
 */
export type BreakOff = (last: Uint8Array<ArrayBuffer> | null) => void;

/** Changes a stream as it passes. */
export interface StreamChange {
  /** Returns the bytes to pass on for a chunk; empty = nothing yet. */
  push(chunk: Uint8Array): Uint8Array;
  /** Returns the bytes that were held back, after the last chunk. */
  end(): Uint8Array;
}

/** The end of a stream: reached, broken off by its source, or left by its reader. */
export type StreamEnd = "complete" | "broken" | "aborted";

/** A request as the runtime's server holds it: cheaper to read than a `Request`. */
export interface ReceivedRequest {
  /** The headers that `Request.headers` would list, in the order of arrival. */
  readonly headers: readonly HeaderPair[];
  /** Reads the whole body, in place of the request's own methods. */
  bytes(): Promise<Uint8Array>;
}
