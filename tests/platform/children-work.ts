import { readdirSync, readFileSync } from "node:fs";
import { watchWork } from "../cases/eventually.ts";

/** Milliseconds of a tick in which Linux counts CPU time: proc_pid_stat(5). */
const TICK_MS = 10;

/** Has every wait of this process go on while the processes that it started are at work. Elsewhere than on Linux nothing changes. */
export function waitForChildren(): void {
  if (process.platform === "linux") watchWork(() => workBelow(process.pid));
}

/** CPU time in ms of this process and of all below it, those that have ended included; 0 elsewhere than on Linux. */
export function workSoFar(): number {
  return workOf(process.pid) + workBelow(process.pid);
}

/** CPU time in ms of all processes below one, those that have ended included. */
function workBelow(pid: number): number {
  return childIds(pid).reduce((sum, child) => sum + workOf(child) + workBelow(child), 0);
}

/** The processes that a process has started and that it has not seen end; a look at all processes of a machine takes a core. */
export function childIds(pid: number): number[] {
  const threads = listed(`/proc/${pid}/task`);
  const lists = threads.map((thread) => text(`/proc/${pid}/task/${thread}/children`));
  return lists.flatMap((list) => list.split(" ").filter((one) => one !== "")).map(Number);
}

function workOf(pid: number): number {
  // Behind the name, which may hold spaces: user and system time, its own and that of its ended children.
  const fields = text(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ") ?? [];
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0);
}

/** Empty where the process has ended meanwhile. */
function text(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function listed(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
