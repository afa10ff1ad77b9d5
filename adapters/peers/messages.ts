import type { HeaderPair, Plain } from "../../core/ports.ts";
import type { CallOutcome } from "../shared/actors/call-outcome.ts";

/** A message on the connection of a peer's calls, to the process that has the actors. `id` is the peer's number of a call. */
export type ToOwner =
  | {
      readonly type: "call";
      readonly id: number;
      readonly kind: string;
      readonly name: string;
      readonly method: string;
      readonly args: readonly Plain[];
    }
  /** The peer knows that the owner shuts down: no call follows. */
  | { readonly type: "left" }
  /** A heartbeat, to be answered at once. */
  | { readonly type: "ping" };

/** A message to the peer on the connection of its calls. */
export type ToPeer =
  | { readonly type: "returned"; readonly id: number; readonly outcome: CallOutcome }
  /** The call was not started, because the owner shuts down, or the actor is elsewhere: it goes to the next owner. */
  | { readonly type: "moved"; readonly id: number }
  /** The owner shuts down: new calls go to the next one. */
  | { readonly type: "leaving" }
  | { readonly type: "pong" };

/** The beginning of a request's body: the request that the actor gets. Its own body follows. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly HeaderPair[];
  readonly hasBody: boolean;
}

/** The beginning of an answer's body. */
export type AnswerHead =
  | CallOutcome
  /** The actor's answer; its body follows. */
  | {
      readonly status: number;
      readonly headers: readonly HeaderPair[];
      readonly hasBody: boolean;
    }
  /** The actor takes the WebSocket: from now on each body is a {@link SocketMessage} or a {@link SocketOrder} after the other. */
  | { readonly upgrade: CarriedSocketOptions };

/** How a peer has to upgrade its client's request. */
export interface CarriedSocketOptions {
  readonly protocol: string | undefined;
  readonly maxMessage: number | undefined;
}

/** An event of a WebSocket that a peer holds. */
export type SocketMessage =
  | { readonly type: "opened" }
  | { readonly type: "heard"; readonly data: string | Uint8Array }
  /** So many bytes more have left for the client. */
  | { readonly type: "flushed"; readonly bytes: number }
  | { readonly type: "closed"; readonly code: number; readonly reason: string };

/** An order of the owner for a peer's WebSocket. */
export type SocketOrder =
  | { readonly type: "send"; readonly data: string | Uint8Array }
  | { readonly type: "close"; readonly code: number; readonly reason: string }
  | { readonly type: "terminate" };
