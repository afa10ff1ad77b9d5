import { clearTimeout, setTimeout } from "node:timers";
import type { ApiError } from "../../core/http/api-error.ts";
import type { OwnerErrors } from "./owner-errors.ts";
import { MAX_WAITING, type PeerConnection } from "./peer-connection.ts";

/** The end that answers a call: a connection to another process, or this process. */
export type CallTarget = Pick<PeerConnection, "call" | "fetch">;

/** A call once its target is known. */
export type TargetedCall<T> = (target: CallTarget) => Promise<T>;

/** When a call was made, and for how long it may wait. */
export interface CallTurn {
  /** Calls of one slot keep their order. */
  readonly slot: number;
  /** How many calls were made before it. */
  readonly number: number;
  /** In time of `performance.now()`. */
  readonly until: number;
}

/** Calls that wait until the owner of their actor can be called. */
export interface WaitingCalls {
  /** Returns the turn of a call that is made now and may wait for so many ms. */
  turn(slot: number, waitMs: number): CallTurn;
  /** Whether any call of that slot waits. */
  has(slot: number): boolean;
  /** Calls that wait. */
  size(): number;
  /** Rejects with 503 when the call has waited too long, or too many do. */
  add<T>(turn: CallTurn, ask: TargetedCall<T>): Promise<T>;
  /** Makes the calls that have a target by now, in the order in which they were made. */
  retry(targetOf: (slot: number) => CallTarget | null): void;
  /** Rejects all calls: this process ends. */
  giveUp(): void;
}

/** How often something is there, by slot. */
interface SlotCounts {
  readonly add: (slot: number) => void;
  readonly remove: (slot: number) => void;
  readonly has: (slot: number) => boolean;
}

interface Waiting extends CallTurn {
  go(target: CallTarget): void;
  readonly giveUp: (error: ApiError) => void;
}

/** Makes an empty queue. */
export function waitingCalls(errors: OwnerErrors): WaitingCalls {
  const waiting = new Set<Waiting>();
  const counts = slotCounts();
  let made = 0;
  return {
    turn: (slot, waitMs) => ({ slot, number: (made += 1), until: performance.now() + waitMs }),
    has: (slot) => counts.has(slot),
    size: () => waiting.size,
    add: (turn, ask) =>
      new Promise((resolve, reject) => {
        if (waiting.size >= MAX_WAITING) {
          reject(errors.overloaded());
          return;
        }
        const leave = (): void => {
          clearTimeout(patience);
          waiting.delete(call);
          counts.remove(turn.slot);
        };
        const call: Waiting = {
          ...turn,
          go(target) {
            leave();
            resolve(ask(target));
          },
          giveUp(error) {
            leave();
            reject(error);
          },
        };
        const patience = setTimeout(
          () => {
            call.giveUp(errors.none());
          },
          Math.max(0, turn.until - performance.now()),
        );
        waiting.add(call);
        counts.add(turn.slot);
      }),
    retry(targetOf) {
      // A call that was sent back joins the queue late: sort by when it was made.
      for (const call of [...waiting].toSorted((a, b) => a.number - b.number)) {
        const target = targetOf(call.slot);
        if (target !== null) call.go(target);
      }
    },
    giveUp() {
      for (const call of waiting) call.giveUp(errors.shuttingDown());
    },
  };
}

/** Makes counts of nothing. */
function slotCounts(): SlotCounts {
  const counts = new Map<number, number>();
  return {
    add(slot) {
      counts.set(slot, (counts.get(slot) ?? 0) + 1);
    },
    remove(slot) {
      const left = (counts.get(slot) ?? 1) - 1;
      if (left === 0) counts.delete(slot);
      else counts.set(slot, left);
    },
    has: (slot) => counts.has(slot),
  };
}
