import { spawn, type ChildProcess, type ChildProcessByStdio } from "node:child_process";
import { existsSync } from "node:fs";
import type { Readable } from "node:stream";
import { childFile, commandFile } from "../config/command-file.ts";
import { root } from "../config/shared.ts";
import { waitForChildren } from "../platform/children-work.ts";

waitForChildren();

/** A child process whose output is read. */
export type Child = ChildProcessByStdio<null, Readable, null>;

/** The same with its errors read too. */
export type CommandChild = ChildProcessByStdio<null, Readable, Readable>;

/** How each runtime runs a TypeScript file; a runtime whose binary is not installed is left out of a test. */
const commands = {
  node: [`${root}node_modules/node/bin/node`, "--no-warnings"],
  deno: [`${root}tools/node_modules/deno/deno`, "run", "-A"],
  bun: [`${root}tools/node_modules/bun/bin/bun.exe`],
} as const;

/** A runtime that can be started. */
export type LocalRuntimeName = keyof typeof commands;

/** All of them. */
export const runtimes: LocalRuntimeName[] = ["node", "deno", "bun"];

/** Those of a server whose subject lies above the runtimes; `every-runtime/crash.test.ts` kills a server on each. */
export const runtimesAbove: LocalRuntimeName[] = ["node"];

/** `false`, or why a test with this runtime is skipped. */
export function missing(runtime: LocalRuntimeName): false | string {
  return existsSync(commands[runtime][0]) ? false : `${runtime} is not installed in tools/`;
}

/** Starts a file of `tests/local` in a runtime. */
export function start(
  runtime: LocalRuntimeName,
  file: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Child {
  const [command = "", ...parameters] = fileCommand(runtime, file, args);
  return spawn(command, parameters, { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
}

/** The command that runs a file of `tests/local` with its arguments. */
export function fileCommand(
  runtime: LocalRuntimeName,
  file: string,
  args: readonly string[],
): string[] {
  return [...commands[runtime], `${root}${childFile(file)}`, ...args];
}

/** The command `causey` with its arguments, as a runtime runs it. */
export function commandLine(runtime: LocalRuntimeName, args: readonly string[]): string[] {
  return [...commands[runtime], `${root}${commandFile}`, ...args];
}

/** Starts the command `causey` in a runtime, without a browser; what it says on both streams is read. */
export function startCommand(
  runtime: LocalRuntimeName,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): CommandChild {
  const [command = "", ...rest] = commandLine(runtime, args);
  return spawn(command, rest, {
    cwd: root,
    // Any executable stands in for the browser, which is not used.
    env: { ...process.env, CAUSEY_CHROMIUM_PATH: process.execPath, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Resolves with the first line of output that holds `text`. */
export function lineWith(child: Child | CommandChild, text: string): Promise<string> {
  let output = "";
  return new Promise((resolve, reject) => {
    child.stdout.on("data", (chunk: Uint8Array) => {
      output += new TextDecoder().decode(chunk);
      const line = output.split("\n").find((one) => one.includes(text));
      if (line !== undefined) resolve(line);
    });
    child.once("exit", (code) => {
      reject(new Error(`Ended with ${code} before it printed "${text}": ${output}`));
    });
  });
}

/** Resolves with the exit code, or the signal that ended the child. */
export function exitOf(child: ChildProcess): Promise<number | string> {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => {
      resolve(code ?? signal ?? "");
    });
  });
}
