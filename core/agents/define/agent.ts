import type { EventRecord } from "../../entity/event.ts";
import type { Plain, SqlRow, SqlValue } from "../../ports.ts";
import type { AgentCapabilities } from "./capabilities.ts";
import type { AgentStub, CallableClass } from "./agent-stub.ts";
import type {
  DeadLetter,
  QueuedTask,
  QueueOptions,
  RetryOptions,
  Schedule,
  ScheduleFilter,
  AgentScheduleOptions,
  When,
} from "./tasks.ts";

/** A message for the account's webhook endpoints. */
export interface OutboundWebhook {
  readonly type: string;
  /** Becomes the body of the request: at most 256 Ki characters of JSON. */
  readonly payload?: Plain;
  /**
   * The body of the request as JSON text, byte for byte, instead of `payload`: e.g. {@link AgentEvent.text}, whose numbers may
   * have more digits than a number of JavaScript.
   */
  readonly json?: string;
  /** The entity that the event is about; `ordered` endpoints keep the order per entity. @default the instance's name */
  readonly entity?: string;
  /** The one endpoint that gets the message. @default every endpoint that takes the type */
  readonly endpoint_id?: string;
  /** The application of the account whose endpoints get it. @default those of the account itself */
  readonly application?: string;
  /**
   * Only the first message of an instance (to an application) with a given key is sent, as long as its deliveries are kept.
   * @default every message is sent
   */
  readonly idempotency_key?: string;
}

/** The capabilities and other instances that an instance can reach. */
export interface AgentReach extends AgentCapabilities {
  /**
   * Another instance (or this one), whose callables are methods: `agent.getAgentByName(Board, "main").add(1)`. A call ends
   * with this run's time at the latest. An exclusive callable that would wait for itself is refused at once.
   */
  getAgentByName<Calls extends object>(of: CallableClass<Calls>, name: string): AgentStub<Calls>;
  /**
   * The account's outbound webhooks. `send` resolves once the message is stored with the instance; from there it goes to
   * the account's queue once, whatever happens in between. {@link AgentTransaction} stores it with a state.
   */
  readonly webhooks: { send(message: OutboundWebhook): Promise<void> };
}

/** Collects writes of one transaction; none of them takes effect before `agent.transaction` resolves. */
export interface AgentTransaction<State = Plain> {
  setState(state: State): void;
  /** Returns the place of its rows in what `agent.transaction` resolves to. */
  sql(strings: TemplateStringsArray, ...values: readonly SqlValue[]): number;
  readonly webhooks: { send(message: OutboundWebhook): void };
}

/** A stored event as a handler gets it: the payload is parsed. */
export interface AgentEvent extends Omit<EventRecord, "payload"> {
  /** Parsed JSON; null when the event had no body. Numbers of more than 15 digits may be rounded: `text` has them whole. */
  readonly payload: unknown;
  /** The payload's JSON as it was sent, byte for byte. */
  readonly text: string | null;
  /** Position among the entity's events: 1, 2, 3 … without gaps. */
  readonly seq: number;
  readonly provider: string;
}

/** A filter for stored events. */
export interface EventQuery {
  /** Clamped to 0…1000. @default 20 */
  readonly limit?: number;
  readonly type?: string;
  /** Only events after this `seq`. */
  readonly since?: number;
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
  /**
   * Unsent frames: a client that reads too slowly is closed with 1013 at 256. Always 0 on Workers, which cannot tell.
   */
  readonly queued: number;
  /** False when the connection is closing or closed. */
  send(message: string | Uint8Array): boolean;
  close(code?: number, reason?: string): void;
}

