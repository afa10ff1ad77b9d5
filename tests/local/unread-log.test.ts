import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { createReadStream, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterEach, describe, expect, inject } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { itUnless } from "../config/it-unless.ts";
import { host, root } from "../config/shared.ts";
import { exitOf, fileCommand } from "./runtimes.ts";

/** More than a pipe and the process hold together. */
const LINES = 6000;

interface Line {
  readonly message: string;
  readonly at?: number;
  readonly lines?: number;
  readonly reason?: string;
}

const folder = inject("scratch");
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** Starts the child with a shell that says where standard error goes. */
function startWith(redirection: string) {
  const command = fileCommand(host, "log-child.ts", [String(LINES)]);
  const child = spawn("sh", ["-c", `${redirection}; exec "$@"`, "sh", ...command], {
    cwd: root,
    stdio: ["pipe", "pipe", "pipe"],
  });
  children.push(child);
  return child;
}

/** What the child says once all its lines are written or dropped: it did not wait for a reader. */
async function dropped({ stdout }: { readonly stdout: Readable }): Promise<number> {
  let text = "";
  stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  await eventually(() => text.includes("\n"), "the child has written its lines");
  return (JSON.parse(text) as { dropped: number }).dropped;
}

/** Reads until the line that tells of dropped ones. */
async function untilTold(stream: Readable): Promise<Line[]> {
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  await eventually(() => /lines were dropped.*\n/u.test(text), "the dropped lines are told");
  const whole = text.slice(0, text.lastIndexOf("\n"));
  return whole.split("\n").map((line) => JSON.parse(line) as Line);
}

/** All that came is in order, and what is missing is told where it is missing. */
function expectComplete(lines: readonly Line[], count: number): void {
  const told = lines.at(-1);
  expect(told).toMatchObject({
    message: `${count} log lines were dropped`,
    lines: count,
    reason: "the reader of the log is too slow",
  });
  const kept = lines.slice(0, -1).map(({ at }) => at);
  expect(kept).toEqual(Array.from({ length: LINES - count }, (_, at) => at));
}

const isWindows = process.platform === "win32";
const onUnix = itUnless(isWindows ? "Windows has no such pipes and devices" : undefined);
const onLinux = itUnless(
  process.platform === "linux" && spawnSync("mkfifo", ["--version"]).status === 0
    ? undefined
    : "Linux has /dev/full, and pipes that can be opened once more",
);

describe(`the log of a program on ${host}`, () => {
  onLinux("waits for no reader of a pipe, and tells of what it dropped", async () => {
    const pipe = join(folder, `pipe-${crypto.randomUUID()}`);
    // The child holds the reading end itself, and never reads.
    const child = startWith(`mkfifo '${pipe}'; exec 3<>'${pipe}' 2>'${pipe}'`);
    const count = await dropped(child);
    expect(count).toBeGreaterThan(0);
    expectComplete(await untilTold(createReadStream(pipe)), count);
    child.stdin.end();
    expect(await exitOf(child)).toBe(0);
  });

  onUnix("waits for no reader of a socket, and tells of what it dropped", async () => {
    // Node makes a child's standard streams sockets.
    const child = startWith(":");
    const count = await dropped(child);
    expect(count).toBeGreaterThan(0);
    expectComplete(await untilTold(child.stderr), count);
    child.stdin.end();
    expect(await exitOf(child)).toBe(0);
  });

  onUnix("ends although its reader never reads", async () => {
    const child = startWith(":");
    expect(await dropped(child)).toBeGreaterThan(0);
    child.stdin.end();
    expect(await exitOf(child)).toBe(0);
  });

  onLinux("goes on although the disk that holds it is full", async () => {
    const child = startWith("exec 2>/dev/full");
    expect(await dropped(child)).toBeGreaterThan(0);
    child.stdin.end();
    expect(await exitOf(child)).toBe(0);
  });

  onUnix("goes on although its reader is gone", async () => {
    const child = startWith(":");
    child.stderr.destroy();
    expect(await dropped(child)).toBeGreaterThan(0);
    child.stdin.end();
    expect(await exitOf(child)).toBe(0);
  });

  onUnix("writes all lines to a file, behind what others write there", async () => {
    const file = join(folder, `file-${crypto.randomUUID()}`);
    const child = startWith(`exec 2>'${file}'; echo '{"message":"before"}' >&2`);
    expect(await dropped(child)).toBe(0);
    child.stdin.end();
    expect(await exitOf(child)).toBe(0);
    const text = readFileSync(file, "utf8").trimEnd();
    const lines = text.split("\n").map((line) => JSON.parse(line) as Line);
    expect(lines.map(({ at }) => at)).toEqual([
      undefined,
      ...Array.from({ length: LINES }, (_, at) => at),
    ]);
  });
});
