import { ApiError } from "../../../core/http/api-error.ts";
import type {
  Actor,
  ActorContext,
  ActorKind,
  ActorRef,
  Actors,
  Connection,
  Log,
  Plain,
  System,
} from "../../../core/ports.ts";
import { actorDirectory, type ActorDirectory, type ActorFilter } from "./actor-directory.ts";
import type { ActorStore } from "../sql/actor-store.ts";
import { alarms, type Alarms } from "./alarms.ts";
import { isNewKind, kindOf } from "./kinds.ts";
import {
  socketRegistry,
  type SocketEvent,
  type SocketRegistry,
  type Upgrade,
} from "../sockets/sockets.ts";
import { unref } from "../work/unref.ts";

/** Which actors are in this process, where others have some of them. */
export interface ActorHomes {
  /** Returns an actor wherever it is. */
  readonly get: (kind: string, name: string) => ActorRef;
  readonly isHere: (kind: string, name: string) => boolean;
}

export interface LocalActorsOptions {
  readonly store: ActorStore;
  readonly system: System;
  readonly log: Log;
  readonly upgrade: Upgrade;
  /** @default all actors are here */
  readonly homes?: ActorHomes | undefined;
  /** An instance without a call for this long is dropped; its sockets stay. In ms. @default 60000 */
  readonly idleMs?: number | undefined;
  /** Calls that may wait for one actor before further ones get 503. @default 10000 */
  readonly mailboxSize?: number | undefined;
  /** See `AlarmOptions`. @default 60000 */
  readonly rescanMs?: number | undefined;
  /** See `AlarmOptions`. @default 1000 */
  readonly alarmBackoffMs?: number | undefined;
  /** Unsent bytes per connection. @default 1 MiB */
  readonly maxBuffered?: number | undefined;
}

/** The actors of this process. */
export interface LocalActors extends Actors {
  /** Returns an actor of this process, which has it. */
  here(kind: string, name: string): ActorRef;
  /** Whether anything runs or waits at some actors, their background work included. */
  holds(isMeant: ActorFilter): boolean;
  /** Drops the instances of actors that are elsewhere now, and closes their WebSockets. */
  drop(isGone: ActorFilter, code: number, reason: string): void;
  /** Looks for due alarms at once, e.g. those of actors that have come here. */
  rescan(): void;
  /** Closes the sockets with 1001, waits for what runs and what waits, then refuses calls. */
  close(graceMs: number): Promise<void>;
}

/** Makes actors as objects of this process over one shared database. */
export function localActors(options: LocalActorsOptions): LocalActors {
  const { idleMs = 60_000, log, store, system } = options;
  const kinds = new Map<string, ActorKind>();
  const tables = preparedTables(store);
  const directory: ActorDirectory = actorDirectory({
    mailboxSize: options.mailboxSize ?? 10_000,
    ready: (kind) => tables.of(kind),
    contextOf: (kind, name, hold) =>
      contextOf({ store, sockets, clock, get: homes.get }, kind, name, holding(system, hold)),
  });
  const sockets: SocketRegistry = socketRegistry({
    ...options,
    async deliver(key, connection, event) {
      const { kind, name } = actorOf(key);
      // The connections of an actor end when it moves: its new process does not know them.
      if (!homes.isHere(kind, name)) return;
      await directory.beside(kindOf(kinds, kind), name, (actor) => hear(actor, connection, event));
    },
  });
  const clock: Alarms = alarms({
    store,
    log,
    rescanMs: options.rescanMs,
    backoffMs: options.alarmBackoffMs,
    kinds: () => [...kinds.keys()],
    timeOfDay: () => [...kinds.keys()].filter((name) => kinds.get(name)?.timeOfDay === true),
    ring: async (kind, name, isDue) =>
      homes.isHere(kind, name) &&
      directory.inTurn(kindOf(kinds, kind), name, (actor) => alert(actor, kind, isDue, log)),
  });
  const sweeper = sweep(directory, idleMs);

  const here = (kind: string, name: string): ActorRef =>
    actorRef(directory, () => kindOf(kinds, kind), name);
  const homes = options.homes ?? { get: here, isHere: () => true };

  return {
    get: homes.get,
    here,
    holds: (isMeant) => directory.holds(isMeant),
    drop(isGone, code, reason) {
      const isMeant = ({ kind, name }: ActorName): boolean => isGone(kind, name);
      sockets.closeAll(code, reason, (key) => isMeant(actorOf(key)));
      directory.drop(isGone);
    },
    rescan: () => {
      clock.rescan();
    },
    define(kind) {
      if (!isNewKind(kinds, kind)) return;
      tables.prepare(kind);
      kinds.set(kind.name, kind);
      clock.rescan();
    },
    async close(graceMs) {
      clock.stop();
      clearInterval(sweeper);
      sockets.closeAll(1001, "The server is shutting down");
      await settled(() => sockets.size() === 0 && !directory.isBusy(), graceMs);
      directory.close();
    },
  };
}

