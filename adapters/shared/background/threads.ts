import { availableParallelism } from "node:os";
import { stepwise } from "../../../core/background.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import type { Background, TaskLane, LongTask, Plain, Steps } from "../../../core/ports.ts";
import { type FairSlots, fairSlots, inSlot } from "../../../core/work/fair-slots.ts";
import { threadPool, type ThreadPoolOptions } from "./thread-pool.ts";

/** What {@link threads} needs. */
export interface ThreadOptions extends ThreadPoolOptions {
  /** Threads at a time for quick tasks. @default one less than the machine has cores, 1 to 4 */
  readonly most?: number;
}

/** The port over threads, which start when they are needed and end when they are idle. */
export interface Threads extends Background {
  close(): Promise<void>;
}

/** Tasks that wait in one lane, of all owners together. */
const WAITING = 1000;
/** The owner of work that names none. */
const SHARED = "";

/** Runs tasks on threads; on the event loop, in steps, where none can be started. */
export function threads(options: ThreadOptions): Threads {
  const inSteps = stepwise(options.system);
  const pool = threadPool(options);
  const lanes = laneSlots(options.most ?? Math.min(4, Math.max(1, availableParallelism() - 1)));
  return {
    run<I extends Plain, O extends Plain>(
      task: LongTask<I, O, Steps<O>>,
      input: I,
      signal: AbortSignal,
      owner = SHARED,
    ): Promise<O> {
      return inSlot(lanes[task.lane ?? "quick"], owner, signal, async () => {
        const thread = await pool.take(signal);
        if (thread === null) return inSteps.run(task, input, signal);
        const outcome = await pool.run(thread, { name: task.name, input }, signal);
        if ("refused" in outcome) throw ApiError.from(outcome.refused);
        if ("failed" in outcome) throw new Error(`"${task.name}" failed: ${outcome.failed}`);
        // The task of that name made it.
        return outcome.output as O;
      });
    },
    close: () => pool.close(),
  };
}

function laneSlots(most: number): Record<TaskLane, FairSlots> {
  const slots = (running: number, reserve: number): FairSlots =>
    fairSlots({ running, reserve, waiting: WAITING, refuse: tooMany });
  return { quick: slots(most, 1), files: slots(1, 1), training: slots(1, 0) };
}

function tooMany(): ApiError {
  return new ApiError("rate_limited", {
    message: "Rate limit exceeded: too many files and pages wait to be read, retry later",
    headers: { "retry-after": "5" },
  });
}
