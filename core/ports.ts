/**
 * Every contract that a runtime fulfils. Types only: the adapters implement them, `core/` is handed them.
 * Each port has a contract suite in `tests/cases/` that every implementation passes in every runtime.
 *
 * @module
 */

import type { BodyBudget } from "./body-budget.ts";
import type { WebSockets } from "./duplex.ts";
import type { Sql, Statement, StatementResult } from "./sql.ts";

export type { BatchOptions, Sql, SqlRow, SqlValue, Statement, StatementResult } from "./sql.ts";

/**
 * Plain data that crosses an actor boundary: JSON values, `undefined` members and bytes.
 * Receivers treat it as immutable: in one process it is passed by reference, on Workers it is cloned.
 */
export type Plain =
  | string
  | number
  | boolean
  | null
  | undefined
  | Uint8Array
  | readonly Plain[]
  | { readonly [key: string]: Plain };

/** A stateful thing addressed by `(kind, name)`; obtained from {@link Actors.get}. */
export interface ActorRef {
  /**
   * Calls a method of the actor. Calls run one at a time, in the order in which they were made
   * (the mailbox), except {@link ActorKind.interleaved} ones. `ApiError` and `SqlError`
   * cross unchanged, other errors with their name and message.
   */
  call(method: string, ...args: readonly Plain[]): Promise<Plain>;
  /**
   * Hands the actor a request. Does not wait for the mailbox. A WebSocket upgrade has to be the very request
   * that the server received: Deno and Bun upgrade no copy.
   */
  fetch(request: Request): Promise<Response>;
}

/** The directory of actors: one home per `(kind, name)` at a time, started on first use. */
export interface Actors {
  /** Registers a kind before its first use. The same object may be registered again; another object of the same name is an error. */
  define(kind: ActorKind): void;
  get(kind: string, name: string): ActorRef;
}

/** The definition of one kind of actor: its schema and how an instance starts. Hold no state in it. */
export interface ActorKind {
  readonly name: string;
  /**
   * Schema steps, each applied once per database, in order, never edited after a release.
   * All tables carry an `actor` column with {@link ActorContext.name}: instances may share one database.
   */
  readonly schema: readonly string[];
  /** Tables that other kinds use as well, made before those of `schema`. @default none */
  readonly shared?: SharedSchema;
  /** Methods that may start while another call runs; they await nothing but their own `sql`. */
  readonly interleaved?: readonly string[];
  /** Sets alarms for times of day: all of them go off when the clock was set, so that they can be set anew. @default false */
  readonly timeOfDay?: boolean;
  start(context: ActorContext): Actor | Promise<Actor>;
}

/**
 * Tables of several kinds. Their steps are counted once per database, under their own name: no kind runs a step that
 * another has run, and neither list moves when the other grows.
 */
export interface SharedSchema {
  readonly name: string;
  /** As {@link ActorKind.schema}. */
  readonly steps: readonly string[];
}

/** A running instance. Evicted when idle: whatever must outlive a call is a row. */
export interface Actor {
  readonly methods: { readonly [method: string]: (...args: never[]) => unknown };
  fetch?(request: Request): Promise<Response>;
  /** The alarm came due. Throwing has it run again later with backoff. */
  onAlarm?(): Promise<void>;
  /** Beside the mailbox: messages of a connection are handed over in their order, whether or not one is still handled. */
  onMessage?(connection: Connection, message: string | Uint8Array): Promise<void> | void;
  /** Beside the mailbox, too. */
  onClose?(connection: Connection, code: number, reason: string): Promise<void> | void;
}

/** What a running instance is given. */
export interface ActorContext {
  readonly name: string;
  readonly sql: Sql;
  readonly sockets: Sockets;
  /** The others of the same platform. Who awaits one that may in turn wait for this one's mailbox waits for ever. */
  readonly actors: Pick<Actors, "get">;
  /**
   * Unix ms as they would be had nobody ever set the clock: for due times, which are durations from now. Never goes
   * back while the actor's database lives. Workers: no more than that it does not go back.
   */
  readonly steady: () => number;
  /**
   * Sets the one alarm of this actor to `at` (of {@link ActorContext.steady}; null clears it) and runs `together` in the
   * same transaction, so that a row and the alarm that will handle it cannot be parted by a crash.
   */
  alarm(at: number | null, together?: readonly Statement[]): Promise<StatementResult[]>;
  readonly system: System;
}

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
}

