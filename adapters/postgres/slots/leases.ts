import { clearTimeout, setTimeout } from "node:timers";
import { ApiError } from "../../../core/http/api-error.ts";
import type { Log } from "../../../core/ports.ts";
import type { Fence } from "../transaction.ts";
import type { ClusterNode, LeaseStore, SlotRow } from "./lease-store.ts";
import { fairShares, giftsOf } from "./shares.ts";
import { SLOTS } from "../slot-of.ts";

/** Which node has which slot. */
export interface Leases {
  /** Whether this node has the slot, and its lease holds. */
  isOwn(slot: number): boolean;
  /** Returns the slots for which {@link Leases.isOwn} holds. */
  own(): readonly number[];
  /** Whether the lease of this node holds. */
  isValid(): boolean;
  /** Returns the node that has a slot as far as this one knows; null for this one, and when none is known. */
  ownerOf(slot: number): ClusterNode | null;
  /** Returns what the batches of a slot's actors check; they are refused once the slot has changed hands. */
  fenceOf(slot: number): Fence;
  /** Reads again who has what, since a call did not find its actor. */
  refresh(): Promise<void>;
  /** Hands everything over to the other nodes. Resolves to whether there is one. */
  close(graceMs: number): Promise<boolean>;
}

export interface LeasesOptions {
  readonly node: ClusterNode;
  readonly store: Omit<LeaseStore, "refuse">;
  readonly log: Log;
  /** How long a node that does not renew keeps its slots, in ms. */
  readonly leaseMs: number;
  /**
   * Slots are given away, or lost: their actors leave the memory, after calls under way have had so many ms to end. They
   * start no calls meanwhile.
   */
  readonly drop: (slots: ReadonlySet<number>, graceMs: number) => Promise<void>;
  /** Slots have changed hands: calls that wait may find their actors. `hasMore`: this node has some that it had not. */
  readonly onChange: (hasMore: boolean) => void;
  /** Another node lives. */
  readonly onNode: (node: ClusterNode) => void;
  /** This node must not work with the tables any more: it renews no further. */
  readonly onRefused: (reason: string) => void;
}

/** How often a node renews, and looks at the others, in ms; a short lease is renewed four times in its time. */
const BEAT_MS = 1000;
/** How long calls under way may take when slots go to a node that has joined, in ms. */
const GIVE_GRACE_MS = 1000;

interface State {
  readonly options: LeasesOptions;
  readonly rows: (SlotRow | undefined)[];
  /** Slots of this node with the epoch in which it serves them. */
  readonly own: Map<number, number>;
  /** Slots that are about to leave. */
  readonly leaving: Set<number>;
  nodes: ReadonlyMap<string, ClusterNode>;
  changes: number;
  /** Until when the lease is sure to hold, in time of \`performance.now()\`. */
  validUntil: number;
  reading: Promise<void> | undefined;
  /** The reading after that. */
  following: Promise<void> | undefined;
  isClosed: boolean;
}

/**
 * Joins the cluster; resolves once this node has its share of what no other node has, or could not reach the database: it
 * tries again.
 */
export async function openLeases(options: LeasesOptions): Promise<Leases> {
  const state: State = {
    options,
    rows: Array.from({ length: SLOTS }, () => undefined),
    own: new Map(),
    leaving: new Set(),
    nodes: new Map(),
    changes: Number.NaN,
    validUntil: 0,
    reading: undefined,
    following: undefined,
    isClosed: false,
  };
  const beats = repeat(state);
  await beats.first;
  const isValid = (): boolean => performance.now() < state.validUntil;
  const isOwn = (slot: number): boolean =>
    state.own.has(slot) && !state.leaving.has(slot) && isValid();
  return {
    isOwn,
    own: () => [...state.own.keys()].filter(isOwn),
    isValid,
    ownerOf(slot) {
      const owner = state.rows[slot]?.owner ?? null;
      if (owner === null || owner === options.node.id) return null;
      return state.nodes.get(owner) ?? null;
    },
    fenceOf: (slot) => ({ slot, epoch: state.own.get(slot) ?? -1 }),
    refresh: () => refresh(state),
    async close(graceMs) {
      state.isClosed = true;
      await beats.stop();
      try {
        return await leave(state, graceMs);
      } catch (error) {
        // Its slots are free when the lease runs out.
        options.log("warn", "The actors of this node could not be handed over", {
          error: String(error),
        });
        return false;
      }
    },
  };
}

