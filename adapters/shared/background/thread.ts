// What a thread of `threads.ts` runs: one task at a time, from its message to its answer.
import { parentPort } from "node:worker_threads";
import { runThrough } from "../../../core/background.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import { buffersOf, type TaskMessage, type TaskOutcome } from "./messages.ts";
import { tasks } from "./tasks.ts";

function outcomeOf({ name, input }: TaskMessage): TaskOutcome {
  try {
    const task = tasks.get(name);
    if (task === undefined) return { failed: `There is no task "${name}"` };
    return { output: runThrough(task.steps(input)) };
  } catch (error) {
    if (error instanceof ApiError) return { refused: error.toData() };
    return { failed: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  }
}

parentPort?.postMessage("ready");
parentPort?.on("message", (message: TaskMessage) => {
  const outcome = outcomeOf(message);
  parentPort?.postMessage(outcome, "output" in outcome ? buffersOf(outcome.output) : []);
});
