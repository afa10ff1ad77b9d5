import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { basename } from "node:path";
import process from "node:process";
import { fileURLToPath, URL } from "node:url";
import { frameOf, frameReader } from "./frames.ts";
import type { Isolate } from "./isolate.ts";
import type { ProcessAnswer } from "./messages.ts";

/** Memory of a process that runs tasks. */
export interface ProcessLimits {
  /** Bytes that it may have in memory, code included. */
  readonly bytes: number;
}

/** Bytes of one answer. */
const ANSWER = 128 * 1024 * 1024;
const entry = new URL(
  import.meta.url.endsWith(".ts") ? "task-process.ts" : "task-process.js",
  import.meta.url,
);

/** The variables that the runtimes themselves read: nothing else of the environment reaches what reads foreign files. */
const PASSED = ["PATH", "HOME", "DENO_DIR", "TMPDIR", "TEMP", "SYSTEMROOT", "USERPROFILE"];

/**
 * Says why no process can be started here; true when one can. Executables that hold their program would start it once more.
 */
export function processesAvailable(): true | string {
  if (!/^(?:node|nodejs|deno|bun)[\d.-]*(?:\.exe)?$/iu.test(basename(process.execPath)))
    return `"${basename(process.execPath)}" holds its program: it starts no process that reads files`;
  if (entry.protocol === "file:" && existsSync(entry)) return true;
  return `"${entry.href}" is not a file that a process could be started with`;
}

/**
 * Starts a process of the same runtime that runs tasks and ends itself at its limit of memory. A thread would not do:
 * limits of its heap do not count bytes, and Bun ignores them.
 */
export async function startProcess(
  signal: AbortSignal,
  { bytes }: ProcessLimits,
): Promise<Isolate> {
  const available = processesAvailable();
  if (available !== true) throw new Error(available);
  const child = spawn(process.execPath, [...flags(), fileURLToPath(entry), String(bytes)], {
    stdio: ["pipe", "pipe", "ignore"],
    env: Object.fromEntries(
      PASSED.flatMap((name) => {
        const value = process.env[name];
        return value === undefined ? [] : [[name, value]];
      }),
    ),
    windowsHide: true,
  });
  let isSpent = false;
  const channel = openChannel(child);
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const end = async (): Promise<void> => {
    // A program may have nothing left to do but to wait for this.
    channel.hold(true);
    child.kill("SIGKILL");
    await ended;
  };
  try {
    await channel.answer(signal);
  } catch (error) {
    await end();
    throw error;
  }
  return {
    run(message, inner) {
      for (const part of frameOf(message, "input")) child.stdin?.write(part);
      return channel.answer(inner).then(
        ({ isLast = false, ...outcome }) => {
          isSpent = isLast;
          return outcome;
        },
        (error: unknown) => {
          inner.throwIfAborted();
          isSpent = true;
          // The machine ends processes, too.
          return {
            overran: `what read it ended (${error instanceof Error ? error.message : "?"})`,
          };
        },
      );
    },
    end,
    isSpent: () => isSpent,
    hold: (isHeld) => channel.hold(isHeld),
    ended,
  };
}

/** Returns the options of the runtime: on Deno the process may read files, and reach nothing else. */
function flags(): string[] {
  if (process.versions["deno"] === undefined) return [];
  return ["run", "--quiet", "--no-prompt", "--allow-read", "--allow-env", "--allow-sys"];
}

interface Channel {
  /** The next value; rejects when the process ends, and on abort. */
  answer(signal: AbortSignal): Promise<ProcessAnswer>;
  hold(isHeld: boolean): void;
}

/** Reads the answers of a process. */
function openChannel(child: ChildProcess): Channel {
  const read = frameReader("output", ANSWER);
  let settle: { answered(value: unknown): void; failed(error: unknown): void } | null = null;
  child.stdout?.on("data", (chunk: Uint8Array) => {
    try {
      const value = read(chunk);
      if (value !== null) settle?.answered(value);
    } catch (error) {
      settle?.failed(error);
    }
  });
  // A process that has ended takes no more input; the exit event reports its end.
  child.stdin?.on("error", () => undefined);
  child.on("error", (error) => settle?.failed(error));
  // Its last output is read before "close" fires.
  child.on("close", (code, by) => settle?.failed(new Error(by ?? `exit ${code}`)));
  return {
    answer: (signal) =>
      new Promise((resolve, reject) => {
        const aborted = (): void => settle?.failed(signal.reason);
        const over = (): void => {
          settle = null;
          signal.removeEventListener("abort", aborted);
        };
        settle = {
          answered(value) {
            over();
            // The process of the same version wrote it.
            resolve(value as ProcessAnswer);
          },
          failed(error) {
            over();
            reject(error);
          },
        };
        signal.addEventListener("abort", aborted, { once: true });
        if (signal.aborted) aborted();
      }),
    hold(isHeld) {
      const change = isHeld ? "ref" : "unref";
      child[change]();
      for (const stream of [child.stdin, child.stdout]) if (isHandle(stream)) stream[change]();
    },
  };
}

/** The members of a process's pipes that streams lack. */
interface Handle {
  ref(): void;
  unref(): void;
}

function isHandle(stream: object | null): stream is Handle {
  return stream !== null && "ref" in stream && "unref" in stream;
}