/** Renews for as long as this node runs. */
function repeat(state: State): { readonly first: Promise<void>; stop(): Promise<void> } {
  const { leaseMs, log, onRefused } = state.options;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isSilent = false;
  const run = async (): Promise<void> => {
    try {
      await beat(state);
      if (isSilent) log("info", "The lease of this node is renewed again");
      isSilent = false;
    } catch (error) {
      if (error instanceof ApiError) {
        log("error", "This server must not work with the tables any more", {
          error: error.message,
        });
        return onRefused(error.message);
      }
      if (!isSilent)
        log("error", "The lease of this node cannot be renewed", { error: String(error) });
      isSilent = true;
    }
    schedule();
  };
  const schedule = (): void => {
    if (state.isClosed) return;
    timer = setTimeout(
      () => {
        running = run();
      },
      Math.min(BEAT_MS, leaseMs / 4),
    );
    timer.unref();
  };
  const first = run();
  let running = first;
  return {
    first,
    async stop() {
      clearTimeout(timer);
      await running;
    },
  };
}

async function beat(state: State): Promise<void> {
  const { leaseMs, onChange, onNode, store } = state.options;
  // Before it is sent: the database's time of it is later.
  const sent = performance.now();
  const { changes, nodes } = await store.renew();
  // Renewed before it ran out: no other node can have taken a slot. Otherwise one may, by a claim that began before.
  const held = performance.now() < state.validUntil;
  if (held) state.validUntil = sent + leaseMs;
  for (const one of nodes) if (!state.nodes.has(one.id)) onNode(one);
  state.nodes = new Map(nodes.map((one) => [one.id, one]));
  if (!held || changes !== state.changes) await refresh(state);
  state.changes = changes;
  if (!held) {
    state.validUntil = sent + leaseMs;
    onChange(true);
  }
  await balance(state);
}

/** Takes what no living node has, up to the fair share, and gives away what is beyond it. */
async function balance(state: State): Promise<void> {
  const { nodes, options, own } = state;
  const shares = fairShares([...nodes.keys()], SLOTS);
  const share = shares.get(options.node.id) ?? 0;
  const counts = countsOf(state);
  const taken = [...counts.values()].reduce((sum, one) => sum + one, 0);
  const free = SLOTS - taken;
  if (own.size < share && free > 0) {
    await options.store.claim(Math.min(share - own.size, free));
    await refresh(state);
  } else if (own.size > share) {
    // The last ones: those that a node has had for longest stay.
    const excess = [...own.keys()].slice(share);
    for (const { slots, to } of giftsOf(excess, shares, counts))
      await give(state, slots, to, GIVE_GRACE_MS);
  }
}

/** Counts the slots of each living node. */
function countsOf({ nodes, rows }: State): Map<string, number> {
  const counts = new Map([...nodes.keys()].map((id) => [id, 0]));
  for (const row of rows) {
    const count = counts.get(row?.owner ?? "");
    if (row !== undefined && row.owner !== null && count !== undefined)
      counts.set(row.owner, count + 1);
  }
  return counts;
}

async function give(
  state: State,
  slots: readonly number[],
  to: string | null,
  graceMs: number,
): Promise<void> {
  const { drop, store } = state.options;
  for (const slot of slots) state.leaving.add(slot);
  try {
    await drop(new Set(slots), graceMs);
    await store.give(slots, to);
    await refresh(state);
  } finally {
    for (const slot of slots) state.leaving.delete(slot);
    // Those that could not be given are here still.
    if (slots.some((slot) => state.own.has(slot))) state.options.onChange(true);
  }
}

async function leave(state: State, graceMs: number): Promise<boolean> {
  const { node, store } = state.options;
  await beat(state).catch(() => undefined);
  const others = [...state.nodes.keys()].filter((id) => id !== node.id);
  const slots = [...state.own.keys()];
  if (others.length === 0) await give(state, slots, null, graceMs);
  const gifts = giftsOf(slots, fairShares(others, SLOTS), countsOf(state));
  // At once: they share the grace.
  await Promise.all(gifts.map((gift) => give(state, gift.slots, gift.to, graceMs)));
  await store.leave();
  return others.length > 0;
}

/** Reads who has what. A reading that is under way may be too old for who asks now: they wait for the next one together. */
function refresh(state: State): Promise<void> {
  if (state.reading === undefined) {
    const over = (): void => {
      state.reading = undefined;
    };
    state.reading = read(state);
    state.reading.then(over, over);
    return state.reading;
  }
  state.following ??= state.reading
    .catch(() => undefined)
    .then(() => {
      state.following = undefined;
      return refresh(state);
    });
  return state.following;
}

async function read(state: State): Promise<void> {
  await apply(state, await state.options.store.slots());
}

async function apply(state: State, rows: readonly SlotRow[]): Promise<void> {
  const { drop, node, onChange } = state.options;
  const lost = new Set<number>();
  for (const row of rows) {
    state.rows[row.slot] = row;
    const epoch = state.own.get(row.slot);
    if (epoch !== undefined && (row.owner !== node.id || row.epoch !== epoch)) lost.add(row.slot);
  }
  for (const slot of lost) state.own.delete(slot);
  // Another node may already write for these slots: this one must not answer for them from memory.
  if (lost.size > 0) await drop(lost, 0);
  const before = state.own.size;
  for (const { epoch, owner, slot } of rows) if (owner === node.id) state.own.set(slot, epoch);
  onChange(state.own.size > before);
}
