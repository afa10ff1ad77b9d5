import type { ActorRef, Log, Platform } from "../../core/ports.ts";

/** What a suite may ask of the platform under test; each file beside this one fulfils it. */
export interface OpenOptions {
  /** The name of a place: opening it again finds the same data, as after a restart. @default a fresh, empty place */
  readonly data?: string;
  /** Address of a PostgreSQL database; only where `#platform` is a process. @default the runtime's own storage */
  readonly database?: string;
  /** How servers of that database share it. @default the defaults of the platform */
  readonly cluster?: { readonly leaseMs: number };
  /** How long calls under way may take when it closes, in ms; only where `#platform` is a process. @default 2000 */
  readonly closeGraceMs?: number;
  /** Receives its log; only where `#platform` is a process. @default nothing does */
  readonly log?: Log;
  /** Hosts that what a caller steers may reach although they are not public. @default [] */
  readonly allowHosts?: readonly string[];
}

/** Opens the platform of the runtime that the suite runs on: the import `#platform`. Close it afterwards. */
export function openPlatform(options?: OpenOptions): Promise<Platform>;

/** The other end of a WebSocket of an actor. */
export interface TestSocket {
  readonly protocol: string;
  /** Settles when the connection is over. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  /** The next message; rejects when none comes any more. */
  next(): Promise<string | Uint8Array>;
  send(message: string | Uint8Array): void;
  close(code?: number, reason?: string): void;
}

/** Connects a WebSocket to an actor by way of the runtime's own server. */
export function connect(ref: ActorRef, protocols?: readonly string[]): Promise<TestSocket>;

/** Connects a client, called `mute`, that answers nothing from then on; it goes with the process. */
export function connectMute(ref: ActorRef): Promise<void>;

/** Connects a client, called `living`, that shows that it is there; the function ends it. */
export function connectLiving(ref: ActorRef): Promise<() => void>;

/** Has the idle instances of actors leave memory; what they keep in rows and sockets stays. */
export function evict(): Promise<void>;
