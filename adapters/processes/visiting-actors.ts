import { setTimeout } from "node:timers/promises";
import type { Actors, Log } from "../../core/ports.ts";
import { inUse, PREDECESSOR_MS, tellWaiting, type DataDir } from "../shared/data-dir.ts";
import { localSystem } from "../shared/system.ts";
import { syncCrypto } from "../shared/sync-crypto.ts";
import { ownedActors } from "./owned-actors.ts";
import { folderErrors, NotStarted } from "../peers/owner-errors.ts";
import type { PeerConnection } from "../peers/peer-connection.ts";
import { connectToOwner } from "./owner-connection.ts";
import { lockFolder } from "./peer-actors.ts";

/** Options of {@link visitingActors}. */
export interface VisitingOptions {
  readonly folder: DataDir;
  readonly speaks: string;
  readonly log: Log;
  /** How long a server that begins or ends is waited for, in ms. @default 15000 */
  readonly waitMs?: number;
}

/** The actors of a data directory, for a command that soon ends. */
export interface VisitingActors {
  readonly actors: Actors;
  close(): Promise<void>;
}

/** The pause between two attempts, in ms. */
const PAUSE_MS = 25;

/**
 * Calls the actors of a data directory from a command: at the server that runs on it, else here. Unlike `sharedActors()`
 * the command never takes over from a server and takes no other process's calls, because it knows but few kinds: a server
 * that starts meanwhile waits until the command has ended.
 */
export async function visitingActors(options: VisitingOptions): Promise<VisitingActors> {
  const { folder, log, waitMs = PREDECESSOR_MS } = options;
  const until = performance.now() + waitMs;
  const waiting = tellWaiting(folder, log, () => "");
  try {
    for (;;) {
      if (await lockFolder(folder)) return asOwner(options);
      const answer = await connectToOwner({
        ...options,
        dataDir: folder.path ?? "",
        upgrade: () => null,
        onLeaving: () => undefined,
        onLost: () => undefined,
      });
      if ("call" in answer && answer.isOpen()) return throughOwner(answer, folder);
      // Without a reason, no lock owner listens yet, or any more.
      const because = "call" in answer ? "" : answer.because;
      if (because !== "" || performance.now() > until) throw inUse(folder, because);
      await setTimeout(PAUSE_MS);
    }
  } catch (error) {
    folder.release();
    throw error;
  } finally {
    waiting.over();
  }
}

function throughOwner(owner: PeerConnection, folder: DataDir): VisitingActors {
  return {
    actors: {
      define: () => undefined,
      get: (kind, name) => ({
        call: (method, ...args) => started(owner.call(kind, name, method, args)),
        fetch: (request) => started(owner.fetch(kind, name, request)),
      }),
    },
    async close() {
      owner.leave();
      folder.release();
    },
  };
}

/** Fails as other failures do when the owner is ending: a command waits for no other one. */
async function started<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw error instanceof NotStarted ? folderErrors.none() : error;
  }
}

function asOwner({ folder, speaks, log }: VisitingOptions): VisitingActors {
  const system = { ...localSystem(log), ...syncCrypto };
  const actors = ownedActors({
    folder,
    speaks,
    system,
    log,
    upgrade: () => null,
    takesPeers: false,
  });
  return {
    actors,
    async close() {
      await actors.close(PREDECESSOR_MS);
      await actors.release();
    },
  };
}
