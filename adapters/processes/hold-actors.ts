import { setInterval, setTimeout } from "node:timers";
import type { Log } from "../../core/ports.ts";
import { guarded, type DataDir } from "../shared/data-dir.ts";
import {
  localActors,
  type LocalActors,
  type LocalActorsOptions,
} from "../shared/actors/local-actors.ts";
import { openSqlite, type SqliteDatabase, type SqliteOptions } from "../shared/sqlite/sqlite.ts";
import { serveGuests, type GuestServer } from "./serve-guests.ts";
import type { RemoteUpgrades } from "./visit.ts";

/** Options of {@link holdActors} and `sharedActors()`. */
export interface SharedActorsOptions extends Omit<LocalActorsOptions, "db"> {
  readonly folder: DataDir;
  readonly synchronous?: SqliteOptions["synchronous"];
  /** What all processes of a data directory have to agree on: runtime, version, form of clones. */
  readonly speaks: string;
  /** How long a process that cannot join waits for its predecessor's end, in ms: that may take its grace. @default 15000 */
  readonly predecessorMs?: number | undefined;
  /** How often the process that holds the folder looks whether it still is where it was, in ms. @default 5000 */
  readonly watchMs?: number | undefined;
  /** See `PulseOptions`. @default 1000 */
  readonly beatMs?: number | undefined;
}

/** The actors of a data directory, wherever they live. */
export interface SharedActors extends LocalActors {
  /** Closes what {@link LocalActors.close} has left open: the database, and the way to other processes. */
  release(): Promise<void>;
}

/** How long answers to the clients of other processes are waited for, in ms. */
const ANSWERS_MS = 5000;
/** The pause after the way in for other processes could not be opened, in ms. */
const AGAIN_MS = 1000;

/** The actors of a data directory that this process holds; other processes may call them too. */
export function holdActors(options: SharedActorsOptions): SharedActors {
  const { folder, log } = options;
  const upgrades: RemoteUpgrades = new WeakMap();
  const { actors, db } = guarded(folder.path ?? ":memory:", () => openActors(options, upgrades));
  const door = openDoor((dataDir) => serveGuests({ ...options, dataDir, actors, upgrades }), log);
  const watch = watchFolder(options);
  return {
    get: (kind, name) => actors.get(kind, name),
    define(kind) {
      actors.define(kind);
      // Not before: a guest may call at once, and an app defines its kinds in one go.
      if (folder.path !== null) door.open(folder.path);
    },
    async close(graceMs) {
      const until = performance.now() + graceMs;
      // All calls of the others stand still until there is a successor: an endless answer must not take the whole grace.
      await (await door.last())?.leave(Math.min(graceMs, ANSWERS_MS));
      await actors.close(Math.max(0, until - performance.now()));
    },
    async release() {
      clearInterval(watch);
      await (await door.last())?.close();
      await db.close();
      folder.release();
    },
  };
}

interface Opened {
  readonly actors: LocalActors;
  readonly db: SqliteDatabase;
}

function openActors(options: SharedActorsOptions, upgrades: RemoteUpgrades): Opened {
  const { folder, synchronous, upgrade } = options;
  const db = openSqlite(folder.database, { synchronous });
  try {
    const actors = localActors({
      ...options,
      db,
      upgrade: (request, ...how) => (upgrades.get(request) ?? upgrade)(request, ...how),
    });
    return { actors, db };
  } catch (error) {
    void db.close();
    throw error;
  }
}

/** Says so when the folder is moved or deleted: what is acknowledged from then on would be lost unseen. */
function watchFolder({ folder, log, watchMs = 5000 }: SharedActorsOptions): NodeJS.Timeout {
  const { path } = folder;
  let wasInPlace = true;
  const timer = setInterval(() => {
    const isInPlace = folder.isInPlace();
    if (wasInPlace && !isInPlace)
      log(
        "error",
        "The lock of the data directory is no longer at its path: if the folder was moved or deleted, what is stored from now on goes where it is now, or is lost",
        { path },
      );
    wasInPlace = isInPlace;
  }, watchMs);
  timer.unref();
  return timer;
}

interface Door {
  /** Opens it, unless that is done or under way. */
  open(dataDir: string): void;
  /** What is open in the end: nothing is opened any more. */
  last(): Promise<GuestServer | null>;
}

/** The way in for other processes. What keeps it shut, such as a full disk, may pass: it is tried again. */
function openDoor(serve: (dataDir: string) => Promise<GuestServer>, log: Log): Door {
  let opening: Promise<GuestServer | null> | undefined;
  let again: ReturnType<typeof setTimeout> | undefined;
  let isLast = false;
  let isSaid = false;
  const attempt = async (dataDir: string): Promise<GuestServer | null> => {
    try {
      return await serve(dataDir);
    } catch (thrown) {
      const error = String(thrown);
      if (!isSaid) log("warn", "No other process can share the data directory", { error });
      isSaid = true;
      if (isLast) return null;
      again = setTimeout(() => {
        opening = attempt(dataDir);
      }, AGAIN_MS);
      again.unref();
      return null;
    }
  };
  return {
    open(dataDir) {
      opening ??= attempt(dataDir);
    },
    async last() {
      isLast = true;
      clearTimeout(again);
      return (await opening) ?? null;
    },
  };
}
