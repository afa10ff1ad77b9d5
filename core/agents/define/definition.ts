import type { Plain, SqlRow, SqlValue } from "../../ports.ts";
import type { EventRecord } from "../../entity/event.ts";
import type { AgentReach } from "../mailbox/reach.ts";
import type { AgentTransaction } from "../mailbox/transaction.ts";

/** A stored event as a handler gets it: the payload is parsed. */
export interface AgentEvent extends Omit<EventRecord, "payload"> {
  /** Parsed JSON; null when the event had no body. */
  readonly payload: unknown;
  /** Position among the entity's events: 1, 2, 3 … without gaps. */
  readonly seq: number;
  readonly provider: string;
}

/** One run of a handler from the queue. */
export interface Run {
  /** 1 at the first run; it also counts a run that a crash cut off. */
  readonly attempt: number;
  readonly job: string;
  /** Somebody asked for it again: the event or task had run before, or was given up. */
  readonly isReplay: boolean;
  /** Aborted when the handler's time is over. */
  readonly signal: AbortSignal;
}

/** Which events to read. */
export interface EventQuery {
  /** Clamped to 1…1000. @default 20 */
  readonly limit?: number;
  readonly type?: string;
  /** Only events after this `seq`. */
  readonly since?: number;
}

/** When a task runs: after so many seconds, at a date, or at the times of a cron expression (UTC, five fields). */
export type When = number | Date | string;

/** A task that is due once or again and again. */
export interface Schedule {
  readonly id: string;
  readonly task: string;
  readonly payload: Plain;
  /** Unix ms of the next run. */
  readonly due: number;
  readonly kind: "once" | "interval" | "cron";
}

/** Which schedules to list. */
export interface ScheduleFilter {
  readonly kind?: Schedule["kind"];
  readonly task?: string;
}

/** How {@link Agent.queue} queues a task. */
export interface QueueOptions {
  /** Of two tasks with one id the first counts, until it has run. @default a fresh id */
  readonly id?: string;
  /** @default the definition's */
  readonly retry?: RetryOptions;
  /** Waits at least so long before the first run, in seconds. @default 0 */
  readonly delaySeconds?: number;
}

/** A task that waits in the queue, or runs. */
export interface QueuedTask {
  readonly id: string;
  readonly task: string;
  readonly payload: Plain;
  /** Runs so far. */
  readonly attempt: number;
  /** Unix ms of the next run. */
  readonly due: number;
  /** Why the last run failed. */
  readonly error: string | null;
}

/** A task or an event whose handler gave up. */
export interface DeadLetter {
  readonly id: string;
  readonly task: string;
  readonly payload: Plain;
  /** Position of the event, when it was one. */
  readonly seq: number | null;
  readonly attempts: number;
  readonly error: string;
  /** ISO 8601. */
  readonly failedAt: string;
}

/** How a failing job runs again. */
export interface RetryOptions {
  /** Runs before the job becomes a dead letter. @default 5 */
  readonly maxAttempts?: number;
  /** First delay in ms; it doubles, with full jitter. @default 1000 */
  readonly baseMs?: number;
  /** Longest delay in ms. @default 300000 */
  readonly maxMs?: number;
}

/** One WebSocket of a client, as handlers see it. */
export interface AgentConnection {
  readonly id: string;
  readonly tags: readonly string[];
  /** Kept with the connection through evictions; assign to change it. About 1.9 KiB as JSON. */
  state: Plain;
  /** Whether this client may not set the agent's state. */
  readonly: boolean;
  /** Unsent bytes: a client that reads too slowly is closed with 1013 at 1 MiB. */
  readonly buffered: number;
  /** Unsent frames: a client that reads too slowly is closed with 1013 at 256. 0 on Workers, where nobody can know. */
  readonly queued: number;
  /** False when the connection is closing or closed. */
  send(message: string | Uint8Array): boolean;
  close(code?: number, reason?: string): void;
}

