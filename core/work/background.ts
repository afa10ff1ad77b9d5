import { ApiError } from "../http/api-error.ts";
import type { Background, LongTask, Plain, Steps, System } from "../ports.ts";
import { withinMs } from "../time/within-ms.ts";

/** Longest run of a task in ms, except for training, whose callers set a limit. */
const TASK_MS = 60_000;

/** Runs a task within the limit; its wait for a turn does not count. */
export function withinTask<T>(
  task: Pick<LongTask<never, Plain>, "kind" | "overrun">,
  signal: AbortSignal,
  system: System,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (task.kind === "training") return work(signal);
  return withinMs(
    {
      ms: TASK_MS,
      signal,
      system,
      late: () => overrunOf(task, `it takes more than ${TASK_MS / 1000} s`),
    },
    work,
  );
}

/** The error of a task that took more than it may. */
export function overrunOf(
  { overrun }: Pick<LongTask<never, Plain>, "overrun">,
  why: string,
): Error {
  return (
    overrun?.(why) ??
    new ApiError("page_too_large", { message: `The page cannot be converted: ${why}` })
  );
}

/**
 * Runs a task on the event loop, in steps between which others run: for a runtime without threads. Rejects with the
 * signal's reason on abort.
 */
export async function runInSteps<I extends Plain, O extends Plain>(
  task: LongTask<I, O, Steps<O>>,
  input: I,
  signal: AbortSignal,
  system: Pick<System, "sleep">,
): Promise<O> {
  signal.throwIfAborted();
  const stepsOf = await task.load();
  signal.throwIfAborted();
  const steps = stepsOf(input);
  for (let step = await steps.next(); ; step = await steps.next()) {
    if (step.done === true) return step.value;
    await system.sleep(0, signal);
  }
}

/** The port where there are no threads. */
export function stepwise(system: System): Background {
  return {
    run: (task, input, signal) =>
      withinTask(task, signal, system, (inner) => runInSteps(task, input, inner, system)),
  };
}

/** Runs a task to its end at once, as a thread does. */
export function runThrough<O>(steps: Generator<void, O, void>): O {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/** The same of a task that may wait for a parser. */
export async function runToEnd<O>(steps: Steps<O>): Promise<O> {
  for (let step = await steps.next(); ; step = await steps.next())
    if (step.done === true) return step.value;
}
