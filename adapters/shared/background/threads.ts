import { availableParallelism } from "node:os";
import { overrunOf, runInSteps, withinTask } from "../../../core/work/background.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import type {
  Background,
  Log,
  LongTask,
  Plain,
  Steps,
  System,
  TaskKind,
} from "../../../core/ports.ts";
import { type FairSlots, fairSlots, inSlot } from "../../../core/work/fair-slots.ts";
import { defaultFileBytes } from "../work/memory-limit.ts";
import { isolatePool } from "./isolate-pool.ts";
import type { TaskOutcome } from "./messages.ts";
import { startProcess } from "./process-isolate.ts";
import { startThread } from "./thread-isolate.ts";

/** Options of {@link threads}. */
export interface ThreadOptions {
  readonly system: System;
  readonly log: Log;
  /** How long an idle thread or process stays, in ms. @default 30000 */
  readonly idleMs?: number;
  /** Bytes of memory of all processes together that read files. @default a quarter of what there is, 256 MB to 1 GB */
  readonly fileBytes?: number;
  /** Threads at a time for quick tasks. @default one less than the machine has cores, 1 to 4 */
  readonly most?: number;
}

/** The port over threads and, for files, processes; they start when they are needed and end when they are idle. */
export interface Threads extends Background {
  close(): Promise<void>;
}

/** Tasks of one kind that wait, of all owners together. */
const WAITING = 1000;
/**
 * The number of processes that read files at a time. One of them is for an owner whose files no other process is reading.
 */
const FILES = 2;
/** The owner of work without a named one. */
const SHARED = "";

/** Runs tasks on threads, those of files in processes; where neither can be started, on the event loop in steps. */
export function threads(options: ThreadOptions): Threads {
  const { system } = options;
  const pool = isolatePool({
    ...options,
    start: startThread,
    absent: "Long tasks run on the event loop: no thread could be started",
  });
  const bytes = Math.floor((options.fileBytes ?? defaultFileBytes()) / FILES);
  const processes = isolatePool({
    ...options,
    start: (signal) => startProcess(signal, { bytes }),
    absent: "Files are read without a limit of memory: no process could be started",
  });
  const slots = slotsByKind(options.most ?? Math.min(4, Math.max(1, availableParallelism() - 1)));
  return {
    run<I extends Plain, O extends Plain>(
      task: LongTask<I, O, Steps<O>>,
      input: I,
      signal: AbortSignal,
      owner = SHARED,
    ): Promise<O> {
      const { name, kind = "quick" } = task;
      return inSlot(slots[kind], owner, signal, () =>
        withinTask(task, signal, system, async (inner) => {
          const isFile = kind === "files";
          const message = { name, input };
          const outcome =
            (isFile ? await processes.run(message, inner) : null) ??
            (await pool.run(message, inner));
          // The task of that name made it.
          return outcome === null
            ? runInSteps(task, input, inner, system)
            : (outputOf(task, outcome) as O);
        }),
      );
    },
    async close() {
      await Promise.all([pool.close(), processes.close()]);
    },
  };
}

function outputOf(
  task: Pick<LongTask<never, Plain>, "name" | "overrun">,
  outcome: TaskOutcome,
): Plain {
  if ("output" in outcome) return outcome.output;
  if ("refused" in outcome) throw ApiError.from(outcome.refused);
  if ("overran" in outcome) throw overrunOf(task, outcome.overran);
  throw new Error(`"${task.name}" failed: ${outcome.failed}`);
}

function slotsByKind(most: number): Record<TaskKind, FairSlots> {
  const slots = (running: number, reserve: number): FairSlots =>
    fairSlots({ running, reserve, waiting: WAITING, refuse: tooMany });
  return { quick: slots(most, 1), files: slots(FILES - 1, 1), training: slots(1, 0) };
}

function tooMany(): ApiError {
  return new ApiError("rate_limited", {
    message: "Rate limit exceeded: too many files and pages wait to be read, retry later",
    headers: { "retry-after": "5" },
  });
}