/** What handlers are given: the running instance. */
export interface Agent<State = Plain> extends AgentReach {
  /** Name of the instance (the entity). */
  readonly name: string;
  /** Path form of the class. */
  readonly className: string;
  /**
   * Aborted when the time of this run of the handler is over. From then on every method that does something throws:
   * nothing that a late handler does counts.
   */
  readonly signal: AbortSignal;
  readonly state: State;
  /** Stores the state, then tells every client (except the connection that set it). */
  setState(state: State): Promise<void>;
  /**
   * Writes a state, rows and outbound webhooks together or not at all: `tx` collects them and must not be kept. Resolves
   * to the rows of each `` tx.sql`…` `` after the commit.
   */
  transaction(collect: (tx: AgentTransaction<State>) => void): Promise<SqlRow[][]>;
  events(query?: EventQuery): Promise<EventRecord[]>;
  /**
   * Runs one SQL statement, `` agent.sql`SELECT …` ``, values as parameters. Instances may share a database:
   * give your tables (definition's `schema`) an `actor` column and put {@link Agent.key} there.
   */
  sql(strings: TemplateStringsArray, ...values: readonly SqlValue[]): Promise<SqlRow[]>;
  /** What identifies this instance in shared tables: class and name. */
  readonly key: string;
  schedule(when: When, task: string, payload?: Plain): Promise<Schedule>;
  /**
   * Runs a task every so many seconds. The same task, interval and payload is scheduled once; a run that is
   * still queued when the next is due takes its place.
   */
  scheduleEvery(seconds: number, task: string, payload?: Plain): Promise<Schedule>;
  getSchedule(id: string): Promise<Schedule | null>;
  /** Earliest first. */
  listSchedules(filter?: ScheduleFilter): Promise<Schedule[]>;
  /** Whether there was such a schedule. */
  cancelSchedule(id: string): Promise<boolean>;
  /** Puts a task into the durable queue; resolves to the job's id after the commit. */
  queue(task: string, payload?: Plain, options?: QueueOptions): Promise<string>;
  /** Takes a task out of the queue; whether it was there. One that runs is not interrupted, but not repeated. */
  dequeue(id: string): Promise<boolean>;
  /** Empties the queue, except of events; resolves to the count. */
  dequeueAll(): Promise<number>;
  /** Takes all of one task out of the queue; resolves to the count. */
  dequeueAllByTask(task: string): Promise<number>;
  getQueue(id: string): Promise<QueuedTask | null>;
  /** Next first, at most 1000, without events. */
  getQueues(task?: string): Promise<QueuedTask[]>;
  /** Newest first. `limit` is clamped to 1…1000. @default 20 */
  deadLetters(limit?: number): Promise<DeadLetter[]>;
  /** Queues a dead letter again; resolves to the job's id, null when there is none of that id. */
  replayDeadLetter(id: string): Promise<string | null>;
  /** Runs work again when it fails, at once and in place: 3 times, 100 ms to 3 s apart, unless told otherwise. */
  retry<T>(work: (attempt: number) => T | Promise<T>, options?: RetryOptions): Promise<T>;
  /** Sends a frame to every client except those connections. */
  broadcast(message: string | Uint8Array, without?: readonly string[]): void;
  getConnections(tag?: string): readonly AgentConnection[];
  /** Keeps the instance in memory until the returned function is called, or the process is asked to end. */
  keepAlive(): () => void;
  /**
   * Deletes the instance's rows and schedules, also those with {@link Agent.key} in the `actor` column of tables from the
   * definition's `schema`, in one transaction; then closes its connections. Its next use (an event, a request, a
   * connection) begins it anew, with the class's initial state, schedules and `onStart`.
   */
  destroy(): Promise<void>;
}

/** Sends the parts of a streamed result. */
export interface StreamReply {
  /** False when the client is gone. */
  send(chunk: Plain): boolean;
  end(result?: Plain): void;
  error(message: string): void;
  readonly isClosed: boolean;
}

// Methods, not function properties: their parameters are compared in both directions, so that a definition
// with a state type of its own fits into a list of definitions.

/** An operation that clients call by name. */
export type Operation<State> = { run(agent: Agent<State>, ...args: never[]): unknown }["run"];

/** An operation that streams its result. */
export type StreamOperation<State> = {
  run(agent: Agent<State>, stream: StreamReply, ...args: never[]): unknown;
}["run"];

/** A handler of `queue()` and `schedule()`. */
export type Task<State> = { run(agent: Agent<State>, payload: never, run: Run): unknown }["run"];

/** Settings of a callable. */
export interface CallableOptions {
  /** Asks for a token with "Agents Edit". @default false */
  readonly edit?: boolean;
  /** Longest run in ms; of a stream, longest time between two parts. @default the definition's `timeoutMs` */
  readonly timeoutMs?: number;
}

