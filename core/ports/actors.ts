import type { SchemaStep } from "../sql/schema-step.ts";
import type { Plain } from "./plain.ts";
import type { Sql, Statement, StatementResult } from "./sql.ts";
import type { Connection, Sockets } from "./sockets.ts";
import type { System } from "./system.ts";

/** A stateful object addressed by `(kind, name)`; obtained from {@link Actors.get}. */
export interface ActorRef {
  /**
   * Calls a method of the actor. Calls run one at a time, in the order in which they were made
   * (the mailbox), except {@link ActorKind.interleaved} ones. `ApiError` and `SqlError`
   * cross unchanged, other errors with their name and message.
   */
  call(method: string, ...args: readonly Plain[]): Promise<Plain>;
  /**
   * Passes a request to the actor. Does not wait for the mailbox. A WebSocket upgrade has to be the very request that the
   * server received: Deno and Bun cannot upgrade a copy.
   */
  fetch(request: Request): Promise<Response>;
}

/** The directory of actors: one home per `(kind, name)` at a time, started on first use. */
export interface Actors {
  /** Registers a kind before its first use. The same object may be registered again; another object of the same name is an error. */
  define(kind: ActorKind): void;
  get(kind: string, name: string): ActorRef;
  /** Why this process cannot call actors at present, for the public; null while it can. @default null */
  failure?(): string | null;
  /** Resolves when the tables of all defined kinds are there. Rejects with one line when this version must not work with them. @default they are there, or `define` has thrown */
  ready?(): Promise<void>;
  /** The servers among which the actors are divided. @default this process has all of them, or cannot tell */
  readonly nodes?: ActorNodes;
}

/** The servers that share a database of actors. */
export interface ActorNodes {
  /** The address of this server. */
  readonly own: string;
  /**
   * Resolves with one line when this version must not work with the tables, at its start or because another server has
   * changed them since. `serve()` then ends the process with 1.
   */
  readonly refused: Promise<string>;
  /** Lists the servers by address; a server that was killed stays in the list for a day. */
  list(): Promise<readonly ActorNode[]>;
}

/** One of the servers that share a database of actors. */
export type ActorNode = {
  readonly id: string;
  /** The address at which the other nodes call it. */
  readonly address: string;
  readonly machine: string;
  readonly version: string;
  /** The number of what it says to the others; those more than one apart do not call each other. Null where it is not known. */
  readonly protocol: number | null;
  /** The schema steps of each list of tables that it knows, and those that the database has seen. */
  readonly schema: readonly {
    readonly list: string;
    readonly knows: number;
    readonly database: number;
  }[];
  /** By how many ms its clock is ahead of the database's; null while that is not known. */
  readonly clockAheadMs: number | null;
  /** Why it does not work with the tables, or not with other servers; null when it does. */
  readonly refusal: string | null;
  /** The number of the 1,024 slots of actors that it has. */
  readonly slots: number;
  /** Milliseconds since it last renewed its lease. */
  readonly renewedMsAgo: number;
  /** Whether its lease holds. */
  readonly lives: boolean;
  /** Milliseconds for which the oldest unfinished alarm of its actors has been due; 0 without one. */
  readonly lagMs: number;
};

/** The definition of one kind of actor: its schema and how an instance starts. Hold no state in it. */
export interface ActorKind extends ActorTables {
  readonly name: string;
  /** Methods that may start while another call runs; they await nothing but their own `sql`. */
  readonly interleaved?: readonly string[];
  /**
   * Sets alarms for times of day: all of them go off after the clock was set, so that they can be set again.
   * @default false
   */
  readonly timeOfDay?: boolean;
  /** Methods that another process may run for an instance that does not answer. @default none: calls wait for it */
  readonly detached?: DetachedMethods;
  start(context: ActorContext): Actor | Promise<Actor>;
}

/**
 * Methods of an actor that need only its rows. Where several processes share a database, the one that is called runs them
 * itself when the instance is elsewhere and does not answer soon. So they have to hold beside the instance's own, even when
 * both run for one call.
 */
export interface DetachedMethods {
  readonly methods: {
    readonly [method: string]: (context: DetachedContext, ...args: never[]) => Promise<Plain>;
  };
  /** The method of the instance that is called once they have written: it takes over what is new in its rows. */
  readonly followUp?: string;
}

/** The services of a method that runs without its instance. */
export interface DetachedContext extends Pick<ActorContext, "name" | "sql" | "steady" | "system"> {
  /** Commits writes of which the instance is told by {@link DetachedMethods.followUp}. */
  write(statements: readonly Statement[]): Promise<StatementResult[]>;
}

/** The tables of one kind of actor. */
export interface ActorTables {
  /**
   * Schema steps, each applied once per database, in order, never edited after a release.
   * A step that versions without it can work beside is marked as `additive`. All tables carry an `actor` column with {@link ActorContext.name}: instances may share one database.
   */
  readonly schema: readonly SchemaStep[];
  /** Tables that other kinds use as well, made before those of `schema`. @default none */
  readonly shared?: SharedSchema;
}

/**
 * Tables of several kinds. Their steps are counted once per database, under their own name: no kind runs a step that
 * another has run, and neither list moves when the other grows.
 */
export interface SharedSchema {
  readonly name: string;
  /** As {@link ActorTables.schema}. */
  readonly steps: readonly SchemaStep[];
}

/** A running instance. It is evicted when idle, so keep state that must outlive a call in rows. */
export interface Actor {
  readonly methods: { readonly [method: string]: (...args: never[]) => unknown };
  fetch?(request: Request): Promise<Response>;
  /** Called when the alarm is due. If it throws, it runs again later, with backoff. */
  onAlarm?(): Promise<void>;
  /** Beside the mailbox: messages of a connection are handed over in their order, whether or not one is still handled. */
  onMessage?(connection: Connection, message: string | Uint8Array): Promise<void> | void;
  /** Also runs beside the mailbox. */
  onClose?(connection: Connection, code: number, reason: string): Promise<void> | void;
}

/** The services for a running instance. */
export interface ActorContext extends ActorTime, ActorFullText {
  readonly name: string;
  readonly sql: Sql;
  readonly sockets: Sockets;
  /**
   * The other actors of the platform. Do not await an actor that may call back into this one: both mailboxes would wait
   * for each other (deadlock).
   */
  readonly actors: Pick<Actors, "get">;
  readonly system: System;
}

/** Full text where the database of actors has no index for it. */
export interface ActorFullText {
  /**
   * Returns a SQLite database of this process, for what can be made of the rows again and `sql` has no index for, such as
   * full text. It may be empty at any start. Throws when it cannot be opened. @default `sql` is SQLite
   */
  readonly fullText?: (() => Sql) | undefined;
}

/** The time of one actor, and its alarm. */
export interface ActorTime {
  /**
   * Unix ms as if the clock had never been set: for due times, which are durations from now. Never goes back while the
   * actor's database lives. Workers: guarantees only that it does not go back.
   */
  readonly steady: () => number;
  /**
   * Sets the one alarm of this actor to `at` (of {@link ActorTime.steady}; null clears it) and runs `together` in the
   * same transaction, so that a row and the alarm that will handle it cannot be parted by a crash.
   */
  alarm(at: number | null, together?: readonly Statement[]): Promise<StatementResult[]>;
  /** Why the alarms of all actors do not go off at present; null while they do. @default the platform sees to that */
  alarmFailure?(): string | null;
}