/** The running instance, as handlers see it. */
export interface Agent<State = Plain> extends AgentReach {
  /** Name of the instance (the entity). */
  readonly name: string;
  /** Path form of the class. */
  readonly className: string;
  /**
   * Aborted when the time of this run of the handler is over. From then on every method with an effect throws, so that
   * a late handler changes nothing. In a stream also aborted when its client has left; the handler may still store something.
   */
  readonly signal: AbortSignal;
  readonly state: State;
  /** Stores the state, then sends it to every client except the connection that set it. */
  setState(state: State): Promise<void>;
  /**
   * Writes a state, rows and outbound webhooks together or not at all: `tx` collects them and must not be kept. Resolves
   * to the rows of each `` tx.sql`…` `` after the commit.
   */
  transaction(collect: (tx: AgentTransaction<State>) => void): Promise<SqlRow[][]>;
  events(query?: EventQuery): Promise<EventRecord[]>;
  /**
   * Runs one SQL statement, `` agent.sql`SELECT …` ``, values as parameters. Instances may share a database:
   * give your tables (definition's `schema`) an `actor` column and put {@link Agent.key} there. Whole numbers beyond 2^53
   * are rounded: read them with `CAST(n AS TEXT)`, whose text `BigInt()` takes, and bind their text with `CAST(… AS BIGINT)`.
   */
  sql(strings: TemplateStringsArray, ...values: readonly SqlValue[]): Promise<SqlRow[]>;
  /** The key of the instance in shared tables: class and name. */
  readonly key: string;
  schedule(
    when: When,
    task: string,
    payload?: Plain,
    options?: AgentScheduleOptions,
  ): Promise<Schedule>;
  /**
   * Runs a task every so many seconds. The same task, interval and payload is scheduled once; a run that is
   * still queued when the next is due takes its place.
   */
  scheduleEvery(seconds: number, task: string, payload?: Plain): Promise<Schedule>;
  getSchedule(id: string): Promise<Schedule | null>;
  /** Earliest first. */
  listSchedules(filter?: ScheduleFilter): Promise<Schedule[]>;
  /** Resolves to whether there was such a schedule. */
  cancelSchedule(id: string): Promise<boolean>;
  /** Puts a task into the durable queue; resolves to the job's id after the commit. */
  queue(task: string, payload?: Plain, options?: QueueOptions): Promise<string>;
  /**
   * Takes a task out of the queue; resolves to whether it was there. A running task is not interrupted, but not
   * repeated.
   */
  dequeue(id: string): Promise<boolean>;
  /** Removes all tasks from the queue, but no events; resolves to their number. */
  dequeueAll(): Promise<number>;
  /** Removes all runs of one task from the queue; resolves to their number. */
  dequeueAllByTask(task: string): Promise<number>;
  getQueue(id: string): Promise<QueuedTask | null>;
  /** The next task first; at most 1000, without events. */
  getQueues(task?: string): Promise<QueuedTask[]>;
  /** Newest first. `limit` is clamped to 0…1000. @default 20 */
  deadLetters(limit?: number): Promise<DeadLetter[]>;
  /** Queues a dead letter again; resolves to the job's id, or to null for an unknown id. */
  replayDeadLetter(id: string): Promise<string | null>;
  /** Runs work in place and repeats it when it fails: by default 3 attempts, 100 ms to 3 s apart. */
  retry<T>(work: (attempt: number) => T | Promise<T>, options?: RetryOptions): Promise<T>;
  /** Sends a frame to every client, except the given connections. */
  broadcast(message: string | Uint8Array, without?: readonly string[]): void;
  getConnections(tag?: string): readonly AgentConnection[];
  /** Keeps the instance in memory until the returned function is called, or the process is asked to end. */
  keepAlive(): () => void;
  /** Keeps the instance in memory while work runs; resolves to its result. */
  keepAliveWhile<T>(work: () => T | Promise<T>): Promise<T>;
  /**
   * Deletes the instance's rows and schedules, also those with {@link Agent.key} in the `actor` column of tables from
   * the definition's `schema`, in one transaction; then closes its connections. Its next use (an event, a request, a
   * connection) starts it afresh, with the class's initial state, schedules and `onStart`.
   */
  destroy(): Promise<void>;
}
