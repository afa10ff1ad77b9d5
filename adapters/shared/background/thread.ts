// What a thread of `threads.ts` runs: one task at a time, from its message to its answer.
import { parentPort } from "node:worker_threads";
import { runToEnd } from "../../../core/background.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import { buffersOf, type TaskMessage, type TaskOutcome } from "./messages.ts";
import { tasks } from "./tasks.ts";

async function outcomeOf({ name, input }: TaskMessage): Promise<TaskOutcome> {
  try {
    const task = tasks.get(name);
    if (task === undefined) return { failed: `There is no task "${name}"` };
    const stepsOf = await task.load();
    return { output: await runToEnd(stepsOf(input)) };
  } catch (error) {
    if (error instanceof ApiError) return { refused: error.toData() };
    return { failed: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  }
}

async function answer(message: TaskMessage): Promise<void> {
  const outcome = await outcomeOf(message);
  parentPort?.postMessage(outcome, "output" in outcome ? buffersOf(outcome.output) : []);
}

parentPort?.postMessage("ready");
parentPort?.on("message", (message: TaskMessage) => {
  void answer(message);
});