/** How a connection is accepted. */
export interface AcceptOptions {
  /** @default a fresh id. An id in use gets its older connection closed with 1000. */
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
export interface Connection {
  readonly id: string;
  readonly tags: readonly string[];
  /** Small state that survives eviction (and hibernation on Workers); assign to change it. At most 2 KiB as JSON. */
  attachment: Plain;
  /** Bytes handed over and not yet sent, as far as the runtime tells (Workers: an estimate). */
  readonly buffered: number;
  /** Frames handed over and not yet sent; 0 where the runtime does not tell (Workers). */
  readonly queued: number;
  /**
   * Sends a frame. A client whose unsent bytes exceed the platform's budget (default 1 MiB), or who has 256 frames
   * unsent of which the oldest waits for a second, is closed with 1013, so that it may come back and resume;
   * `false` = closed or closing, nothing sent.
   */
  send(message: string | Uint8Array): boolean;
  close(code?: number, reason?: string): void;
}

/** A source of raw Chrome DevTools Protocol connections; one browser may serve many. */
export interface Browser {
  /** Whether everything that its pages load passes an egress proxy of this platform. @default false */
  readonly guarded?: boolean;
  /** Whether a connection may outlive the request that opened it, so that pages can be made ahead. @default false */
  readonly lasting?: boolean;
  connect(options?: { readonly signal?: AbortSignal }): Promise<Wire>;
  /** One line for people: which browser, and how it is guarded. */
  describe?(): Promise<string>;
  /** Does ahead of time what the first `connect` would take long for, e.g. unpacking. */
  prepare?(): Promise<void>;
  close(): Promise<void>;
}

/** One browser-level DevTools connection: whole JSON messages, in order, of any size. */
export interface Wire {
  send(message: string): void;
  onMessage(listener: (message: string) => void): void;
  /** Called once, when the connection or the browser is gone. */
  onClose(listener: (reason: string) => void): void;
  close(): void;
  /** Closes the connection and has its browser replaced, because it did not answer in time. @default `close()` */
  kill?(): void;
}

/** One header, as a name in lower case and a value; repeated names stay separate. */
export type HeaderPair = readonly [name: string, value: string];

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
}

