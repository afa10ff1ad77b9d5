import { readdirSync, readFileSync } from "node:fs";

/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10;

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly cpuMs: number;
}

/** CPU time of this process and of all below it, the dead ones that were waited for included. */
export function treeCpuMs(): number {
  return tree().reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}

/** Resident memory of the processes below this one, in MB; what they share is counted for each. */
export function browserRssMb(): number {
  return tree()
    .filter(({ pid }) => pid !== process.pid)
    .reduce((sum, { pid }) => sum + rssMb(pid), 0);
}

function tree(): Process[] {
  const all = readdirSync("/proc").flatMap(readProcess);
  const own = new Set([process.pid]);
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

function rssMb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
}

/** The process may be gone by now. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
