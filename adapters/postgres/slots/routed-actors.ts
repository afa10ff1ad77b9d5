import { clearTimeout, setTimeout } from "node:timers";
import { ApiError } from "../../../core/http/api-error.ts";
import type { ActorRef, Plain } from "../../../core/ports.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import { nodeErrors, NotStarted } from "../../peers/owner-errors.ts";
import type { Leases } from "./leases.ts";
import type { PeerNodes } from "./peer-nodes.ts";
import { slotOf } from "../slot-of.ts";
import { waitingCalls, type CallTarget, type TargetedCall } from "../../peers/waiting-calls.ts";

/** The actors of a cluster, as one node calls them. */
export interface RoutedActors {
  readonly get: (kind: string, name: string) => ActorRef;
  /** Whether an actor is here: calls of other nodes are taken only then. */
  readonly isHere: (kind: string, name: string) => boolean;
  /** Slots have changed hands, or a connection its state: calls that wait are tried again. */
  readonly retry: () => void;
  /** Calls that are at no node: they wait for one, or were sent back. */
  readonly size: () => number;
  /** Refuses these calls, and all that follow: this node ends. */
  readonly close: () => void;
}

export interface RoutedActorsOptions {
  /** Undefined until this node has joined: calls wait for that. */
  readonly leases: () => Pick<Leases, "isOwn" | "ownerOf" | "refresh"> | undefined;
  /** Why the database cannot be used at present: no owner is found without it. */
  readonly failure: () => string | null;
  readonly nodes: Pick<PeerNodes, "to">;
  /** The actors of this node. */
  readonly here: (kind: string, name: string) => ActorRef;
  /** Returns how this node makes a call without the actor; undefined for methods that need it. */
  readonly detached: (kind: string, name: string, method: string) => DetachedCall | undefined;
}

/** A call that is made without its actor. */
export type DetachedCall = (args: readonly Plain[]) => Promise<Plain>;

/** How long a call waits for an owner, in ms: a killed node's slots are free after its lease. */
const CALL_WAIT_MS = 15_000;
/** How long such a call waits that can be made here, in ms. */
const DETACHED_WAIT_MS = 500;
/** The pause before a call that was sent back is tried again, in ms: its actor is on the way. */
const MOVED_PAUSE_MS = 20;

/** Makes the actors of a cluster: those of own slots are called here, others at the node that has them. */
export function routedActors(options: RoutedActorsOptions): RoutedActors {
  const { detached, leases, nodes } = options;
  const local = localTarget(options.here);
  const isOwn = (slot: number): boolean => leases()?.isOwn(slot) === true;
  const { route, ...calls } = routedCalls(options, (slot) => {
    if (isOwn(slot)) return local;
    const owner = leases()?.ownerOf(slot) ?? null;
    return owner === null ? null : nodes.to(owner);
  });
  return {
    get(kind, name) {
      const slot = slotOf(kind, name);
      return {
        call(method, ...args) {
          const ask: TargetedCall<Plain> = (target) => target.call(kind, name, method, args);
          const here = detached(kind, name, method);
          if (here === undefined) return route(slot, ask);
          if (isOwn(slot)) return orOnceLost(route(slot, ask), () => here(args));
          return orDetached(route(slot, ask, DETACHED_WAIT_MS), () => here(args));
        },
        fetch: (request) => route(slot, (target) => target.fetch(kind, name, request)),
      };
    },
    isHere: (kind, name) => isOwn(slotOf(kind, name)),
    ...calls,
  };
}

interface RoutedCalls extends Pick<RoutedActors, "retry" | "size" | "close"> {
  /** Makes a call at the node of its slot, once there is one. */
  readonly route: <T>(slot: number, ask: TargetedCall<T>, waitMs?: number) => Promise<T>;
}

function routedCalls(
  { failure, leases }: Pick<RoutedActorsOptions, "failure" | "leases">,
  targetOf: (slot: number) => CallTarget | null,
): RoutedCalls {
  const waiting = waitingCalls(nodeErrors);
  let sentBack = 0;
  let isClosed = false;

  /** Waits until a call that was sent back may find its actor. */
  async function comeBack(): Promise<void> {
    sentBack += 1;
    try {
      await pause(MOVED_PAUSE_MS);
      await leases()?.refresh();
    } finally {
      sentBack -= 1;
    }
  }

  return {
    /** Nothing is awaited before the call, so that calls keep their order. */
    async route(slot, ask, waitMs = CALL_WAIT_MS) {
      const turn = waiting.turn(slot, waitMs);
      for (;;) {
        if (isClosed) throw nodeErrors.shuttingDown();
        // Not past those that wait.
        const target = waiting.has(slot) ? null : targetOf(slot);
        if (target === null && failure() !== null) throw nodeErrors.none();
        try {
          return await (target === null ? waiting.add(turn, ask) : ask(target));
        } catch (error) {
          if (!(error instanceof NotStarted)) throw error;
          if (performance.now() > turn.until) throw nodeErrors.none();
          await comeBack();
        }
      }
    },
    retry() {
      waiting.retry(targetOf);
    },
    size: () => waiting.size() + sentBack,
    close() {
      isClosed = true;
      waiting.giveUp();
    },
  };
}

/**
 * Makes a call here that its actor does not answer in time, or at all. The actor may still do the same, and answer first: of an
 * event that both store, one says that it is a duplicate.
 */
async function orDetached(call: Promise<Plain>, here: () => Promise<Plain>): Promise<Plain> {
  let patience: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((resolve) => {
    patience = setTimeout(resolve, DETACHED_WAIT_MS, null);
  });
  const theirs = call.then(
    (value) => ({ value }),
    (error: unknown) => {
      if (isWithoutNode(error)) return null;
      throw error;
    },
  );
  const first = await Promise.race([theirs, late]).finally(() => {
    clearTimeout(patience);
  });
  if (first !== null) return first.value;
  const ours = here();
  return Promise.race([theirs.then((one) => (one === null ? ours : one.value)), ours]);
}

/** Makes a call here of which the actor, on this node as it seemed, wrote nothing: another node has it now. */
async function orOnceLost(call: Promise<Plain>, here: () => Promise<Plain>): Promise<Plain> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof SqlError && error.reason === "fenced") return here();
    throw error;
  }
}

/** Whether a failure is that of the node which had the actor. */
function isWithoutNode(error: unknown): boolean {
  if (error instanceof SqlError) return error.reason === "fenced";
  return error instanceof ApiError && error.kind === "unavailable";
}

/** Calls the actors of this node. */
function localTarget(here: RoutedActorsOptions["here"]): CallTarget {
  return {
    call: (kind, name, method, args) => here(kind, name).call(method, ...args),
    fetch: (kind, name, request) => here(kind, name).fetch(request),
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
