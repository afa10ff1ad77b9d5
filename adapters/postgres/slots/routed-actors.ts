import { setTimeout } from "node:timers";
import type { ActorRef } from "../../../core/ports.ts";
import { nodeErrors, NotStarted } from "../../peers/owner-errors.ts";
import type { Leases } from "./leases.ts";
import type { PeerNodes } from "./peer-nodes.ts";
import { slotOf } from "../slot-of.ts";
import { waitingCalls, type CallTarget, type TargetedCall } from "./waiting-calls.ts";

/** The actors of a cluster, as one node calls them. */
export interface RoutedActors {
  readonly get: (kind: string, name: string) => ActorRef;
  /** Whether an actor is here: calls of other nodes are taken only then. */
  readonly isHere: (kind: string, name: string) => boolean;
  /** Slots have changed hands, or a connection its state: calls that wait are tried again. */
  readonly retry: () => void;
}

/** Options of {@link routedActors}. */
export interface RoutedActorsOptions {
  /** Undefined until this node has joined: calls wait for that. */
  readonly leases: () => Pick<Leases, "isOwn" | "ownerOf" | "refresh"> | undefined;
  /** Why the database cannot be used at present: no owner is found without it. */
  readonly failure: () => string | null;
  readonly nodes: Pick<PeerNodes, "to">;
  /** The actors of this node. */
  readonly host: (kind: string, name: string) => ActorRef;
}

/** How long a call waits for an owner, in ms: a killed node's slots are free after its lease. */
const CALL_WAIT_MS = 15_000;
/** The pause before a call that was sent back is tried again, in ms: its actor is on the way. */
const MOVED_PAUSE_MS = 20;

/** Makes the actors of a cluster: those of own slots are called here, others at the node that has them. */
export function routedActors(options: RoutedActorsOptions): RoutedActors {
  const { failure, host, leases, nodes } = options;
  const waiting = waitingCalls();
  const here = localTarget(host);
  let made = 0;

  function targetOf(slot: number): CallTarget | null {
    if (leases()?.isOwn(slot) === true) return here;
    const owner = leases()?.ownerOf(slot) ?? null;
    return owner === null ? null : nodes.to(owner);
  }

  /** Nothing is awaited before the call, so that calls keep their order. */
  async function route<T>(slot: number, ask: TargetedCall<T>): Promise<T> {
    const turn = { slot, number: (made += 1), until: performance.now() + CALL_WAIT_MS };
    for (;;) {
      // Not past those that wait.
      const target = waiting.has(slot) ? null : targetOf(slot);
      if (target === null && failure() !== null) throw nodeErrors.none();
      try {
        return await (target === null ? waiting.add(turn, ask) : ask(target));
      } catch (error) {
        if (!(error instanceof NotStarted)) throw error;
        if (performance.now() > turn.until) throw nodeErrors.none();
        await pause(MOVED_PAUSE_MS);
        await leases()?.refresh();
      }
    }
  }

  return {
    get(kind, name) {
      const slot = slotOf(kind, name);
      return {
        call: (method, ...args) => route(slot, (target) => target.call(kind, name, method, args)),
        fetch: (request) => route(slot, (target) => target.fetch(kind, name, request)),
      };
    },
    isHere: (kind, name) => leases()?.isOwn(slotOf(kind, name)) === true,
    retry() {
      waiting.retry(targetOf);
    },
  };
}

/** Calls the actors of this node. */
function localTarget(host: RoutedActorsOptions["host"]): CallTarget {
  return {
    call: (kind, name, method, args) => host(kind, name).call(method, ...args),
    fetch: (kind, name, request) => host(kind, name).fetch(request),
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
