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
   * its next run, later ones wait behind it; see {@link AgentDefinition.ordering}. A `Response` that it returns while the
   * sender waits (`answerSeconds` of the source) is the answer to the sender and, stored with the event, to its
   * duplicates: status up to 499, `content-type`, at most 64 KiB of text.
   */
  onEvent?(agent: Agent<State>, event: AgentEvent, run: Run): unknown;
  /** Answers HTTP requests below `/agents/{class}/{name}`. */
  onRequest?(agent: Agent<State>, request: Request): Response | Promise<Response>;
  /** Runs before anything else whenever an instance is started: at its first use, after idleness, after a restart. */
  onStart?(agent: Agent<State>): unknown;
  /**
   * Handles an error that a handler of a connection, of a request, or of a failed task threw. Without it errors are
   * logged. Failed requests are answered 500 in either case.
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
   * Longest run of a handler or callable in ms. After that the run counts as failed: its callers get an error, the next
   * run starts, and later effects of the overdue run are refused. @default 30000
   */
  readonly timeoutMs?: number;
  /**
   * Schema steps of the agent's own tables; add to the end, never edit one after a release. They are counted apart
   * from the runtime's own, each once per database.
   */
  readonly schema?: readonly string[];
}

/** A definition with any type of state. */
export type AnyAgent = AgentDefinition;
