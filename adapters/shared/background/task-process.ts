// The program of the processes that `process-isolate.ts` starts: a thread with the tasks, and a watch over the memory of
// both, which a task that blocks its thread cannot stop.
import { writeFileSync, writeSync } from "node:fs";
import process from "node:process";
import { frameOf, frameReader } from "./frames.ts";
import { startThread } from "./thread-isolate.ts";
import type { ProcessAnswer, TaskMessage, TaskOutcome } from "./messages.ts";

/** Milliseconds between two looks at the memory. */
const LOOK_MS = 20;
/** Bytes of one task. */
const TASK = 128 * 1024 * 1024;
const never = new AbortController().signal;

const most = Number(process.argv[2]);
const megabytes = Math.round(most / 1024 / 1024);

function leave(): never {
  process.kill(process.pid, "SIGKILL");
  throw new Error("Ended");
}

/** Writes at once: the process may end in the next moment. */
function answer(outcome: ProcessAnswer): void {
  for (const part of frameOf(outcome, "output"))
    for (let at = 0; at < part.length;) at += writeSome(part.subarray(at));
}

function writeSome(part: Uint8Array): number {
  try {
    return writeSync(1, part);
  } catch (error) {
    // The pipe is full until its reader comes to it.
    if (error instanceof Error && "code" in error && error.code === "EAGAIN") return 0;
    return leave();
  }
}

function overMemory(): never {
  answer({ overran: `it takes more than ${megabytes} MB of memory`, isLast: true });
  return leave();
}

async function serve(): Promise<void> {
  const thread = await startThread(never);
  void thread.ended.then(leave);
  const read = frameReader("input", TASK);
  process.stdin.on("data", (chunk: Uint8Array) => {
    const message = read(chunk);
    if (message !== null) thread.run(message as TaskMessage, never).then(answered, overMemory);
  });
  answer({ output: "ready" });
}

/** A process that still holds much ends: the next task is not to fail for it. */
function answered(outcome: TaskOutcome): void {
  const isLast = process.memoryUsage.rss() > most / 2;
  answer({ ...outcome, isLast });
  if (isLast) leave();
}

// The kernel ends this process before the server when the machine has no memory left.
try {
  writeFileSync("/proc/self/oom_score_adj", "1000");
} catch {
  // Other systems, and Deno, lack it.
}
// A terminal's Ctrl-C goes to all processes; the server says when this one ends, and its end closes the pipe.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => undefined);
process.stdin.on("end", leave);
process.stdin.on("close", leave);
setInterval(() => {
  if (process.memoryUsage.rss() > most) overMemory();
}, LOOK_MS);
void serve().catch(leave);
