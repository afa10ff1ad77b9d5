import type { HeaderPair, Plain } from "../../core/ports.ts";
import type { CallOutcome } from "../shared/actors/crossing.ts";

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

/** What happens on a WebSocket that a guest holds. */
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

/** What the holder asks of a guest's WebSocket. */
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

/** What a guest tells the holder of the data directory. `id` is the guest's number of the call or the request. */
export type ToHolder =
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
  /** Knows that the holder leaves: no call follows. */
  | { readonly type: "left" }
  /** To be answered at once. */
  | { readonly type: "ping" }
  | BodyMessage
  | SocketMessage;

/** What the holder tells a guest. */
export type ToGuest =
  | { readonly type: "welcome"; readonly pid: number }
  | { readonly type: "pong" }
  | { readonly type: "refused"; readonly speaks: string }
  | { readonly type: "returned"; readonly id: number; readonly outcome: CallOutcome }
  | { readonly type: "responded"; readonly id: number; readonly head: ResponseHead }
  /** Not begun, as the holder leaves: to be asked of its successor. */
  | { readonly type: "moved"; readonly id: number }
  /** The holder shuts down: new calls are for its successor. */
  | { readonly type: "leaving" }
  | BodyMessage
  | SocketOrder;
