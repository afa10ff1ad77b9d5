import { ApiError } from "../../../core/http/api-error.ts";
import type {
  Actor,
  ActorKind,
  ActorRef,
  Actors,
  Connection,
  Log,
  Plain,
  System,
} from "../../../core/ports.ts";
import { actorDirectory, type ActorDirectory } from "./actor-directory.ts";
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

/** Options of {@link localActors}. */
export interface LocalActorsOptions {
  readonly store: ActorStore;
  readonly system: System;
  readonly log: Log;
  readonly upgrade: Upgrade;
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
    contextOf: (kind, name, hold) => ({
      name,
      sql: store.sqlOf(kind, name),
      sockets: sockets.of(`${kind}\0${name}`),
      actors: { get },
      steady: () => store.clock.now(),
      alarm: (at, together = []) => clock.set(kind, name, at, together),
      alarmFailure: () => clock.failure(),
      system: holding(system, hold),
    }),
  });
  const sockets: SocketRegistry = socketRegistry({
    ...options,
    deliver: (key, connection, event) => {
      const [kind = "", name = ""] = key.split("\0");
      return directory.beside(kindOf(kinds, kind), name, (actor) => hear(actor, connection, event));
    },
  });
  const clock: Alarms = alarms({
    store,
    log,
    rescanMs: options.rescanMs,
    backoffMs: options.alarmBackoffMs,
    kinds: () => [...kinds.keys()],
    timeOfDay: () => [...kinds.keys()].filter((name) => kinds.get(name)?.timeOfDay === true),
    ring: (kind, name, isDue) =>
      directory.inTurn(kindOf(kinds, kind), name, (actor) => alert(actor, kind, isDue, log)),
  });
  const sweeper = sweep(directory, idleMs);

  const get = (kind: string, name: string): ActorRef =>
    actorRef(directory, () => kindOf(kinds, kind), name);

  return {
    get,
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
      const until = performance.now() + graceMs;
      while (performance.now() < until && (sockets.size() > 0 || directory.isBusy())) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      directory.close();
    },
  };
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
