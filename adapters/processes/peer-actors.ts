import { setTimeout as pause } from "node:timers/promises";
import { ApiError } from "../../core/http/api-error.ts";
import type { ActorKind, ActorRef } from "../../core/ports.ts";
import { inUse, PREDECESSOR_MS, tellWaiting, type DataDir } from "../shared/data-dir.ts";
import { isNewKind, kindOf } from "../shared/actors/kinds.ts";
import { folderErrors, NotStarted } from "../peers/owner-errors.ts";
import { ownedActors, type SharedActors, type SharedActorsOptions } from "./owned-actors.ts";
import {
  ABSENT,
  MAX_WAITING,
  type JoinRefusal,
  type PeerConnection,
} from "../peers/peer-connection.ts";
import { connectToOwner, isOwnerListening } from "./owner-connection.ts";

/** The target of calls: the lock owner, or this process once it has taken over. */
type ActorHost = Pick<PeerConnection, "call" | "fetch">;

/** A call that waits until there is a host. */
interface Waiting {
  /** How many calls were made before it. */
  readonly number: number;
  go(host: ActorHost): void;
  readonly giveUp: () => void;
}

interface State {
  readonly options: SharedActorsOptions;
  readonly kinds: Map<string, ActorKind>;
  /** Open connections to lock owners. One that is about to close may still have calls under way. */
  readonly connections: Set<PeerConnection>;
  /** Undefined while the next one is looked for. */
  host: ActorHost | undefined;
  /** Calls made so far. */
  made: number;
  /** Calls that wait for a host. */
  readonly waiting: Set<Waiting>;
  finding: Promise<void>;
  owned: SharedActors | undefined;
  isClosing: boolean;
}

/** How long a call waits for the next lock owner, in ms: a process that drains may take its grace. */
const CALL_WAIT_MS = 15_000;
const PAUSE_MS = 25;
/** The pause after the directory could not be taken over, in ms. */
const FAILED_PAUSE_MS = 1000;

/** Returns the actors of a data directory that another process holds. Rejects when that process cannot be joined. */
export async function peerActors(options: SharedActorsOptions): Promise<SharedActors> {
  const state: State = {
    options,
    kinds: new Map(),
    connections: new Set(),
    host: undefined,
    made: 0,
    waiting: new Set(),
    finding: Promise.resolve(),
    owned: undefined,
    isClosing: false,
  };
  await findHost(state, options.predecessorMs ?? PREDECESSOR_MS);
  return {
    get: (kind, name) => actorRef(state, kind, name),
    define(kind) {
      if (!isNewKind(state.kinds, kind)) return;
      state.kinds.set(kind.name, kind);
      state.owned?.define(kind);
    },
    async close(graceMs) {
      for (const connection of state.connections)
        connection.closeSockets(1001, "The server is shutting down");
      const until = performance.now() + graceMs;
      const isBusy = (): boolean =>
        state.waiting.size > 0 ||
        [...state.connections].some((connection) => connection.size() > 0);
      while (isBusy() && performance.now() < until) await pause(5);
      // Set before the waiting calls are given up: from now on this process takes nothing over.
      state.isClosing = true;
      for (const one of state.waiting) one.giveUp();
      await state.owned?.close(graceMs);
    },
    async release() {
      for (const connection of state.connections) connection.leave();
      await state.finding;
      if (state.owned === undefined) options.folder.release();
      else await state.owned.release();
    },
  };
}

function actorRef(state: State, kind: string, name: string): ActorRef {
  return {
    call: (method, ...args) => callHost(state, kind, (host) => host.call(kind, name, method, args)),
    fetch: (request) => callHost(state, kind, (host) => host.fetch(kind, name, request)),
  };
}

/** Calls the current host. Nothing is awaited before, so that calls keep their order. */
async function callHost<T>(
  state: State,
  kind: string,
  ask: (host: ActorHost) => Promise<T>,
): Promise<T> {
  kindOf(state.kinds, kind);
  const number = (state.made += 1);
  for (;;) {
    if (state.isClosing && state.owned === undefined) throw shuttingDown();
    try {
      return await (state.host === undefined ? whenHosted(state, number, ask) : ask(state.host));
    } catch (error) {
      if (!(error instanceof NotStarted)) throw error;
    }
  }
}