/** An operation, with settings or without. */
export type Callable<State> =
  // Says that it does not stream, so that TypeScript knows the parameters of a `run` that does not say it.
  | (Operation<State> & { readonly streaming?: undefined })
  | (CallableOptions & {
      readonly run: Operation<State>;
      readonly streaming?: false;
      /** Exclusive callables of an instance run one after another. Events and tasks do not wait for them. @default false */
      readonly exclusive?: boolean;
    })
  | (CallableOptions & { readonly run: StreamOperation<State>; readonly streaming: true });

/** Operations by name. */
export type Callables<State> = Readonly<Record<string, Callable<State>>>;

/**
 * A class of agents. Events and tasks of one instance run one at a time; messages of one connection too. Callables,
 * requests and connections neither wait for them nor for each other.
 */
export interface AgentDefinition<State = Plain, Calls extends object = Callables<State>> {
  /** The class name; its kebab form is the path segment. */
  readonly name: string;
  /** @default none: no state frame is sent until `setState` */
  readonly initialState?: State;
  /** The state is the event feed (`{eventCount, lastEvent}`), kept by the runtime. @default false */
  readonly feed?: boolean;
  /**
   * Handles one stored event, in order. At least once: make it idempotent, or look at `run.attempt`. While one waits for
   * its next run, later ones wait behind it; see {@link AgentDefinition.ordering}.
   */
  onEvent?(agent: Agent<State>, event: AgentEvent, run: Run): unknown;
  /** Answers HTTP requests below `/agents/{class}/{name}`. */
  onRequest?(agent: Agent<State>, request: Request): Response | Promise<Response>;
  /** Runs before anything else whenever an instance is started: at its first use, after idleness, after a restart. */
  onStart?(agent: Agent<State>): unknown;
  /**
   * What a handler threw: of a connection, of a request, or of a task that gave up. Without it errors are logged.
   * Failed requests are answered 500 all the same.
   */
  onError?(agent: Agent<State>, error: unknown, connection: AgentConnection | null): unknown;
  /** Labels of a new connection for `agent.getConnections(tag)`: at most 9 of at most 256 characters. */
  connectionTags?(request: Request): readonly string[];
  /** Keeps a client that could set the state from it; the handler may change its mind (`connection.readonly`). */
  shouldConnectionBeReadonly?(request: Request): boolean;
  /** `false`: no identity, state or other frame of the protocol is sent to it unasked. @default true */
  shouldSendProtocolMessages?(request: Request): boolean;
  onConnect?(agent: Agent<State>, connection: AgentConnection, request: Request): unknown;
  /** A message that is not of the protocol. */
  onMessage?(
    agent: Agent<State>,
    connection: AgentConnection,
    message: string | Uint8Array,
  ): unknown;
  onClose?(agent: Agent<State>, connection: AgentConnection, code: number, reason: string): unknown;
  onStateChanged?(agent: Agent<State>, state: State, source: "server" | "client"): unknown;
  /** Throws to refuse a state, before it is stored. */
  validateState?(state: State, source: "server" | "client"): void;
  /** Clients whose token has "Agents Edit" may set the state. @default false */
  readonly clientState?: boolean;
  /** Operations that clients may call; nothing else is reachable. */
  readonly callable?: Calls;
  /** Handlers of `queue()` and `schedule()`. */
  readonly tasks?: Readonly<Record<string, Task<State>>>;
  /** Tasks that every instance runs from its start on, by task name: a cron expression or seconds. */
  readonly schedules?: Readonly<Record<string, string | number>>;
  readonly retry?: RetryOptions;
  /**
   * `strict`: an event whose handler fails holds the instance's later ones until it has succeeded or is a dead letter.
   * `none`: they overtake it, so that handlers see e.g. 1, 2, 3, 1. @default "strict"
   */
  readonly ordering?: "strict" | "none";
  /**
   * Longest run of a handler or callable in ms. Then it counts as failed, whoever waits is told, the next one runs, and
   * nothing that it does later counts. @default 30000
   */
  readonly timeoutMs?: number;
  /**
   * Schema steps of the agent's own tables; add to the end, never edit one after a release. They are counted apart
   * from the runtime's own, each once per database.
   */
  readonly schema?: readonly string[];
}

/** A definition whose state type is its own business. */
export type AnyAgent = AgentDefinition;

/** Thrown by a handler: the job becomes a dead letter at once. */
export class NonRetryableError extends Error {
  override readonly name = "NonRetryableError";
}
