import { ApiError } from "../../core/http/api-error.ts";
import type { ActorKind, ActorRef } from "../../core/ports.ts";
import { inUse, PREDECESSOR_MS, tellWaiting, type DataDir } from "../shared/data-dir.ts";
import { isNewKind, kindOf } from "../shared/actors/kinds.ts";
import { Moved, overloaded, unheld } from "./gone.ts";
import { holdActors, type SharedActors, type SharedActorsOptions } from "./hold-actors.ts";
import {
  ABSENT,
  isHeld,
  joinHolder,
  MAX_WAITING,
  type Holder,
  type Refusal,
} from "./join-holder.ts";

/** Where calls go: to the holder, or to this process once it has taken over. */
type Seat = Pick<Holder, "call" | "fetch">;

/** A call that waits for a seat. */
interface Waiting {
  /** How many calls were made before it. */
  readonly number: number;
  go(seat: Seat): void;
  readonly giveUp: () => void;
}

interface State {
  readonly options: SharedActorsOptions;
  readonly kinds: Map<string, ActorKind>;
  /** Connections that are not closed; of one that is about to be, calls may still be under way. */
  readonly holders: Set<Holder>;
  /** Undefined while a new one is looked for. */
  seat: Seat | undefined;
  /** Calls made so far. */
  made: number;
  /** Calls for which there is no seat yet. */
  readonly waiting: Set<Waiting>;
  seeking: Promise<void>;
  held: SharedActors | undefined;
  isClosing: boolean;
}

/** How long a call waits for the next holder, in ms: a process that drains may take its grace. */
const CALL_WAIT_MS = 15_000;
const PAUSE_MS = 25;
/** The pause after the directory could not be taken over, in ms. */
const FAILED_PAUSE_MS = 1000;

/** The actors of a data directory that another process holds. Rejects when that process cannot be joined. */
export async function guestActors(options: SharedActorsOptions): Promise<SharedActors> {
  const state: State = {
    options,
    kinds: new Map(),
    holders: new Set(),
    seat: undefined,
    made: 0,
    waiting: new Set(),
    seeking: Promise.resolve(),
    held: undefined,
    isClosing: false,
  };
  await seek(state, options.predecessorMs ?? PREDECESSOR_MS);
  return {
    get: (kind, name) => actorRef(state, kind, name),
    define(kind) {
      if (!isNewKind(state.kinds, kind)) return;
      state.kinds.set(kind.name, kind);
      state.held?.define(kind);
    },
    async close(graceMs) {
      for (const holder of state.holders) holder.closeSockets(1001, "The server is shutting down");
      const until = performance.now() + graceMs;
      const isBusy = (): boolean =>
        state.waiting.size > 0 || [...state.holders].some((holder) => holder.size() > 0);
      while (isBusy() && performance.now() < until) await pause(5);
      // Before what follows: from now on this process takes nothing over.
      state.isClosing = true;
      for (const one of state.waiting) one.giveUp();
      await state.held?.close(graceMs);
    },
    async release() {
      for (const holder of state.holders) holder.leave();
      await state.seeking;
      if (state.held === undefined) options.folder.release();
      else await state.held.release();
    },
  };
}

function actorRef(state: State, kind: string, name: string): ActorRef {
  return {
    call: (method, ...args) => over(state, kind, (seat) => seat.call(kind, name, method, args)),
    fetch: (request) => over(state, kind, (seat) => seat.fetch(kind, name, request)),
  };
}

/** Asks whoever holds the directory now. Nothing is awaited before, so that calls keep their order. */
async function over<T>(state: State, kind: string, ask: (seat: Seat) => Promise<T>): Promise<T> {
  kindOf(state.kinds, kind);
  const number = (state.made += 1);
  for (;;) {
    if (state.isClosing && state.held === undefined) throw shuttingDown();
    try {
      return await (state.seat === undefined ? seated(state, number, ask) : ask(state.seat));
    } catch (error) {
      if (!(error instanceof Moved)) throw error;
    }
  }
}

