import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { availableParallelism } from "node:os";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../../core/ports.ts";
import { listenError } from "../../shared/http/drain.ts";
import { READY, SHARED_PORT } from "../context/parent-process.ts";

/** The options with which the first process starts the others. */
export interface ChildrenOptions {
  /** See `ownCommandLine()`. */
  readonly command: readonly string[];
  readonly count: number;
  /** The port that all listen on. */
  readonly port: number;
  /** How long a child may take to end once it is asked to, in ms. */
  readonly patienceMs: number;
  readonly log: Log;
}

/** The other processes of a server. */
export interface Children {
  /** Resolves when all listen; rejects with one line when one of them does not. Pending if the end comes first. */
  readonly listening: Promise<void>;
  /** Asks all to drain and end. */
  end(): void;
  /** Resolves when all have ended. */
  close(): Promise<void>;
}

interface State {
  readonly options: ChildrenOptions;
  readonly living: Set<ChildProcess>;
  readonly over: AbortController;
  /** A promise for each child, settled when the child will not be replaced. */
  readonly slots: Promise<void>[];
  /** When the next replacement may start, as a time of `performance.now()`: the clock may jump. */
  nextStart: number;
}

/** Least ms between the starts of replacements: the cause that ended one child may end the next at once. */
const PAUSE_MS = 1000;
/**
 * A signal to the whole process group may reach a child first, which then ends. Before it replaces that child, this process
 * waits for its own signal for this many ms.
 */
const SIGNAL_MS = 1000;
/** How a child ends that has drained. */
const CLEAN = "code 0";
/** Characters kept of a child's output. */
const SAID = 2000;

/**
 * Starts further processes with the command line of this one. One that ends is replaced. They end with this process:
 * the pipe that is their standard input closes, and a signal to the whole group reaches them too.
 */
export function startChildren(options: ChildrenOptions): Children {
  const over = new AbortController();
  const state: State = {
    options,
    living: new Set(),
    over,
    slots: [],
    nextStart: 0,
  };
  const end = (): void => {
    over.abort();
    for (const { stdin } of state.living) stdin?.end();
  };
  const kill = (): void => {
    for (const child of state.living) child.kill("SIGKILL");
  };
  // Without the end asked for this process crashes, and they have the time to save what they hold.
  process.once("exit", () => {
    if (over.signal.aborted) kill();
  });
  return {
    listening: startAll(state),
    end,
    async close() {
      end();
      const late = setTimeout(kill, options.patienceMs);
      await Promise.all(state.slots);
      clearTimeout(late);
    },
  };
}

/** Not all at once: a child that has to wait long for its share of the processors could take the first one for dead. */
async function startAll(state: State): Promise<void> {
  const atOnce = availableParallelism();
  for (let left = state.options.count; left > 0; left -= atOnce) {
    const batch = Array.from({ length: Math.min(left, atOnce) }, () => {
      const first = Promise.withResolvers<void>();
      state.slots.push(keepRunning(state, first));
      return first.promise;
    });
    await Promise.all(batch);
  }
}

/** Starts a child, and another one whenever it has ended. `first` tells of the first one. */
async function keepRunning(state: State, first: PromiseWithResolvers<void>): Promise<void> {
  const { log } = state.options;
  const { signal } = state.over;
  let isProven = false;
  while (!signal.aborted) {
    const { pid, how, why } = await run(state, () => {
      isProven = true;
      first.resolve();
    });
    if (isProven && how === CLEAN)
      await pause(SIGNAL_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) {
      if (isProven && how !== CLEAN)
        log("warn", "A process of this server has not ended as it should", { pid, reason: how });
      return;
    }
    if (!isProven)
      return first.reject(
        new Error(why ?? `A further process ended with ${how} before it listened`),
      );
    log("warn", "A process of this server has ended and is replaced", { pid, reason: why ?? how });
    await turnToStart(state);
  }
}

interface Ended {
  readonly pid: number;
  /** A signal or an exit code. */
  readonly how: string;
  /** The child's own message, in one line. */
  readonly why: string | undefined;
}

/** Runs a child; resolves when it has ended, or could not be started. */
function run(state: State, onReady: () => void): Promise<Ended> {
  return new Promise((resolve) => {
    let child: ChildProcess;
    try {
      child = spawnChild(state);
    } catch (error) {
      // Such as no memory.
      resolve({ pid: 0, how: String(error), why: undefined });
      return;
    }
    let output = "";
    const ended = (how: string): void => {
      state.living.delete(child);
      const said = output.trim();
      const why = said === "" || said === READY ? undefined : said;
      resolve({ pid: child.pid ?? 0, how, why });
    };
    child.once("error", (error) => {
      ended(error.message);
    });
    child.once("close", (code, signal) => {
      ended(signal ?? `code ${code}`);
    });
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      if (output.trim() === READY) return;
      output = (output + text).slice(0, SAID);
      if (output.trim() === READY) onReady();
    });
  });
}

function spawnChild({ living, options }: State): ChildProcess {
  const [file = "", ...args] = options.command;
  const env = { ...process.env, [SHARED_PORT]: String(options.port) };
  const child: ChildProcess = spawn(file, args, { env, stdio: ["pipe", "pipe", "inherit"] });
  living.add(child);
  // It may be gone when it is asked to end.
  child.stdin?.on("error", () => undefined);
  return child;
}

async function turnToStart(state: State): Promise<void> {
  const now = performance.now();
  const start = Math.max(now, state.nextStart);
  state.nextStart = start + PAUSE_MS;
  await pause(start - now, undefined, { signal: state.over.signal }).catch(() => undefined);
}

/**
 * Rejects with one line when a port is already in use. Opening a port for sharing would join any process that shares it
 * already, even another server of the same user: each would then get some of the other's connections.
 */
export function checkPort(port: number, hostname: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error) => {
      reject(listenError(error, hostname, port));
    });
    probe.listen({ port, host: hostname }, () => {
      probe.close(() => resolve());
    });
  });
}

/**
 * Returns the command line of this process as the system knows it, to start further ones with: with the runtime's own
 * options, and however this file was named there. Throws one line where that may not be read: on Deno it takes all
 * permissions.
 */
export function ownCommandLine(): readonly string[] {
  try {
    const [, ...args] = readFileSync("/proc/self/cmdline", "utf8").split("\0").slice(0, -1);
    return [process.execPath, ...args];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `--processes: this process may not start others like itself (${reason}): on Deno, start with \`deno run -A --unstable-net …\``,
      { cause: error },
    );
  }
}