/** Calls the next host, in turn with the other waiting calls. */
function whenHosted<T>(
  state: State,
  number: number,
  ask: (host: ActorHost) => Promise<T>,
): Promise<T> {
  const { waiting } = state;
  return new Promise((resolve, reject) => {
    if (waiting.size >= MAX_WAITING) {
      reject(folderErrors.overloaded());
      return;
    }
    const leave = (): void => {
      clearTimeout(patience);
      waiting.delete(call);
    };
    const call: Waiting = {
      number,
      go(host) {
        leave();
        resolve(ask(host));
      },
      giveUp() {
        leave();
        reject(state.isClosing ? shuttingDown() : folderErrors.none());
      },
    };
    const patience = setTimeout(call.giveUp, CALL_WAIT_MS);
    waiting.add(call);
  });
}

/** Directs calls to `host` from now on, the waiting ones first, in the order in which they were made. */
function useHost(state: State, host: ActorHost): void {
  state.host = host;
  // A call that the former lock owner sent back joins the queue late: sort by when it was made.
  for (const call of [...state.waiting].toSorted((a, b) => a.number - b.number)) call.go(host);
}

/** Finds a host: the lock owner, or this process, which takes over an unlocked directory. Rejects after `withinMs`. */
async function findHost(state: State, withinMs: number): Promise<void> {
  const { folder, log } = state.options;
  const until = performance.now() + withinMs;
  let because = ", which has not answered yet";
  const waiting = tellWaiting(folder, log, () => because);
  try {
    for (;;) {
      const refusal = await tryHost(state);
      if (refusal === null) break;
      ({ because } = refusal);
      if (performance.now() > until) throw inUse(folder, because);
      await pause(PAUSE_MS);
    }
  } finally {
    waiting.over();
  }
  // After a change of owner only the process that took over logs it, once for all.
  const isNews = waiting.isTold() || state.made === 0;
  if (isNews && state.owned === undefined && !state.isClosing)
    log("info", "Joined the process that holds the data directory");
}

/** Tries to become the lock owner of the folder. */
export async function lockFolder(folder: DataDir): Promise<boolean> {
  if (!folder.hold()) return false;
  if (folder.path === null || !(await isOwnerListening(folder.path))) return true;
  folder.release();
  return false;
}

/** Resolves to null once there is a host. */
async function tryHost(state: State): Promise<JoinRefusal | null> {
  const { folder } = state.options;
  if (state.isClosing) return null;
  if (await lockFolder(folder)) {
    // This process began to close meanwhile.
    if (state.isClosing) folder.release();
    else await takeOver(state);
    return null;
  }
  if (folder.path === null) return ABSENT;
  const joined: { connection?: PeerConnection } = {};
  const answer = await connectToOwner({
    ...state.options,
    dataDir: folder.path,
    onLeaving() {
      if (joined.connection === undefined || state.host !== joined.connection) return;
      state.host = undefined;
      if (!state.isClosing) state.finding = findNextHost(state);
    },
    onLost() {
      if (joined.connection !== undefined) state.connections.delete(joined.connection);
    },
  });
  if (!("call" in answer)) return answer;
  // It may have closed since it answered.
  if (!answer.isOpen()) return ABSENT;
  joined.connection = answer;
  state.connections.add(answer);
  useHost(state, answer);
  return null;
}

/** Retries until there is a host: a failure, such as a full disk, may pass. */
async function findNextHost(state: State): Promise<void> {
  let said = "";
  while (!state.isClosing && state.host === undefined) {
    try {
      await findHost(state, Number.POSITIVE_INFINITY);
    } catch (thrown) {
      const error = String(thrown);
      if (error !== said)
        state.options.log("error", "The data directory cannot be taken over", { error });
      said = error;
      await pause(FAILED_PAUSE_MS);
    }
  }
}

async function takeOver(state: State): Promise<void> {
  const { folder, log } = state.options;
  let owned: SharedActors;
  try {
    owned = ownedActors(state.options);
  } catch (error) {
    folder.release();
    throw error;
  }
  try {
    for (const kind of state.kinds.values()) owned.define(kind);
  } catch (error) {
    // Its alarms run and its listener may be open: close both before another process may own the folder.
    await owned.close(0);
    await owned.release();
    throw error;
  }
  state.owned = owned;
  log("info", "Took over the data directory");
  useHost(state, {
    call: (kind, name, method, args) => owned.get(kind, name).call(method, ...args),
    fetch: (kind, name, request) => owned.get(kind, name).fetch(request),
  });
}

function shuttingDown(): ApiError {
  return new ApiError("unavailable", { message: "The server is shutting down" });
}
