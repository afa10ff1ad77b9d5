import { readdirSync, readFileSync } from "node:fs";

/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10;

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly cpuMs: number;
}

/** CPU time of a process and of all below it, the dead ones that were waited for included. @default this process */
export function treeCpuMs(root: number = process.pid): number {
  return tree(root).reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}

/** Memory of some processes in MB. */
export interface Memory {
  /** What they share is counted once, in parts (proportional set size). */
  readonly pssMb: number;
  /** What they share is counted for each (resident set size). */
  readonly rssMb: number;
}

/** Memory of the processes below this one. */
export function browserMemory(): Memory {
  const rollups = tree()
    .filter(({ pid }) => pid !== process.pid)
    .map(({ pid }) => read(`/proc/${pid}/smaps_rollup`));
  const sum = (field: RegExp): number =>
    rollups.reduce((all, text) => all + Number(field.exec(text)?.[1] ?? 0), 0) / 1024;
  return { pssMb: sum(/^Pss:\s+(\d+)/m), rssMb: sum(/^Rss:\s+(\d+)/m) };
}

/** The command lines of the processes below this one, by their ids. */
export function commandsBelow(): Map<number, string> {
  return new Map(
    tree()
      .filter(({ pid }) => pid !== process.pid)
      .map(({ pid }) => [pid, read(`/proc/${pid}/cmdline`)]),
  );
}

function tree(root: number = process.pid): Process[] {
  const all = readdirSync("/proc").flatMap(readProcess);
  const own = new Set([root]);
  // A child may be listed before its parent.
  for (let size = 0; size < own.size;) {
    size = own.size;
    for (const { pid, parent } of all) if (own.has(parent)) own.add(pid);
  }
  return all.filter(({ pid }) => own.has(pid));
}

/** Reads `/proc/PID/stat`: what follows the name, which may hold anything. */
function readProcess(name: string): Process[] {
  if (!/^\d+$/.test(name)) return [];
  const stat = read(`/proc/${name}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields.length < 16) return [];
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return [{ pid: Number(name), parent: Number(fields[1]), cpuMs: ticks * TICK_MS }];
}

/** The process may be gone by now. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