/** Asks the next seat, in turn with the others that wait for it. */
function seated<T>(state: State, number: number, ask: (seat: Seat) => Promise<T>): Promise<T> {
  const { waiting } = state;
  return new Promise((resolve, reject) => {
    if (waiting.size >= MAX_WAITING) {
      reject(overloaded());
      return;
    }
    const leave = (): void => {
      clearTimeout(patience);
      waiting.delete(call);
    };
    const call: Waiting = {
      number,
      go(seat) {
        leave();
        resolve(ask(seat));
      },
      giveUp() {
        leave();
        reject(state.isClosing ? shuttingDown() : unheld());
      },
    };
    const patience = setTimeout(call.giveUp, CALL_WAIT_MS);
    waiting.add(call);
  });
}

/** Calls go there from now on; first of all those that waited, in the order in which they were made. */
function settle(state: State, seat: Seat): void {
  state.seat = seat;
  // One that the former holder sent back has come later than those that were made since.
  for (const call of [...state.waiting].toSorted((a, b) => a.number - b.number)) call.go(seat);
}

/** Looks for whom to call, and takes the directory over when nobody holds it. Rejects when that is not found in time. */
async function seek(state: State, withinMs: number): Promise<void> {
  const { folder, log } = state.options;
  const until = performance.now() + withinMs;
  let because = ", which has not answered yet";
  const waiting = tellWaiting(folder, log, () => because);
  try {
    for (;;) {
      const refusal = await sit(state);
      if (refusal === null) break;
      ({ because } = refusal);
      if (performance.now() > until) throw inUse(folder, because);
      await pause(PAUSE_MS);
    }
  } finally {
    waiting.over();
  }
  // Later on, who takes over says so, once for all.
  const isNews = waiting.isTold() || state.made === 0;
  if (isNews && state.held === undefined && !state.isClosing)
    log("info", "Joined the process that holds the data directory");
}

/** Tries to become the process that holds the folder. */
export async function holdFolder(folder: DataDir): Promise<boolean> {
  if (!folder.hold()) return false;
  if (folder.path === null || !(await isHeld(folder.path))) return true;
  folder.release();
  return false;
}

/** Null when there is a seat now. */
async function sit(state: State): Promise<Refusal | null> {
  const { folder } = state.options;
  if (state.isClosing) return null;
  if (await holdFolder(folder)) {
    // Somebody else's by now.
    if (state.isClosing) folder.release();
    else await takeOver(state);
    return null;
  }
  if (folder.path === null) return ABSENT;
  const joined: { holder?: Holder } = {};
  const answer = await joinHolder({
    ...state.options,
    dataDir: folder.path,
    onLeaving() {
      if (joined.holder === undefined || state.seat !== joined.holder) return;
      state.seat = undefined;
      if (!state.isClosing) state.seeking = seekAfterwards(state);
    },
    onLost() {
      if (joined.holder !== undefined) state.holders.delete(joined.holder);
    },
  });
  if (!("call" in answer)) return answer;
  // It may have left since it answered.
  if (!answer.isOpen()) return ABSENT;
  joined.holder = answer;
  state.holders.add(answer);
  settle(state, answer);
  return null;
}

/** Goes on until there is a seat: a failure, such as a full disk, may pass. */
async function seekAfterwards(state: State): Promise<void> {
  let said = "";
  while (!state.isClosing && state.seat === undefined) {
    try {
      await seek(state, Number.POSITIVE_INFINITY);
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
  let held: SharedActors;
  try {
    held = holdActors(state.options);
  } catch (error) {
    folder.release();
    throw error;
  }
  try {
    for (const kind of state.kinds.values()) held.define(kind);
  } catch (error) {
    // Its alarms run and its door may be open: nobody else may hold the folder before they are closed.
    await held.close(0);
    await held.release();
    throw error;
  }
  state.held = held;
  log("info", "Took over the data directory");
  settle(state, {
    call: (kind, name, method, args) => held.get(kind, name).call(method, ...args),
    fetch: (kind, name, request) => held.get(kind, name).fetch(request),
  });
}

function shuttingDown(): ApiError {
  return new ApiError("unavailable", { message: "The server is shutting down" });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
