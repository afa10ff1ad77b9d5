import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandFile } from "../config/command-file.ts";
import { patience } from "../cases/eventually.ts";
import { waitForChildren } from "../platform/children-work.ts";
import { newDatabase } from "../platform/postgres-databases.ts";
import { lendBrowser } from "../platform/shared-browser.ts";

/** The runtimes that a server under test can run on. */
export type TargetName = "node" | "deno" | "bun" | "workers";

/** What a server under test is started with. */
export interface TargetOptions {
  /** @default what the environment variable TARGET names, else "node" */
  readonly target?: TargetName;
  /** @default a fresh folder, removed by `stop()`. Give one to restart on the same data. */
  readonly dataDir?: string;
  /** Further command-line arguments. @default [] */
  readonly args?: readonly string[];
  /** The command that starts it. @default that of its runtime */
  readonly command?: readonly string[];
  /** What the command is run by, such as `["nice"]`. @default nothing */
  readonly runBy?: readonly string[];
  /** Whether the first start makes the demo, which takes another process and four times the CPU of a start. @default false */
  readonly demo?: boolean;
  /** Further environment variables. @default {} */
  readonly env?: Readonly<Record<string, string>>;
}

/** A running server under test. */
export interface Target {
  /** Its address, without a slash at the end. */
  readonly url: string;
  readonly dataDir: string;
  readonly child: ChildProcess;
  /** All that it has printed so far. */
  output(): string;
  /** Asks it to stop (SIGTERM), waits until it has, and returns its exit code. */
  stop(): Promise<number | null>;
  /** Ends it at once (SIGKILL), as a crash would. */
  kill(): Promise<void>;
}

waitForChildren();

const root = fileURLToPath(new URL("../..", import.meta.url));

const commands: Record<TargetName, readonly string[]> = {
  node: [process.execPath, commandFile, "serve"],
  deno: ["tools/node_modules/deno/deno", "run", "-A", commandFile, "serve"],
  bun: ["tools/node_modules/bun/bin/bun.exe", commandFile, "serve"],
  workers: [process.execPath, "scripts/serve-workers.mjs"],
};

/**
 * The end of a TARGET whose servers have their state in PostgreSQL: "node-postgres", and "node-cluster", whose shared server
 * is three, one of each local runtime.
 */
const ON_POSTGRES = /-(?:postgres|cluster)$/u;

/** Tells where PostgreSQL is started; set by `start-target.ts`, for the threads of the tests too. */
export const POSTGRES_STARTER = "CAUSEY_TEST_POSTGRES";

/** Whether this run is about servers on PostgreSQL. */
export function isOnPostgres(): boolean {
  return ON_POSTGRES.test(process.env["TARGET"] ?? "");
}

/** Whether the server that the files of this run share is three of them. */
export function isCluster(): boolean {
  return process.env["TARGET"]?.endsWith("-cluster") === true;
}

/** The database of each data folder, so that a server that starts again finds its state. */
const databases = new Map<string, Promise<string>>();

/** The settings by which a server finds the state of a data folder. */
export async function databaseOf(dataDir: string): Promise<Readonly<Record<string, string>>> {
  const starter = process.env[POSTGRES_STARTER];
  if (!isOnPostgres() || starter === undefined) return {};
  const database = databases.get(dataDir) ?? newDatabase(starter);
  databases.set(dataDir, database);
  return { CAUSEY_DATABASE_URL: await database };
}

/** The runtime that this run of the black-box tests is about. */
export function targetName(): TargetName {
  const name = (process.env["TARGET"] ?? "node").replace(ON_POSTGRES, "");
  if (!(name in commands)) throw new Error(`Unknown TARGET "${name}"`);
  return name as TargetName;
}

/** The command that starts the product on a runtime, without its arguments. */
export function commandOf(target: TargetName): readonly string[] {
  return commands[target];
}

/**
 * For servers that render nothing: any executable stands in for the browser, which spares each of them the
 * seconds that unpacking the one from npm takes.
 */
export const noBrowser: Readonly<Record<string, string>> = {
  CAUSEY_CHROMIUM_PATH: process.execPath,
};

/** Starts the product on a free port and resolves once it has printed its address. */
export async function startTarget(options: TargetOptions = {}): Promise<Target> {
  const { target = targetName(), args = [], demo = false, env = {}, runBy = [] } = options;
  const demoEnv = demo ? {} : { CAUSEY_NO_DEMO: "1" };
  const dataDir = options.dataDir ?? (await freshDataDir());
  const [file = "", ...fixed] = [...runBy, ...(options.command ?? commandOf(target))];
  const child = spawn(file, [...fixed, "--port", "0", "--data-dir", dataDir, ...args], {
    cwd: root,
    env: {
      ...outerEnvironment(),
      NO_COLOR: "1",
      ...demoEnv,
      ...(await databaseOf(dataDir)),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    // A server that never drains fails the test by its exit code; it must not hang the run.
    const goesOn = patience();
    const timer = setInterval(() => goesOn() || child.kill("SIGKILL"), 1000);
    await exited;
    clearInterval(timer);
    return child.exitCode;
  };
  try {
    const url = await address(child, () => output);
    return {
      url,
      dataDir,
      child,
      output: () => output,
      async stop() {
        const code = await end("SIGTERM");
        if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
        return code;
      },
      async kill() {
        await end("SIGKILL");
      },
    };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

/** A data folder that has the browser unpacked; on a folder of the test's own a server unpacks it itself. */
async function freshDataDir(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), "causey-target-"));
  await lendBrowser(dataDir);
  return dataDir;
}

/** This process's environment without the settings of a developer's own server. */
function outerEnvironment(): Record<string, string | undefined> {
  const own = /^CAUSEY_(?!CHROMIUM_PATH$)/u;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
}

/** The first address of this machine that the server prints; it may be inside a line of JSON. */
async function address(child: ChildProcess, output: () => string): Promise<string> {
  const goesOn = patience();
  while (goesOn()) {
    const found = /https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d+(?=[^\d])/u.exec(output());
    if (found !== null) return found[0];
    if (child.exitCode !== null || child.signalCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`The server did not say where it listens. It printed:\n${output()}`);
}
