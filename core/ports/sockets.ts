import type { Plain } from "./plain.ts";

/**
 * The WebSocket connections of one actor. They survive the eviction of the instance.
 * A text frame `ping` is answered `pong` without reaching the actor.
 */
export interface Sockets {
  /** Accepts an upgrade request; return the response to the client. Throws `ApiError` 426 on another request. */
  accept(request: Request, options?: AcceptOptions): Response;
  /** Sends one text frame to every connection except those whose ids are given. */
  broadcast(text: string, except?: readonly string[]): void;
  connections(tag?: string): readonly Connection[];
  /** Connections stay open while their process is not in memory: timers would prevent that, alarms do not. @default false */
  readonly hibernates?: boolean;
  /**
   * Finds peers that have vanished without a word. Where it is there, the actor has to ask from its alarm; elsewhere the runtime
   * pings by itself, and the actor hears of the end as of any other (1006).
   */
  readonly vanished?: VanishedPeers;
}

/** Finds peers that have vanished, by the frames `ping` that they no longer send: the runtime cannot ping them. */
export interface VanishedPeers {
  /** The time between two looks, in ms. */
  readonly everyMs: number;
  /** Whether there is a connection whose end would be noticed, or one so new that it may become such. */
  isNeeded(): boolean;
  /** Ends the connections whose peers sent `ping` once, and nothing for two looks; the actor has not heard of these. */
  end(): readonly Connection[];
}

/** Options for accepting a connection. */
export interface AcceptOptions {
  /** The id of the connection. If it is in use, the older connection is closed with 1000. @default a fresh id */
  readonly id?: string;
  /** Subprotocol to select. @default none */
  readonly protocol?: string;
  /** At most 9 tags of at most 256 characters. @default [] */
  readonly tags?: readonly string[];
  readonly attachment?: Plain;
  /** Bytes of one message of the client's; a longer one ends the connection with 1009. @default 1 MiB */
  readonly maxMessage?: number;
}

/** One accepted WebSocket. */
export interface Connection extends Unsent {
  readonly id: string;
  readonly tags: readonly string[];
  /** Small state that survives eviction (and hibernation on Workers); assign to change it. At most 2 KiB as JSON. */
  attachment: Plain;
  /**
   * Sends a frame. A client is closed with 1013, so that it may come back and resume, when its unsent bytes exceed the
   * platform's budget (default 1 MiB), or when it has 256 frames unsent of which the oldest waits for a second; `false`
   * = closed or closing, nothing sent.
   */
  send(message: string | Uint8Array): boolean;
  close(code?: number, reason?: string): void;
}

/** Data that was handed over to a WebSocket and not yet sent. */
export interface Unsent {
  /** Bytes, as far as the runtime reports them (Workers: an estimate). */
  readonly buffered: number;
  /** Frames; 0 where the runtime does not report them (Workers). */
  readonly queued: number;
}
