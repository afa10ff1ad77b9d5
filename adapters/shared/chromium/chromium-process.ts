import { spawn, type ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { ApiError } from "../../../core/http/api-error.ts";
import { insteadOfLong, MESSAGE_LIMIT } from "../../../core/rendering/cdp/long-answer.ts";
import { chromiumFlags, type FlagOptions } from "./chromium-flags.ts";
import type { ReadyChromium } from "./chromium-find.ts";
import { killGroup, makeProfile, markProfile, removeProfile } from "./chromium-reaper.ts";

/** A running browser and its one raw DevTools connection (a pipe: no port that others could open). */
export interface ChromiumProcess {
  /** A long message comes in parts, see `Wire`. */
  send(message: string | Iterable<string>): void;
  onMessage(listener: (message: string) => void): void;
  /** Called once, when the browser is gone. */
  onExit(listener: (reason: string) => void): void;
  /** Kills the browser and removes its profile. */
  kill(): Promise<void>;
}

/** Starts a browser with a fresh profile below `runDir`. */
export async function startChromium(
  ready: ReadyChromium,
  runDir: string,
  flags: Omit<FlagOptions, "profile">,
): Promise<ChromiumProcess> {
  const profile = await makeProfile(runDir);
  const child = spawn(ready.path, chromiumFlags({ ...flags, profile }), {
    stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
    // Its own group, so that all its processes can be ended together, and not by the terminal's Ctrl-C.
    detached: true,
    // Not this process's environment: that may hold keys.
    env: { ...safeEnvironment(profile), ...ready.env },
  });
  // Before all else: an "error" event without a listener ends this process.
  const failed = new Promise<Error>((resolve) => child.once("error", resolve));
  try {
    const pipes = pipesOf(child) ?? (await refusal(failed));
    const browser = wrap(child, pipes, profile);
    if (child.pid !== undefined) await markProfile(profile, child.pid);
    return browser;
  } catch (error) {
    if (child.pid !== undefined) killGroup(child.pid);
    await removeProfile(profile);
    throw error;
  }
}

function safeEnvironment(profile: string): Record<string, string> {
  const kept: Record<string, string> = {
    HOME: profile,
    TMPDIR: profile,
    XDG_CONFIG_HOME: profile,
    XDG_CACHE_HOME: profile,
  };
  for (const name of ["PATH", "LANG", "LC_ALL", "TZ"]) {
    const value = process.env[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

interface Pipes {
  readonly input: Writable;
  readonly output: Readable;
}

/**
 * Returns the two ends of the connection, or null when the system did not start the program: Node then leaves out the list.
 */
function pipesOf(child: Partial<ChildProcess>): Pipes | null {
  const input = child.stdio?.[3] as Writable | null | undefined;
  const output = child.stdio?.[4] as Readable | null | undefined;
  return input == null || output == null ? null : { input, output };
}

/** Throws the reason why there are no pipes. The runtime reports it in the same turn of the event loop, or never. */
async function refusal(failed: Promise<Error>): Promise<never> {
  const error = await Promise.race([failed, setImmediate(null)]);
  const reason = error === null ? "this runtime opened no pipe to it" : error.message;
  throw new ApiError("no_browser", { message: `The browser did not start: ${reason}` });
}

function wrap(child: ChildProcess, { input, output }: Pipes, profile: string): ChromiumProcess {
  let gone: string | null = null;
  let complaint = "";
  const messages = new Set<(message: string) => void>();
  const exits = new Set<(reason: string) => void>();
  const end = (reason: string): void => {
    if (gone !== null) return;
    gone = reason;
    process.off("exit", killNow);
    if (child.pid !== undefined) killGroup(child.pid);
    for (const listener of exits) listener(reason);
  };
  const killNow = (): void => {
    if (child.pid !== undefined) killGroup(child.pid);
  };
  process.on("exit", killNow);
  child.stderr?.on("data", (chunk: Buffer) => {
    complaint = (complaint + chunk.toString("latin1")).slice(-2000);
  });
  child.on("error", (error) => end(`The browser did not start: ${error.message}`));
  child.on("exit", (code) => end(exitReason(code, complaint)));
  input.on("error", () => end("The pipe to the browser broke"));
  output.on("error", () => end("The pipe from the browser broke"));
  output.on("close", () => end(exitReason(null, complaint)));
  const write = messageWriter(input, () => gone !== null);
  splitMessages(output, (message) => {
    for (const listener of messages) listener(message);
  });
  return {
    send: (message) => {
      if (gone === null) write(message);
    },
    onMessage: (listener) => messages.add(listener),
    onExit: (listener) => {
      if (gone === null) exits.add(listener);
      else listener(gone);
    },
    kill: async () => {
      end("The browser was closed");
      await removeProfile(profile);
    },
  };
}

function exitReason(code: number | null, complaint: string): string {
  if (complaint.includes("No usable sandbox") || complaint.includes("without --no-sandbox")) {
    return "The browser has no usable sandbox here: allow user namespaces, or set rendering.noSandbox";
  }
  const missing = /error while loading shared libraries: [^\n]{1,200}/u.exec(complaint);
  if (missing !== null) return `The browser did not start: ${missing[0]}`;
  return code === null ? "The browser is gone" : `The browser exited with code ${code}`;
}

/** Characters of a message by which one that is too long is known. */
const HEAD = 256;

/**
 * Splits the pipe's bytes at their zero bytes; a message may come in many chunks, each of which is decoded as it comes. Of one
 * that is too long only the head is kept.
 */
export function splitMessages(output: Readable, deliver: (message: string) => void): void {
  let decoder = new TextDecoder();
  let parts: string[] = [];
  let size = 0;
  const take = (bytes: Buffer, isLast: boolean): void => {
    if (isLast && size === 0) return deliver(bytes.toString("utf8"));
    size += bytes.length;
    if (size <= MESSAGE_LIMIT) parts.push(decoder.decode(bytes, { stream: !isLast }));
    else if (parts.length > 0) parts = [parts.join("").slice(0, HEAD)];
    if (!isLast) return;
    const text = parts.join("");
    const message = size <= MESSAGE_LIMIT ? text : insteadOfLong(text, size);
    if (size > MESSAGE_LIMIT) decoder = new TextDecoder();
    parts = [];
    size = 0;
    if (message !== null) deliver(message);
  };
  output.on("data", (chunk: Buffer) => {
    let from = 0;
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, from)) {
      take(chunk.subarray(from, end), true);
      from = end + 1;
    }
    if (from < chunk.length) take(chunk.subarray(from), false);
  });
}

/** Writes one message, or its parts. */
type WriteMessage = (message: string | Iterable<string>) => void;

/**
 * Writes messages to a browser's pipe in their order, each with a zero byte behind it. Of a long one the next part is
 * made when the one before has left, in a turn of the event loop of its own.
 */
export function messageWriter(pipe: Writable, isGone: () => boolean): WriteMessage {
  const waiting: (string | Iterable<string>)[] = [];
  let isBusy = false;
  const work = async (): Promise<void> => {
    isBusy = true;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (typeof next === "string") pipe.write(`${next}\0`);
      else {
        let isBegun = false;
        for (const part of next) {
          isBegun = true;
          await written(pipe, part);
          await setImmediate();
          if (isGone()) return;
        }
        // A command that was cancelled before its turn has no parts.
        if (isBegun) pipe.write("\0");
      }
    }
    isBusy = false;
  };
  return (message) => {
    if (typeof message === "string" && !isBusy) return void pipe.write(`${message}\0`);
    waiting.push(message);
    if (!isBusy) void work();
  };
}

function written(pipe: Writable, part: string): Promise<void> {
  return new Promise((resolve) => {
    // A pipe that breaks tells it to everybody by "error".
    pipe.write(part, () => resolve());
  });
}
