/**
 * Every contract that a runtime fulfils. Types only: the adapters implement them, `core/` is handed them.
 * Each port has a contract suite in `tests/cases/` that every implementation passes in every runtime.
 *
 * @module
 */

import type { BodyBudget } from "./work/body-budget.ts";
import type { WebSockets } from "./net/duplex.ts";
import type { Actors } from "./ports/actors.ts";
import type { Browser } from "./ports/browser.ts";
import type { FastPaths } from "./ports/fast-paths.ts";
import type { Background, Log, System } from "./ports/system.ts";
import type { Transport } from "./ports/transport.ts";

export type {
  Actor,
  ActorContext,
  ActorKind,
  ActorNode,
  ActorNodes,
  ActorRef,
  Actors,
  DetachedContext,
  DetachedMethods,
  SharedSchema,
} from "./ports/actors.ts";
export type { SchemaStep } from "./sql/schema-step.ts";
export type { Plain } from "./ports/plain.ts";
export type { Browser, ProxyLogin, Wire } from "./ports/browser.ts";
export type {
  BreakOff,
  ReceivedRequest,
  StreamChange,
  StreamEnd,
  StreamWatch,
  SyncCipher,
  SyncCrypto,
} from "./ports/fast-paths.ts";
export type {
  PagePart,
  SiteCrawl,
  SiteCrawler,
  SitePage,
  SiteRead,
  SiteWish,
} from "./ports/site-crawler.ts";
export type { AcceptOptions, Connection, Sockets } from "./ports/sockets.ts";
export type {
  AsyncLocal,
  Background,
  ContentDecoder,
  Log,
  LongTask,
  Steps,
  System,
  TaskKind,
} from "./ports/system.ts";
export type {
  AnswerSilence,
  InboundResponse,
  OutboundRequest,
  Transport,
} from "./ports/transport.ts";
export type { HeaderPair } from "./ports/header-pair.ts";
export type {
  BatchOptions,
  QueryOptions,
  Sql,
  SqlRow,
  SqlValue,
  Statement,
  StatementResult,
} from "./ports/sql.ts";

/**
 * The name of something that a runtime may lack. `client-abort`: the server notices at once that a client has left, not at
 * the next write. `file-limits`: a file that takes too much memory ends the process that reads it, not the server.
 * `raw-framing`: the server sees both framing headers of a request as they were sent. All other names are ports.
 */
export type Capability =
  | "actors"
  | "browser"
  | "client-abort"
  | "egress-pinning"
  | "file-limits"
  | "raw-framing"
  | "sockets"
  | "transport";

/** The resources that a process uses. */
export interface Vitals {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  /** Unix ms. */
  readonly startedAt: number;
  /** Lines of the log that could not be written. */
  readonly droppedLines: number;
}

/** The ports that the parts of the API use inside. */
export interface PlatformCore {
  readonly actors: Actors;
  readonly system: System;
  readonly background: Background;
  readonly log: Log;
}

/** The ways out of the process, and the origin of requests. */
export interface PlatformNetwork {
  /** Requests to addresses that the operator configured. */
  readonly transport: Transport;
  /** Requests to addresses that a caller chooses: public addresses only, checked after DNS resolution. */
  readonly egress: Transport;
  /** WebSockets that no actor holds. */
  readonly webSockets: WebSockets;
  /** Opened on first use; rejects with `ApiError` 503 when the capability is missing. */
  readonly browser: Browser;
  /**
   * Returns the address from which a request comes, as the network reports it; null for a request that no server received.
   * @default unknown
   */
  clientAddress?(request: Request): string | null;
}

/** Everything a runtime provides. Made by `nodePlatform()`, `denoPlatform()`, `bunPlatform()`, `workersPlatform()`, `memoryPlatform()`. */
export interface Platform extends PlatformCore, PlatformNetwork, Pick<FastPaths, "received"> {
  readonly runtime: "node" | "deno" | "bun" | "workers" | "memory";
  /** `true`, or the reason why this runtime or installation lacks it. */
  readonly capabilities: Readonly<Record<Capability, true | string>>;
  /** The memory for the bodies of all requests in this process. @default without a bound */
  readonly bodies?: BodyBudget;
  /** Resources that the process uses; for metrics. @default not known */
  vitals?(): Vitals;
  /** Flushes pending writes, closes sockets with 1001, and closes the database. */
  close(): Promise<void>;
}

/** Turns texts into unit vectors. */
export interface Embedder {
  /** Name shown to users, e.g. `builtin/lexical` or `text-embedding-3-small`. */
  readonly model: string;
  readonly dimensions: number;
  /** Texts of one call of `embed`. @default 32 */
  readonly batchSize?: number;
  embed(
    texts: readonly string[],
    purpose: "query" | "document",
    signal?: AbortSignal,
    /** Names the span of this call, for the header of that name. */
    traceparent?: string,
  ): Promise<Float32Array[]>;
}

/** A chat model: a request in the OpenAI chat-completions format, answered as JSON or as server-sent events. */
export type ChatModel = (request: Request) => Promise<Response>;
