import type { DataDir } from "../data-dir.ts";
import { localActors, type LocalActors, type LocalActorsOptions } from "../local-actors.ts";
import { openSqlite, type SqliteOptions } from "../sqlite.ts";
import { serveGuests, type GuestServer } from "./serve-guests.ts";
import type { RemoteUpgrades } from "./visit.ts";

/** Options of {@link holdActors} and `sharedActors()`. */
export interface SharedActorsOptions extends Omit<LocalActorsOptions, "db"> {
  readonly folder: DataDir;
  readonly synchronous?: SqliteOptions["synchronous"];
  /** What all processes of a data directory have to agree on: runtime, version, form of clones. */
  readonly speaks: string;
}

/** The actors of a data directory, wherever they live. */
export interface SharedActors extends LocalActors {
  /** Closes what {@link LocalActors.close} has left open: the database, and the way to other processes. */
  release(): Promise<void>;
}

/** How long answers to the clients of other processes are waited for, in ms. */
const ANSWERS_MS = 5000;

/** The actors of a data directory that this process holds; other processes may call them too. */
export function holdActors(options: SharedActorsOptions): SharedActors {
  const { folder, log, upgrade } = options;
  const db = openSqlite(folder.database, { synchronous: options.synchronous });
  const upgrades: RemoteUpgrades = new WeakMap();
  let actors: LocalActors;
  try {
    actors = localActors({
      ...options,
      db,
      upgrade: (request, ...how) => (upgrades.get(request) ?? upgrade)(request, ...how),
    });
  } catch (error) {
    void db.close();
    throw error;
  }
  let serving: Promise<GuestServer | null> | undefined;
  const serve = async (dataDir: string): Promise<GuestServer | null> => {
    try {
      return await serveGuests({ ...options, dataDir, actors, upgrades });
    } catch (error) {
      // Such as a file system without sockets.
      log("warn", "No other process can share the data directory", { error: String(error) });
      return null;
    }
  };
  const door = async (): Promise<GuestServer | null> => (await serving) ?? null;
  return {
    get: (kind, name) => actors.get(kind, name),
    define(kind) {
      actors.define(kind);
      // Not before: a guest may call at once, and an app defines its kinds in one go.
      if (folder.path !== null) serving ??= serve(folder.path);
    },
    async close(graceMs) {
      const until = Date.now() + graceMs;
      // All calls of the others stand still until there is a successor: an endless answer must not take the whole grace.
      await (await door())?.leave(Math.min(graceMs, ANSWERS_MS));
      await actors.close(Math.max(0, until - Date.now()));
    },
    async release() {
      await (await door())?.close();
      await db.close();
      folder.release();
    },
  };
}
