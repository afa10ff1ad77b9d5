import { cpSync } from "node:fs";
import { join } from "node:path";
import { afterEach, inject } from "vitest";
import { eventually } from "../../cases/eventually.ts";
import { host } from "../../config/shared.ts";
import { exitOf, start, startCommand, type CommandChild } from "../runtimes.ts";

/** What a command said and how it ended. */
export interface Output {
  readonly code: number | string;
  readonly out: string;
  readonly err: string;
}

const started = new Set<CommandChild>();
afterEach(() => {
  for (const child of started) if (child.exitCode === null) child.kill("SIGKILL");
  started.clear();
});

/** Runs the command to its end. */
export async function causey(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  runtime: typeof host = host,
): Promise<Output> {
  const child = startCommand(runtime, args, env);
  started.add(child);
  const text = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (text.out += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (text.err += chunk));
  const closed = new Promise((resolve) => child.once("close", resolve));
  const code = await exitOf(child);
  await closed;
  return { code, ...text };
}

/** Runs all command lines in one process, one after the other: starting one for each takes minutes. */
export async function causeyAll(
  lines: readonly (readonly string[])[],
  env: NodeJS.ProcessEnv = {},
): Promise<Output[]> {
  const child = start(host, "commands-child.ts", [JSON.stringify(lines)], {
    ...process.env,
    CAUSEY_CHROMIUM_PATH: process.execPath,
    ...env,
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const closed = new Promise((resolve) => child.once("close", resolve));
  const code = await exitOf(child);
  if (code !== 0) throw new Error(`The process of the commands ended with ${code}: ${text}`);
  await closed;
  return JSON.parse(text) as Output[];
}

/** A server that runs. */
export interface Server {
  readonly url: string;
  /** What it has said on its standard error so far. */
  err(): string;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a server on a folder, and resolves when it has printed its start lines. */
export async function serve(
  folder: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<Server> {
  const child = startCommand(host, ["serve", "--port", "0", "--data-dir", folder, ...args], env);
  started.add(child);
  const text = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (text.out += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (text.err += chunk));
  const isReady = (): boolean => /^Retired .*\n/mu.test(text.out);
  await eventually(() => isReady() || child.exitCode !== null, "the start lines");
  if (!isReady()) throw new Error(`The server ended: ${text.err}`);
  const port = /http:\/\/[\d.]+:(\d+)/u.exec(text.out)?.[1] ?? "";
  return {
    url: `http://127.0.0.1:${port}`,
    err: () => text.err,
    async stop(signal = "SIGTERM") {
      const ended = exitOf(child);
      if (child.pid !== undefined) process.kill(child.pid, signal);
      await ended;
    },
  };
}

let seeded: Promise<string> | undefined;

/**
 * Makes a data folder in which a server has run, the demo with it. The files of the run share one first start, which
 * takes four times the CPU of a start.
 */
export async function seed(folder: string): Promise<void> {
  seeded ??= (async () => {
    const made = join(inject("scratch"), `seeded-${crypto.randomUUID()}`);
    const server = await serve(made);
    await server.stop();
    return made;
  })();
  cpSync(await seeded, folder, { recursive: true });
}
