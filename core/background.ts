import type { Background, LongTask, Plain, Steps, System } from "./ports.ts";

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
export function stepwise(system: Pick<System, "sleep">): Background {
  return { run: (task, input, signal) => runInSteps(task, input, signal, system) };
}

/** Runs a task to its end at once: what a thread of its own does. */
export function runThrough<O>(steps: Generator<void, O, void>): O {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/** The same of a task that may wait for a parser. */
export async function runToEnd<O>(steps: Steps<O>): Promise<O> {
  for (let step = await steps.next(); ; step = await steps.next())
    if (step.done === true) return step.value;
}
