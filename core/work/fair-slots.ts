/** Limits of running and waiting work. */
export interface FairSlotOptions {
  /** Pieces of work that run at a time. */
  readonly running: number;
  /** Pieces of work that wait, of all owners together. */
  readonly waiting: number;
  /** Slots beyond `running`, for owners that run nothing: one owner's slow work then keeps no other waiting. @default 0 */
  readonly reserve?: number;
  /** Makes the error for work that finds no place in the queue. */
  readonly refuse: () => Error;
}

/**
 * A bounded number of slots behind a bounded queue, both shared fairly between owners (callers, tokens, instances): a free slot goes
 * to the waiting owner that runs least, in turn, and a full queue refuses the owner that fills it.
 */
export interface FairSlots {
  /**
   * Waits for a slot and returns the function that frees it. Rejects with the signal's reason on abort, and with `refuse()` when
   * the queue is full and no other owner has more than this one in it. Work that waits already is refused, newest first, when
   * an owner with less needs its place.
   */
  take(owner: string, signal: AbortSignal): Promise<() => void>;
}

/** Does work in a slot. */
export async function inSlot<T>(
  slots: FairSlots,
  owner: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const free = await slots.take(owner, signal);
  try {
    return await work();
  } finally {
    free();
  }
}

interface Waiting {
  readonly start: () => void;
  readonly refuse: () => void;
}

interface Owner {
  running: number;
  /** Oldest first. */
  readonly waiting: Set<Waiting>;
}

/** Makes slots that are shared fairly. */
export function fairSlots(options: FairSlotOptions): FairSlots {
  const { reserve = 0, refuse } = options;
  /** Owners with running or waiting work, the one whose turn was longest ago first. */
  const owners = new Map<string, Owner>();
  let running = 0;
  let waiting = 0;

  const mayStart = (owner: Owner): boolean =>
    running < options.running || (owner.running === 0 && running < options.running + reserve);

  const moveBack = (name: string, owner: Owner): void => {
    owners.delete(name);
    if (owner.running > 0 || owner.waiting.size > 0) owners.set(name, owner);
  };

  const begin = (name: string, owner: Owner): (() => void) => {
    running += 1;
    owner.running += 1;
    moveBack(name, owner);
    let freed = false;
    return () => {
      if (freed) return;
      freed = true;
      running -= 1;
      owner.running -= 1;
      moveBack(name, owner);
      const next = leastRunning(owners.values());
      if (next !== null && mayStart(next)) startFirst(next);
    };
  };

  const enqueue = (name: string, owner: Owner, signal: AbortSignal): Promise<() => void> => {
    waiting += 1;
    return waitForTurn(owner, signal, {
      left: () => {
        waiting -= 1;
        if (owner.running === 0 && owner.waiting.size === 0) owners.delete(name);
      },
      begin: () => begin(name, owner),
      refuse,
    });
  };

  return {
    take(name, signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      const owner = owners.get(name) ?? { running: 0, waiting: new Set() };
      // Work that waits already goes first.
      if (owner.waiting.size === 0 && mayStart(owner)) return Promise.resolve(begin(name, owner));
      if (waiting >= options.waiting && !displace(owners.values(), owner))
        return Promise.reject(refuse());
      owners.set(name, owner);
      return enqueue(name, owner, signal);
    },
  };
}

function leastRunning(owners: Iterable<Owner>): Owner | null {
  let least: Owner | null = null;
  for (const owner of owners)
    if (owner.waiting.size > 0 && (least === null || owner.running < least.running)) least = owner;
  return least;
}

function startFirst({ waiting }: Owner): void {
  const [first] = waiting;
  first?.start();
}

/** Refuses the newest work of the owner that has most in the queue, unless `owner` would then have as much. */
function displace(owners: Iterable<Owner>, owner: Owner): boolean {
  let longest = owner;
  for (const other of owners) if (other.waiting.size > longest.waiting.size) longest = other;
  if (longest.waiting.size <= owner.waiting.size + 1) return false;
  [...longest.waiting].at(-1)?.refuse();
  return true;
}

interface Turn {
  /** Called when the work no longer waits, for any reason. */
  readonly left: () => void;
  readonly begin: () => () => void;
  readonly refuse: () => Error;
}

/** Puts work into its owner's queue until it is started, refused or aborted. */
function waitForTurn(owner: Owner, signal: AbortSignal, turn: Turn): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      owner.waiting.delete(place);
      signal.removeEventListener("abort", abort);
      turn.left();
    };
    const abort = (): void => {
      leave();
      reject(signal.reason);
    };
    const place: Waiting = {
      start: () => {
        leave();
        resolve(turn.begin());
      },
      refuse: () => {
        leave();
        reject(turn.refuse());
      },
    };
    owner.waiting.add(place);
    signal.addEventListener("abort", abort, { once: true });
  });
}