/** The answer. `body` and the `content-encoding`/`content-length` headers always agree. */
export interface InboundResponse {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  /** Bytes when the whole body was at hand, else a stream that errors when the upstream breaks off. */
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
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

/**
 * Sends an HTTP request. Redirects are never followed, no header is added but framing and `host`,
 * an abort closes the upstream connection at once. Rejects with `TransportError` (`core/transport-error.ts`).
 */
export interface Transport {
  send(request: OutboundRequest): Promise<InboundResponse>;
  /**
   * Why `send` would refuse an address whatever it resolves to, as far as its text tells; null when it would not. For
   * settings that name an address: they are refused when they are stored. @default nothing is refused beforehand
   */
  refusal?(url: string): string | null;
  /**
   * Has the chunks of an answer's body shown to `watch` as its reader takes them, at less cost than by a stream
   * around it; false when the body is none of this transport's, or already read. @default never
   */
  watch?(body: ReadableStream<Uint8Array>, watch: StreamWatch): boolean;
  /**
   * Has the chunks of an answer's body changed behind what `watch` sees, under the same conditions and as cheaply.
   * @default never
   */
  change?(body: ReadableStream<Uint8Array>, change: StreamChange): boolean;
}

/** Turns texts into unit vectors. */
export interface Embedder {
  /** Name shown to users, e.g. `builtin/lexical` or `text-embedding-3-small`. */
  readonly model: string;
  readonly dimensions: number;
  embed(
    texts: readonly string[],
    purpose: "query" | "document",
    signal?: AbortSignal,
  ): Promise<Float32Array[]>;
}

/** A chat model: a request in the OpenAI chat-completions format, answered as JSON or as server-sent events. */
export type ChatModel = (request: Request) => Promise<Response>;

/** The impure rest of a runtime: time, identity, randomness. */
export interface System {
  /** Unix time in ms. It jumps when the machine's clock is set. */
  now(): number;
  /**
   * Milliseconds since some moment, which no change of the clock touches: what measures how long something took.
   * Workers: the platform tells no more than its clock does.
   */
  monotonic(): number;
  /** A fresh UUID (version 4). */
  id(): string;
  /** Cryptographically secure random bytes. */
  random(length: number): Uint8Array;
  /** Resolves after `ms`; rejects with the signal's reason on abort. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Keeps the process (or the isolate) alive until the work is done; drained at shutdown. In an actor's
   * context the instance stays in memory meanwhile.
   */
  waitUntil(work: Promise<unknown>): void;
  /**
   * Says that something began which will leave work behind, so that a shutdown waits for it; to be called again, by
   * what is returned, when it is over. @default none: the server waits for all that it answers
   */
  begin?(): () => void;
  /**
   * SHA-256 in lower-case hexadecimal, at once. Where it is missing WebCrypto serves, which costs a short text
   * twenty times as much on Node: a thread has to be woken. @default none
   */
  sha256Hex?(data: string | Uint8Array): string;
  /** A signer with this HMAC key that works at once; the reason is that of {@link System.sha256Hex}. @default none */
  hmac?(
    secret: Uint8Array,
    hash: "SHA-256" | "SHA-1" | "SHA-512",
  ): (data: Uint8Array) => Uint8Array;
  /**
   * Undoes a content encoding that `DecompressionStream` does not know everywhere (`br`, `zstd`); null when it cannot
   * either. @default none
   */
  decoder?(encoding: string): ContentDecoder | null;
  /** Aborted first of all when the end was asked for: what would go on for ever ends now. @default never */
  readonly closing?: AbortSignal;
}

/** Undoes a content encoding. Spelt out: the types of Node know no `ReadableWritablePair`. */
export interface ContentDecoder {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<ArrayBuffer | ArrayBufferView<ArrayBuffer>>;
}

/**
 * A computation that may take longer than others can wait: a pure function whose `yield`s are the places where they may
 * go on. Between two of them it takes at most a few milliseconds.
 */
export interface LongTask<I extends Plain, O extends Plain> {
  /** Tells it to a thread, which has the same table of tasks (`adapters/shared/background/tasks.ts`). */
  readonly name: string;
  steps(input: I): Generator<void, O, void>;
}

/** Runs long tasks beside the event loop: on a thread where the runtime has threads, in steps elsewhere. */
export interface Background {
  /**
   * `Uint8Array`s that are members of the input are handed over and may no longer be read. An `ApiError` crosses
   * unchanged. Rejects with the signal's reason on abort, which ends the task.
   */
  run<I extends Plain, O extends Plain>(
    task: LongTask<I, O>,
    input: I,
    signal: AbortSignal,
  ): Promise<O>;
}

/** Structured log sink. Fields never hold secrets or bodies. */
export type Log = (
  level: "debug" | "info" | "warn" | "error",
  message: string,
  fields?: Readonly<Record<string, string | number | boolean | null | undefined>>,
) => void;

/**
 * The name of something a runtime may lack. `client-abort`: a client that leaves is noticed at once, not at the
 * next write. `raw-framing`: a request with two kinds of framing is seen as it was sent. The others are ports.
 */
export type Capability =
  | "actors"
  | "browser"
  | "client-abort"
  | "egress-pinning"
  | "raw-framing"
  | "sockets"
  | "transport";

/** A request as the runtime's server holds it: cheaper to read than a `Request`. */
export interface ReceivedRequest {
  /** What `Request.headers` would list, in the order of arrival. */
  readonly headers: readonly HeaderPair[];
  /** Reads the whole body, in place of the request's own methods. */
  bytes(): Promise<Uint8Array>;
}

/** What a process takes. */
export interface Vitals {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  /** Unix ms. */
  readonly startedAt: number;
}

/** Everything a runtime provides. Made by `nodePlatform()`, `denoPlatform()`, `bunPlatform()`, `workersPlatform()`, `memoryPlatform()`. */
export interface Platform {
  readonly runtime: "node" | "deno" | "bun" | "workers" | "memory";
  /** `true`, or the reason why this runtime or installation lacks it. */
  readonly capabilities: Readonly<Record<Capability, true | string>>;
  readonly actors: Actors;
  /** Requests to addresses that the operator configured. */
  readonly transport: Transport;
  /** Requests to addresses that a caller can steer: public addresses only, checked after DNS resolution. */
  readonly egress: Transport;
  /** WebSockets that no actor holds. */
  readonly webSockets: WebSockets;
  /** Opened on first use; rejects with `ApiError` 503 when the capability is missing. */
  readonly browser: Browser;
  readonly system: System;
  readonly background: Background;
  readonly log: Log;
  /** What the bodies of all requests may take in memory, in this process. @default without a bound */
  readonly bodies?: BodyBudget;
  /** What the process takes; for metrics. @default not known */
  vitals?(): Vitals;
  /** The same request in a cheaper form, or null when there is none. @default none */
  received?(request: Request): ReceivedRequest | null;
  /** Flushes, closes sockets with 1001 and the database. */
  close(): Promise<void>;
}
