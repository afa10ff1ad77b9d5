import type { System } from "../../ports.ts";
import { withinMs } from "../../time/within-ms.ts";
import { type FairSlots, fairSlots } from "../../work/fair-slots.ts";
import { oncePer } from "../../work/once-per.ts";
import { bodiesFull } from "../arriving-body.ts";

/** The place of work on a long body: its caller, and the end of its time. */
export interface LongBodyWork {
  /** The platform's. */
  readonly system: Pick<System, "sleep">;
  /** Shares the lane with other owners, in turn. */
  readonly owner: string;
  /** Ends the wait, and the work between two steps. */
  readonly signal: AbortSignal;
}

/** Long bodies that wait, and milliseconds that one waits at most; each takes a few tenths of a second. */
const WAITING = 64;
const WAIT_MS = 60_000;

/** One lane for each platform: half-made values of several bodies would take several times their memory, and end no sooner. */
const laneOf = oncePer<LongBodyWork["system"], FairSlots>(() =>
  fairSlots({ running: 1, waiting: WAITING, refuse: bodiesFull }),
);

/**
 * Does `work` with a long body while no other one is worked on. In the lane, work only computes and gives way by `steps`: it awaits
 * neither a network nor the lane itself. Throws `bodies_full` when too many wait, or one waits too long.
 */
export async function inLongBodyLane<T>(
  { system, owner, signal }: LongBodyWork,
  work: (steps: LongBodyWork["system"]) => Promise<T>,
): Promise<T> {
  const free = await withinMs({ ms: WAIT_MS, signal, system, late: bodiesFull }, (inner) =>
    laneOf(system).take(owner, inner),
  );
  // Without the signal: a timer that can be aborted takes a millisecond, a turn of the event loop takes none.
  const sleep = async (ms: number): Promise<void> => {
    await system.sleep(ms);
    signal.throwIfAborted();
  };
  try {
    return await work({ sleep });
  } finally {
    free();
  }
}
