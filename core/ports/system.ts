import type { Plain } from "./plain.ts";
import type { SyncCrypto } from "./fast-paths.ts";

/** Time, and waiting. */
export interface Timing {
  /** Unix time in ms. It jumps when the machine's clock is set. */
  now(): number;
  /**
   * Milliseconds since some moment, unaffected by changes of the clock: measures how long something took. Workers: as
   * coarse as its clock.
   */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason on abort. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Identity and randomness. */
export interface Entropy {
  /** A fresh UUID (version 4). */
  id(): string;
  /** Cryptographically secure random bytes. */
  random(length: number): Uint8Array;
}

/** The lifetime of work and of the process. */
export interface Lifetime {
  /**
   * Keeps the process (or the isolate) alive until the work is done; drained at shutdown. In an actor's
   * context the instance stays in memory meanwhile.
   */
  waitUntil(work: Promise<unknown>): void;
  /**
   * Announces work that will outlast its request, so that a shutdown waits for it; the caller calls the returned
   * function when the work is over. @default none: the server waits for all that it answers
   */
  begin?(): () => void;
  /** Aborted first when a shutdown begins, so that endless work ends. @default never */
  readonly closing?: AbortSignal;
}

/** A value that belongs to a run and everything that it awaits: an `AsyncLocalStorage`. */
export interface AsyncLocal {
  run<T>(value: unknown, work: () => T): T;
  getStore(): unknown;
}

/** The other impure parts of a runtime: time, identity, randomness. */
export interface System extends Timing, Entropy, Lifetime, SyncCrypto {
  /**
   * A decoder for a content encoding that the `DecompressionStream` of the runtime does not know (`br`, `zstd`), or unpacks
   * without regard for its reader; null when the runtime lacks it too. @default none
   */
  decoder?(encoding: string): ContentDecoder | null;
  /** Tells code which run of an agent it is in. @default the runtime, or its configuration, has none */
  readonly asyncLocal?: AsyncLocal | undefined;
}

/** Undoes a content encoding. Spelt out, because the types of Node lack `ReadableWritablePair`. */
export interface ContentDecoder {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<ArrayBuffer | ArrayBufferView<ArrayBuffer>>;
}

/**
 * A computation that may take longer than others can wait: a pure function whose `yield`s are the places where they may
 * go on. Between two of them it takes at most a few milliseconds. Its code is loaded where it runs, when it first does.
 */
export interface LongTask<
  I extends Plain,
  O extends Plain,
  S extends Steps<O> = Generator<void, O, void>,
> {
  /** The name of the task in the table that a thread has as well (`adapters/shared/background/thread.ts`). */
  readonly name: string;
  /** Tasks of one kind wait for each other only. @default "quick" */
  readonly kind?: TaskKind;
  /** Makes the error for an input that takes too much, e.g. of "it takes more than 60 s". @default `page_too_large` */
  readonly overrun?: (why: string) => Error;
  load(): Promise<(input: I) => S>;
}

/**
 * Kinds of tasks by how long they hold a thread: conversions of what a caller has just sent, files of formats that somebody else
 * made (a small one can be made to take very long), and training, which takes seconds by its nature.
 */
export type TaskKind = "quick" | "files" | "training";

/** The steps of a task; asynchronous where a parser is. */
export type Steps<O> = Generator<void, O, void> | AsyncGenerator<void, O, void>;

/** Runs long tasks beside the event loop: on a thread where the runtime has threads, in steps elsewhere. */
export interface Background {
  /**
   * Runs a task. `Uint8Array`s that are members of the input are handed over and may no longer be read. An `ApiError`
   * crosses unchanged. Rejects with the signal's reason on abort, which ends the task, and with `rate_limited` when too
   * many tasks wait. Threads and the queue in front of them are shared fairly between owners, such as a token, a search
   * instance or an account.
   */
  run<I extends Plain, O extends Plain>(
    task: LongTask<I, O, Steps<O>>,
    input: I,
    signal: AbortSignal,
    /** @default all work without an owner shares one */
    owner?: string,
  ): Promise<O>;
}

/** Structured log sink. Fields never hold secrets or bodies. */
export type Log = (
  level: "debug" | "info" | "warn" | "error",
  message: string,
  fields?: Readonly<Record<string, string | number | boolean | null | undefined>>,
) => void;
