import { setInterval, setTimeout } from "node:timers";
import { join } from "node:path";
import type { Log } from "../../core/ports.ts";
import { guarded, type DataDir } from "../shared/data-dir.ts";
import {
  localActors,
  type LocalActors,
  type LocalActorsOptions,
} from "../shared/actors/local-actors.ts";
import { keepBeforeUpgrade } from "../shared/sqlite/keep-before-upgrade.ts";
import { openSqlite, type SqliteOptions } from "../shared/sqlite/open-sqlite.ts";
import { spaceReserve } from "../shared/sqlite/space-reserve.ts";
import { sqliteStore } from "../shared/sqlite/sqlite-store.ts";
import type { SqliteDatabase } from "../shared/sqlite/sqlite.ts";
import { servePeers, type PeerServer, type ServePeersOptions } from "../peers/serve-peers.ts";
import { makeAddress } from "./address.ts";
import type { RemoteUpgrades } from "../peers/incoming-request.ts";

/** Options of {@link ownedActors} and `sharedActors()`. */
export interface SharedActorsOptions extends Omit<LocalActorsOptions, "store"> {
  readonly folder: DataDir;
  readonly synchronous?: SqliteOptions["synchronous"];
  /** The properties that all processes of a data directory must share: runtime, version, clone format. */
  readonly speaks: string;
  /** How long a process that cannot join waits for its predecessor's end, in ms: that may take its grace. @default 15000 */
  readonly predecessorMs?: number | undefined;
  /** How often the process that holds the folder looks whether it still is where it was, in ms. @default 5000 */
  readonly watchMs?: number | undefined;
  /** See `HeartbeatOptions`. @default 1000 */
  readonly heartbeatMs?: number | undefined;
  /** Whether other processes may call the actors here. @default true */
  readonly takesPeers?: boolean | undefined;
}

/** The actors of a data directory, wherever they live. */
export interface SharedActors extends Pick<LocalActors, "close" | "define" | "get"> {
  /** Closes what {@link LocalActors.close} has left open: the database, and the connections to other processes. */
  release(): Promise<void>;
}

/** How long a shutdown waits for answers to the clients of other processes, in ms. */
const ANSWERS_MS = 5000;
/** The pause after listening for other processes failed, in ms. */
const AGAIN_MS = 1000;

/** Returns the actors of a data directory that this process holds; other processes may call them too. */
export function ownedActors(options: SharedActorsOptions): SharedActors {
  const { folder, log, takesPeers = true } = options;
  const upgrades: RemoteUpgrades = new WeakMap();
  const { actors, db } = guarded(folder.path ?? ":memory:", () => openActors(options, upgrades));
  const listener = openListener(
    (dataDir) => serveFolder(dataDir, { ...options, actors, upgrades }),
    log,
  );
  const watch = watchFolder(options);
  return {
    get: (kind, name) => actors.get(kind, name),
    define(kind) {
      actors.define(kind);
      // Not before: a peer may call at once, and an app defines its kinds in one go.
      if (takesPeers && folder.path !== null) listener.open(folder.path);
    },
    async close(graceMs) {
      const until = performance.now() + graceMs;
      // Other processes' calls wait until there is a next owner: an endless answer must not use up the whole grace.
      await (await listener.last())?.leave(Math.min(graceMs, ANSWERS_MS));
      await actors.close(Math.max(0, until - performance.now()));
    },
    async release() {
      clearInterval(watch);
      await (await listener.last())?.close();
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
  const { folder, log, synchronous, upgrade } = options;
  const reserve = folder.path === null ? undefined : spaceReserve(join(folder.path, "reserve"));
  const db = openSqlite(folder.database, { synchronous, log, reserve });
  let isKept = false;
  try {
    const store = sqliteStore({
      db,
      system: options.system,
      log,
      beforeUpgrade: () => {
        if (isKept || folder.path === null) return;
        keepBeforeUpgrade(db, folder.path, log);
        isKept = true;
      },
    });
    const actors = localActors({
      ...options,
      store,
      upgrade: (request, ...how) => (upgrades.get(request) ?? upgrade)(request, ...how),
    });
    return { actors, db };
  } catch (error) {
    void db.close();
    throw error;
  }
}

/** Logs when the folder is moved or deleted: what is acknowledged from then on would be lost unnoticed. */
function watchFolder({ folder, log, watchMs = 5000 }: SharedActorsOptions): NodeJS.Timeout {
  const { path } = folder;
  let wasInPlace = true;
  const timer = setInterval(() => {
    const isInPlace = folder.isInPlace();
    if (wasInPlace && !isInPlace)
      log(
        "error",
        "The lock of the data directory is no longer at its path: if the folder was moved or deleted, new data is stored at its new place, or lost",
        { path },
      );
    wasInPlace = isInPlace;
  }, watchMs);
  timer.unref();
  return timer;
}

/** Serves the other processes of this user at an address that they find in the folder. */
async function serveFolder(
  dataDir: string,
  options: Omit<ServePeersOptions, "address">,
): Promise<PeerServer> {
  const address = makeAddress(dataDir);
  let server: PeerServer | undefined;
  const close = async (): Promise<void> => {
    // First, so that no process finds it any more.
    address.remove();
    await server?.close();
  };
  try {
    server = await servePeers({ ...options, address: { path: address.socket } });
    address.publish();
    return { ...server, close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Listener {
  /** Starts to listen, unless that is done or under way. */
  open(dataDir: string): void;
  /** Ends all retries; resolves to the server, if one listens. */
  last(): Promise<PeerServer | null>;
}

/** Listens for other processes. A failure, such as a full disk, may pass: it is retried. */
function openListener(serve: (dataDir: string) => Promise<PeerServer>, log: Log): Listener {
  let opening: Promise<PeerServer | null> | undefined;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  let isLast = false;
  let isSaid = false;
  const attempt = async (dataDir: string): Promise<PeerServer | null> => {
    try {
      return await serve(dataDir);
    } catch (thrown) {
      const error = String(thrown);
      if (!isSaid) log("warn", "No other process can share the data directory", { error });
      isSaid = true;
      if (isLast) return null;
      retryTimer = setTimeout(() => {
        opening = attempt(dataDir);
      }, AGAIN_MS);
      retryTimer.unref();
      return null;
    }
  };
  return {
    open(dataDir) {
      opening ??= attempt(dataDir);
    },
    async last() {
      isLast = true;
      clearTimeout(retryTimer);
      return (await opening) ?? null;
    },
  };
}
