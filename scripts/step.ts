import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";

/** Ends what hangs. Tests have limits of their own, so no step comes near this on a machine ten times slower. */
const timeoutMs = 60 * 60_000;
const children = new Set<ChildProcess>();

/** Runs what follows its file, and writes to the file what it and all that it has waited for took of the CPU. */
const timed = 'file=$0; "$@"; code=$?; times > "$file"; exit $code';

/**
 * Runs one command, keeping its output; a command that hangs is ended with all that it started. Its CPU seconds are
 * told where `cpuFile` names a file to keep them in; Windows has no shell that counts them.
 */
export function run(
  command: readonly string[],
  env: Record<string, string>,
  cpuFile?: string,
): Promise<{ ok: boolean; seconds: number; cpuSeconds: number; output: string }> {
  const started = performance.now();
  const counted = cpuFile !== undefined && process.platform !== "win32";
  const [file = "", ...parameters] = counted ? ["sh", "-c", timed, cpuFile, ...command] : command;
  // A group of its own, so that servers and browsers a test left behind end with it.
  const child = spawn(file, parameters, {
    detached: true,
    env: { ...process.env, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  let output = "";
  const timer = setTimeout(() => {
    output += `\nStopped after ${timeoutMs / 60_000} minutes.`;
    killGroup(child);
  }, timeoutMs);
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  return new Promise((resolve) => {
    const end = (ok: boolean): void => {
      clearTimeout(timer);
      children.delete(child);
      const seconds = (performance.now() - started) / 1000;
      resolve({ ok, seconds, cpuSeconds: counted ? readCpu(cpuFile) : 0, output });
    };
    child.on("error", (error) => {
      output += error.message;
      end(false);
    });
    // "exit", not "close": a process left behind may hold the pipes open.
    child.on("exit", (code) => {
      killGroup(child);
      setImmediate(() => end(code === 0));
    });
  });
}

/** Returns the seconds in the second line of times(1), which is about children: "1m2.50s 0m3.25s". */
function readCpu(file: string): number {
  try {
    const [, ofChildren = ""] = readFileSync(file, "utf8").split("\n");
    const parts = [...ofChildren.matchAll(/(\d+)m([\d.]+)s/gu)];
    return parts.reduce((sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest), 0);
  } catch {
    return 0;
  }
}

/** Ends every command that still runs. */
export function killAll(): void {
  for (const child of children) killGroup(child);
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group is already gone.
  }
}
