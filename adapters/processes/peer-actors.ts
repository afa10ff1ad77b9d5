import { setTimeout as pause } from "node:timers/promises";
import type { ActorKind, ActorRef } from "../../core/ports.ts";
import { inUse, PREDECESSOR_MS, tellWaiting, type DataDir } from "../shared/data-dir.ts";
import { isNewKind, kindOf } from "../shared/actors/kinds.ts";
import { folderErrors, NotStarted } from "../peers/owner-errors.ts";
import { ownedActors, type SharedActors, type SharedActorsOptions } from "./owned-actors.ts";
import { ABSENT, type JoinRefusal, type PeerConnection } from "../peers/peer-connection.ts";
import {
  waitingCalls,
  type CallTarget,
  type TargetedCall,
  type WaitingCalls,
} from "../peers/waiting-calls.ts";
import { connectToOwner, isOwnerListening } from "./owner-connection.ts";

interface State {
  readonly options: SharedActorsOptions;
  readonly kinds: Map<string, ActorKind>;
  /** Open connections to lock owners. One that is about to close may still have calls under way. */
  readonly connections: Set<PeerConnection>;
  /** Undefined while the next one is looked for. */
  host: CallTarget | undefined;
  /** Whether this process has made calls. */
  hasCalled: boolean;
  /** Calls that wait for a host: all in one order. */
  readonly waiting: WaitingCalls;
  finding: Promise<void>;
  owned: SharedActors | undefined;
  isClosing: boolean;
}

/** How long a call waits for the next lock owner, in ms: a process that drains may take its grace. */
const CALL_WAIT_MS = 15_000;
/** The one slot of a data directory: it has one owner. */
const SLOT = 0;
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
    hasCalled: false,
    waiting: waitingCalls(folderErrors),
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
        state.waiting.size() > 0 ||
        [...state.connections].some((connection) => connection.size() > 0);
      while (isBusy() && performance.now() < until) await pause(5);
      // Set before the waiting calls are given up: from now on this process takes nothing over.
      state.isClosing = true;
      state.waiting.giveUp();
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
async function callHost<T>(state: State, kind: string, ask: TargetedCall<T>): Promise<T> {
  kindOf(state.kinds, kind);
  const { waiting } = state;
  state.hasCalled = true;
  const turn = waiting.turn(SLOT, CALL_WAIT_MS);
  for (;;) {
    if (state.isClosing && state.owned === undefined) throw folderErrors.shuttingDown();
    try {
      return await (state.host === undefined ? waiting.add(turn, ask) : ask(state.host));
    } catch (error) {
      if (!(error instanceof NotStarted)) throw error;
    }
  }
}

/** Directs calls to `host` from now on, the waiting ones first. */
function useHost(state: State, host: CallTarget): void {
  state.host = host;
  state.waiting.retry(() => host);
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
  const isNews = waiting.isTold() || !state.hasCalled;
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
