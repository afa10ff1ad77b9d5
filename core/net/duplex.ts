import type { HeaderPair } from "../ports/header-pair.ts";
import type { InboundResponse } from "../ports/transport.ts";

/** Bytes of one message on a {@link Duplex}: what the providers of realtime models take (OpenAI: 15 MiB). */
export const MAX_DUPLEX_MESSAGE: number = 16 * 1024 * 1024;

/** The end of a WebSocket (RFC 6455 section 7.4): 1005 = without a code, 1006 = without a close frame. */
export interface DuplexEnd {
  readonly code: number;
  readonly reason: string;
}

/** Whether a code may stand in a close frame (RFC 6455 section 7.4.1; 1012 to 1014 by its registry). */
export function isSendableCode(code: number): boolean {
  const isNamed = code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006;
  return isNamed || (code >= 3000 && code <= 4999);
}

/**
 * One end of a WebSocket that no actor holds: it lives as long as the request that opened it. Messages keep
 * their kind, bytes and order. The runtime answers pings, and notices dead peers by pings of its own.
 */
export interface Duplex {
  /** The subprotocol that was selected; empty without one. */
  readonly protocol: string;
  /**
   * Sends a message; resolves when the next one may be handed over without piling up (Workers: an estimate).
   * `false` = closed or closing, nothing sent.
   */
  send(message: string | Uint8Array): Promise<boolean>;
  /**
   * The next message; null after the last one. A reader that falls behind stops the peer (dialled on Node, Deno and
   * Bun, accepted on Node), elsewhere the connection is closed with 1013 once twice {@link MAX_DUPLEX_MESSAGE} wait.
   */
  receive(): Promise<string | Uint8Array | null>;
  /** Begins the close handshake; unread messages are dropped. @default 1000 */
  close(code?: number, reason?: string): void;
  /** Settles when the connection is over; never rejects. */
  readonly closed: Promise<DuplexEnd>;
}

/** Bytes that a close frame holds beside its code (RFC 6455, section 5.5). */
const REASON_LIMIT = 123;

/** Returns a client's end of a WebSocket that is closed with 1008 at the first message for which `refusal` has a reason. */
export function refusingDuplex(
  client: Duplex,
  refusal: (message: string | Uint8Array) => string | null,
): Duplex {
  return {
    protocol: client.protocol,
    closed: client.closed,
    send: (message) => client.send(message),
    close: (code, reason) => client.close(code, reason),
    async receive() {
      const message = await client.receive();
      const reason = message === null ? null : refusal(message);
      if (reason === null) return message;
      client.close(1008, reason.slice(0, REASON_LIMIT));
      return null;
    },
  };
}

/** A WebSocket to open. */
export interface DialRequest {
  /** `http(s)://` or `ws(s)://`. */
  readonly url: string;
  /** Headers beside those of the handshake itself, which the runtime makes. */
  readonly headers: readonly HeaderPair[];
  /** Subprotocols to offer, in order of preference. @default [] */
  readonly protocols?: readonly string[];
  /** The kind of address, as with `transport` and `egress`: one of the operator's, or one that a caller can steer. */
  readonly reach: "configured" | "public";
  /** Milliseconds that the handshake may take. */
  readonly timeoutMs: number;
  /** Ends the handshake; without effect afterwards. */
  readonly signal: AbortSignal;
}

/** An open WebSocket, or the answer with which the other side refused the handshake. */
export type Dialled = { readonly duplex: Duplex } | { readonly refusal: InboundResponse };

/** WebSockets outside of actors, for handlers that pass messages on and keep nothing. */
export interface WebSockets {
  /**
   * Accepts the upgrade request that the server received; return the response to the client. Throws `ApiError`
   * 426 on another request.
   */
  accept(
    request: Request,
    options?: { readonly protocol?: string },
  ): { readonly response: Response; readonly duplex: Duplex };
  /** Rejects with `TransportError`. */
  dial(request: DialRequest): Promise<Dialled>;
}
