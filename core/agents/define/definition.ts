import type { SchemaStep } from "../../sql/schema-step.ts";
import type { AgentEvent, AgentConnection, Agent } from "./agent.ts";
import type { Run, RetryOptions } from "./tasks.ts";
import type { Plain } from "../../ports.ts";

/** Sends the parts of a streamed result. */
export interface StreamReply {
  /** False when the client is gone. */
  send(chunk: Plain): boolean;
  end(result?: Plain): void;
  error(message: string): void;
  /** True as soon as the client has left, or the stream has ended. */
  readonly isClosed: boolean;
}

// Methods, not function properties: their parameters are compared in both directions, so that a definition
// with a state type of its own fits into a list of definitions.

/** An operation that clients call by name. */
export type AgentOperation<State> = { run(agent: Agent<State>, ...args: never[]): unknown }["run"];

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
  | (AgentOperation<State> & { readonly streaming?: undefined })
  | (CallableOptions & {
      readonly run: AgentOperation<State>;
      readonly streaming?: false;
      /** Exclusive callables of an instance run one after another. Events and tasks do not wait for them. @default false */
      readonly exclusive?: boolean;
    })
  | (CallableOptions & { readonly run: StreamOperation<State>; readonly streaming: true });

/** Operations by name. */
export type Callables<State> = Readonly<Record<string, Callable<State>>>;

/**
 * A class of agents. Events and tasks of one instance run one at a time, and so do messages of one connection. Callables,
 * requests and connections do not wait for events and tasks, nor for each other.
 */
export interface AgentDefinition<State = Plain, Calls extends object = Callables<State>> {
  /** The class name; its kebab form is the path segment. */
  readonly name: string;
  /** The state of a new instance. @default none: no state frame is sent until `setState` */
  readonly initialState?: State;
  /** The state is the event feed (`{eventCount, lastEvent}`), kept by the runtime. @default false */
  readonly feed?: boolean;
  /**
   * Handles one stored event, in order and at least once: make it idempotent, or look at `run.attempt`. While an event waits
   * for its next run, later events wait behind it; see {@link AgentDefinition.ordering}. If it returns a `Response` while
   * the sender waits (`answerSeconds` of the source), that is the answer to the sender and, stored with the event, to its
   * duplicates: status up to 499, `content-type`, at most 64 KiB of text.
   */
  onEvent?(agent: Agent<State>, event: AgentEvent, run: Run): unknown;
  /** Answers HTTP requests below `/agents/{class}/{name}`. */
  onRequest?(agent: Agent<State>, request: Request): Response | Promise<Response>;
  /** Runs before anything else whenever an instance starts: at its first use, after it was idle, after a restart. */
  onStart?(agent: Agent<State>): unknown;
  /**
   * Handles an error of a handler: of a connection, of a request, or of a task that gave up. Without `onError` such errors
   * are logged. A failed request is a 500 in both cases.
   */
  onError?(agent: Agent<State>, error: unknown, connection: AgentConnection | null): unknown;
  /** Labels of a new connection for `agent.getConnections(tag)`: at most 9 of at most 256 characters. */
  connectionTags?(request: Request): readonly string[];
  /** `true` keeps a client from setting the state, even if its token may; `connection.readonly` changes this later. */
  shouldConnectionBeReadonly?(request: Request): boolean;
  /** `false`: the client gets no identity, state or other frame of the protocol that it has not asked for. @default true */
  shouldSendProtocolMessages?(request: Request): boolean;
  onConnect?(agent: Agent<State>, connection: AgentConnection, request: Request): unknown;
  /** Handles a message that is not part of the protocol. */
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
   * `strict`: after an event whose handler fails, the instance's later events wait until it has succeeded or is a dead letter.
   * `none`: later events do not wait, so handlers see e.g. 1, 2, 3, 1. @default "strict"
   */
  readonly ordering?: "strict" | "none";
  /**
   * Longest run of a handler or callable in ms. After that the run counts as failed: its callers get an error, the next
   * run starts, and later effects of the overdue run are refused. @default 30000
   */
  readonly timeoutMs?: number;
  /**
   * Steps that make the agent's own tables, each run once per database. Append steps, and never edit a released one. They are
   * counted separately from the runtime's own steps. Mark a step as `{ additive: "…" }` if servers without it can go on meanwhile, such
   * as a new table or a column with a default (docs/scale.md#upgrade).
   */
  readonly schema?: readonly SchemaStep[];
}

/** A definition with any type of state. */
export type AnyAgent = AgentDefinition;
