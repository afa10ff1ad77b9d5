import type { HeaderPair, Plain } from "../../core/ports.ts";
import type { CallOutcome } from "../shared/actors/call-outcome.ts";

/** The head of a request that goes to an actor of another process. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly HeaderPair[];
  readonly hasBody: boolean;
}

/** The head of an actor's answer. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly hasBody: boolean;
}

/** Parts of a body, in either direction: each `more` asks for one chunk. */
export type BodyMessage =
  | { readonly type: "more"; readonly id: number }
  | { readonly type: "chunk"; readonly id: number; readonly bytes: Uint8Array }
  | { readonly type: "end"; readonly id: number }
  | { readonly type: "broken"; readonly id: number }
  /** The reader has left. */
  | { readonly type: "unread"; readonly id: number };

/** An event of a WebSocket that a peer holds. */
export type SocketMessage =
  | { readonly type: "opened"; readonly id: number }
  | { readonly type: "heard"; readonly id: number; readonly data: string | Uint8Array }
  /** So many bytes more have left for the client. */
  | { readonly type: "flushed"; readonly id: number; readonly bytes: number }
  | {
      readonly type: "closed";
      readonly id: number;
      readonly code: number;
      readonly reason: string;
    };

/** An order of the lock owner for a peer's WebSocket. */
export type SocketOrder =
  | {
      readonly type: "upgrade";
      readonly id: number;
      readonly protocol: string | undefined;
      readonly maxMessage: number | undefined;
    }
  | { readonly type: "send"; readonly id: number; readonly data: string | Uint8Array }
  | { readonly type: "close"; readonly id: number; readonly code: number; readonly reason: string }
  | { readonly type: "terminate"; readonly id: number };

/** A message from a peer to the lock owner of the data directory. `id` is the peer's number of the call or the request. */
export type ToOwner =
  | { readonly type: "hello"; readonly speaks: string }
  | {
      readonly type: "call";
      readonly id: number;
      readonly kind: string;
      readonly name: string;
      readonly method: string;
      readonly args: readonly Plain[];
    }
  | {
      readonly type: "fetch";
      readonly id: number;
      readonly kind: string;
      readonly name: string;
      readonly head: RequestHead;
    }
  /** The client of a request has left. */
  | { readonly type: "abort"; readonly id: number }
  /** The peer knows that the lock owner shuts down: no call follows. */
  | { readonly type: "left" }
  /** A heartbeat, to be answered at once. */
  | { readonly type: "ping" }
  | BodyMessage
  | SocketMessage;

/** A message from the lock owner to a peer. */
export type ToPeer =
  | { readonly type: "welcome"; readonly pid: number }
  | { readonly type: "pong" }
  | { readonly type: "refused"; readonly speaks: string }
  | { readonly type: "returned"; readonly id: number; readonly outcome: CallOutcome }
  | { readonly type: "responded"; readonly id: number; readonly head: ResponseHead }
  /** The call was not started, because the lock owner shuts down: it goes to the next one. */
  | { readonly type: "moved"; readonly id: number }
  /** The lock owner shuts down: new calls go to the next one. */
  | { readonly type: "leaving" }
  | BodyMessage
  | SocketOrder;
