import { ApiError } from "../../../core/http/api-error.ts";
import type { Actor, ActorContext, ActorKind } from "../../../core/ports.ts";
import { turnstile, type Turnstile } from "../work/turnstile.ts";
import { mailbox, type Mailbox } from "./mailbox.ts";

/** Instances that start in one turn of the event loop: some milliseconds of work. */
const STARTS_PER_TURN = 16;

/** The running actors of a process, by kind and name. */
export interface ActorDirectory {
  /** Runs work beside the mailbox; starts the actor when it is not there. */
  beside<T>(kind: ActorKind, name: string, work: (actor: Actor) => Promise<T> | T): Promise<T>;
  /** Runs work in the mailbox, after everything that was asked for before. */
  inTurn<T>(kind: ActorKind, name: string, work: (actor: Actor) => Promise<T> | T): Promise<T>;
  /** Whether anything runs or waits. */
  isBusy(): boolean;
  /** Whether anything runs or waits at some actors, their background work included. */
  holds(isMeant: ActorFilter): boolean;
  /** Drops the instances of some actors, whatever they do. */
  drop(isMeant: ActorFilter): void;
  /** Drops instances that were not used since that time (of `performance.now()`). */
  evict(before: number): void;
  /** Refuses work from now on. */
  close(): void;
}

export type ActorFilter = (kind: string, name: string) => boolean;

export interface DirectoryOptions {
  /** `hold` keeps the instance in memory until the work has settled. */
  readonly contextOf: (
    kind: string,
    name: string,
    hold: (work: Promise<unknown>) => void,
  ) => ActorContext;
  /** Awaited before an instance starts; undefined where there is nothing to await. */
  readonly ready: (kind: ActorKind) => Promise<void> | undefined;
  /** Calls that may wait for one actor before further ones get 503. */
  readonly mailboxSize: number;
}

interface Entry {
  readonly kind: ActorKind;
  readonly name: string;
  readonly mailbox: Mailbox;
  instance: Promise<Actor> | undefined;
  /** The instance, once it has started. */
  started: Actor | undefined;
  /** Work under way, in the mailbox or beside it. */
  active: number;
  /** Background work of the instance. */
  held: number;
  /** Time of `performance.now()`: the clock may jump. */
  lastUsed: number;
}

/** Makes a directory with one home per kind and name. */
export function actorDirectory(options: DirectoryOptions): ActorDirectory {
  const entries = new Map<string, Entry>();
  const mayStart = turnstile(STARTS_PER_TURN);
  let isClosed = false;

  function entryOf(kind: ActorKind, name: string): Entry {
    const key = `${kind.name}\0${name}`;
    let entry = entries.get(key);
    if (entry === undefined) {
      entry = newEntry(kind, name, options.mailboxSize);
      entries.set(key, entry);
    }
    return entry;
  }

  function start(entry: Entry): Promise<Actor> {
    entry.instance ??= startNow(entry, options, mayStart).catch((error: unknown) => {
      // The next call tries again.
      entry.instance = undefined;
      throw error;
    });
    return entry.instance;
  }

  /** Keeps the entry in the directory while the work runs. */
  async function using<T>(entry: Entry, work: () => Promise<T>): Promise<T> {
    if (isClosed) throw new ApiError("unavailable", { message: "The server is shutting down" });
    entry.active += 1;
    try {
      return await work();
    } finally {
      entry.active -= 1;
      entry.lastUsed = performance.now();
    }
  }

  return {
    beside(kind, name, work) {
      const entry = entryOf(kind, name);
      const actor = entry.started;
      if (actor === undefined || isClosed) {
        return using(entry, async () => work(await start(entry)));
      }
      // Most of it is answered from memory, on the path of every request: at once, without a chain of promises.
      entry.lastUsed = performance.now();
      const result = work(actor);
      return result instanceof Promise ? kept(entry, result) : Promise.resolve(result);
    },
    inTurn(kind, name, work) {
      const entry = entryOf(kind, name);
      return using(entry, () => entry.mailbox.run(async () => work(await start(entry))));
    },
    isBusy: () => [...entries.values()].some((entry) => entry.active > 0),
    ...leavingOf(entries),
    close() {
      isClosed = true;
    },
  };
}

/** Returns how instances leave the memory. */
function leavingOf(entries: Map<string, Entry>): Pick<ActorDirectory, "drop" | "evict" | "holds"> {
  const isInUse = ({ active, held }: Entry): boolean => active > 0 || held > 0;
  return {
    holds: (isMeant) =>
      [...entries.values()].some((one) => isInUse(one) && isMeant(one.kind.name, one.name)),
    drop(isMeant) {
      for (const [key, { kind, name }] of entries)
        if (isMeant(kind.name, name)) entries.delete(key);
    },
    evict(before) {
      for (const [key, entry] of entries)
        if (!isInUse(entry) && entry.lastUsed < before) entries.delete(key);
    },
  };
}

/** Keeps the entry in the directory until the work has settled, before anybody who awaits it goes on. */
function kept<T>(entry: Entry, work: Promise<T>): Promise<T> {
  entry.active += 1;
  const over = (): void => {
    entry.active -= 1;
    entry.lastUsed = performance.now();
  };
  work.then(over, over);
  return work;
}

function newEntry(kind: ActorKind, name: string, mailboxSize: number): Entry {
  return {
    kind,
    name,
    mailbox: mailbox(mailboxSize),
    instance: undefined,
    started: undefined,
    active: 0,
    held: 0,
    lastUsed: performance.now(),
  };
}

async function startNow(
  entry: Entry,
  { contextOf, ready }: DirectoryOptions,
  mayStart: Turnstile,
): Promise<Actor> {
  const turn = mayStart();
  if (turn !== undefined) await turn;
  const preparing = ready(entry.kind);
  if (preparing !== undefined) await preparing;
  const release = (): void => {
    entry.held -= 1;
    entry.lastUsed = performance.now();
  };
  const hold = (work: Promise<unknown>): void => {
    entry.held += 1;
    work.then(release, release);
  };
  const actor = await entry.kind.start(contextOf(entry.kind.name, entry.name, hold));
  entry.started = actor;
  return actor;
}
