import { type ChildProcess, spawn } from "node:child_process";

/** Ends what hangs. Tests have limits of their own, so no step comes near this on a machine ten times slower. */
const timeoutMs = 60 * 60_000;
const children = new Set<ChildProcess>();

/** Runs one command, keeping its output; a command that hangs is ended with all that it started. */
export function run(
  command: readonly string[],
  env: Record<string, string>,
): Promise<{ ok: boolean; seconds: number; output: string }> {
  const started = performance.now();
  const [file = "", ...parameters] = command;
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
      resolve({ ok, seconds: (performance.now() - started) / 1000, output });
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