/** Waits until something is over, but for no longer than so many ms. */
async function settled(isOver: () => boolean, graceMs: number): Promise<void> {
  const until = performance.now() + graceMs;
  while (performance.now() < until && !isOver())
    await new Promise((resolve) => setTimeout(resolve, 5));
}

interface ContextParts {
  readonly store: ActorStore;
  readonly sockets: SocketRegistry;
  readonly clock: Alarms;
  readonly get: ActorHomes["get"];
}

/** Makes the context of an instance. */
function contextOf(
  { clock, get, sockets, store }: ContextParts,
  kind: string,
  name: string,
  system: System,
): ActorContext {
  const sql = store.sqlOf(kind, name);
  return {
    name,
    sql,
    fullText: store.fullText,
    sockets: sockets.of(`${kind}\0${name}`),
    actors: { get },
    steady: () => store.clock.now(),
    alarm: (at, together = []) => clock.set({ kind, name, sql }, at, together),
    alarmFailure: () => clock.failure(),
    system,
  };
}

interface ActorName {
  readonly kind: string;
  readonly name: string;
}

/** Takes the key of an actor's connections apart. */
function actorOf(key: string): ActorName {
  const at = key.indexOf("\0");
  return { kind: key.slice(0, at), name: key.slice(at + 1) };
}

/** The tables of the kinds that were defined. */
interface PreparedTables {
  /** Begins to prepare the tables of a kind. Throws when that fails at once. */
  prepare(kind: ActorKind): void;
  /** Resolves when the tables are there; undefined if they are. */
  of(kind: ActorKind): Promise<void> | undefined;
}

function preparedTables(store: ActorStore): PreparedTables {
  const preparing = new Map<ActorKind, Promise<void>>();
  function prepare(kind: ActorKind): void {
    const work = store.prepare(kind);
    if (work === undefined) return;
    const over = (): void => void preparing.delete(kind);
    preparing.set(kind, work);
    // A failure stays: the next instance to start tries once more.
    work.then(over, () => undefined);
  }
  return {
    prepare,
    of(kind) {
      return preparing.get(kind)?.catch(() => {
        prepare(kind);
        return preparing.get(kind);
      });
    },
  };
}

/** Runs an actor's alarm if it still is due; whether it was. */
async function alert(
  actor: Actor,
  kind: string,
  isDue: () => Promise<boolean>,
  log: Log,
): Promise<boolean> {
  if (!(await isDue())) return false;
  if (actor.onAlarm === undefined) log("warn", "An alarm has no handler", { kind });
  await actor.onAlarm?.();
  return true;
}

/** Drops instances that were not used for `idleMs`, now and then. */
function sweep(directory: ActorDirectory, idleMs: number): ReturnType<typeof setInterval> {
  const timer = setInterval(() => {
    directory.evict(performance.now() - idleMs);
  }, idleMs / 2);
  unref(timer);
  return timer;
}

/** Returns the system of one actor: its background work also keeps the instance. */
function holding(system: System, hold: (work: Promise<unknown>) => void): System {
  return {
    ...system,
    waitUntil(work) {
      hold(work);
      system.waitUntil(work);
    },
  };
}

function actorRef(directory: ActorDirectory, kind: () => ActorKind, name: string): ActorRef {
  return {
    call(method, ...args) {
      try {
        const known = kind();
        const run = (actor: Actor): Promise<Plain> | Plain =>
          invoke(actor, known.name, method, args);
        const isInterleaved = known.interleaved?.includes(method) === true;
        return directory[isInterleaved ? "beside" : "inTurn"](known, name, run);
      } catch (error) {
        return Promise.reject(error);
      }
    },
    async fetch(request) {
      return directory.beside(kind(), name, (actor) => {
        if (actor.fetch === undefined) throw new ApiError("no_route");
        return actor.fetch(request);
      });
    },
  };
}

function invoke(
  actor: Actor,
  kind: string,
  method: string,
  args: readonly Plain[],
): Promise<Plain> | Plain {
  const found = Object.hasOwn(actor.methods, method) ? actor.methods[method] : undefined;
  if (found === undefined) {
    const message = `Actor kind "${kind}" has no method "${method.slice(0, 64)}"`;
    throw new ApiError("internal", { message });
  }
  // `as`: the caller and the actor agree on the signature, as with any remote call.
  return found.apply(actor.methods, args as never[]) as Promise<Plain> | Plain;
}

async function hear(actor: Actor, connection: Connection, event: SocketEvent): Promise<void> {
  if (event.type === "message") await actor.onMessage?.(connection, event.data);
  else await actor.onClose?.(connection, event.code, event.reason);
}
