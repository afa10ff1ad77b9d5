// `npm run cluster`: a PostgreSQL of its own, three servers on it, and one port in front of them that hands each connection
// to the next one. What it stores ends with it.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { roundRobin } from "./round-robin.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "causey-cluster-"));
const token = crypto.randomUUID();
const children: ChildProcess[] = [];

/** Resolves with the first line that matches; rejects when the process ends before. */
function lineOf(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) return reject(new Error("Its output is not read"));
    createInterface(child.stdout).on("line", (line) => {
      if (pattern.test(line)) resolve(line);
    });
    child.once("exit", (code) => {
      reject(new Error(`A part of the cluster ended with ${code}`));
    });
  });
}

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    // A group of its own: Ctrl-C reaches this process alone, which ends the others in turn.
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  return child;
}

async function startDatabase(): Promise<string> {
  const child = start([join(root, "tests/platform/postgres-server.ts")]);
  const said = JSON.parse(await lineOf(child, /^\{/u)) as { url?: string; lacks?: string };
  if (said.url === undefined) throw new Error(said.lacks ?? "PostgreSQL did not start");
  return said.url;
}

async function startServer(database: string, number: number): Promise<number> {
  const data = join(folder, `server-${number}`);
  const child = start(
    ["adapters/cli/main.ts", "serve", "--port", "0", "--data-dir", data, "--log", "off"],
    { CAUSEY_DATABASE_URL: database, CAUSEY_TOKEN: token },
  );
  const line = await lineOf(child, /http:\/\/127\.0\.0\.1:\d+/u);
  const port = Number(/http:\/\/127\.0\.0\.1:(\d+)/u.exec(line)?.[1]);
  console.log(`Server ${number}   http://127.0.0.1:${port}  process ${child.pid}`);
  child.once("exit", () => {
    ports.delete(port);
    if (!isEnding) console.log(`Server ${number}   has ended: the others go on`);
  });
  ports.add(port);
  return port;
}

const ports = new Set<number>();
let isEnding = false;

const front = roundRobin(() => [...ports]);

async function end(code: number): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  front.close();
  // The servers first, which hand over to each other; then the database.
  for (const child of children.toReversed()) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    if (child === children[0]) child.stdin?.end();
    else child.kill("SIGTERM");
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
  process.exit(code);
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void end(0));
try {
  const database = await startDatabase();
  console.log(`Database   ${database}`);
  await Promise.all([1, 2, 3].map((number) => startServer(database, number)));
  const port = Number(process.env["CAUSEY_PORT"] ?? 8787);
  await new Promise<void>((resolve, reject) => {
    front.once("error", reject).listen(port, "127.0.0.1", resolve);
  });
  const address = front.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  console.log(`All        http://127.0.0.1:${bound}  token ${token}`);
  console.log("Ctrl-C ends them, and removes what they stored");
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  await end(1);
}
