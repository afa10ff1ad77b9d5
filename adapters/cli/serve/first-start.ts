import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, writeSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { findChromium } from "../../shared/chromium/chromium-find.ts";
import { unref } from "../../shared/work/unref.ts";
import { READY } from "../context/parent-process.ts";
import type { Prepared } from "./prepare.ts";
import { ownCommandLine } from "./start-children.ts";

/** Tells a process that another one started it for what only the first start does. */
export const FIRST_START = "CAUSEY_FIRST_START";

/** Whether another process started this one for what only the first start does. */
export function isForFirstStart(): boolean {
  const flag = process.env[FIRST_START];
  // Processes that this one starts do not inherit it: they are not children of the first process.
  delete process.env[FIRST_START];
  return flag !== undefined;
}

/** A process that does what only the first start does, and takes with it the memory that this needs. */
export interface FirstStart {
  /** Resolves when it has let go of the data folder; false when it was cut off, which leaves a part of the demo. */
  readonly seeded: Promise<boolean>;
  /** Resolves when it has ended. */
  readonly over: Promise<void>;
}

const nothing: FirstStart = { seeded: Promise.resolve(true), over: Promise.resolve() };

/** How long it may take for the demo, in ms. A slow machine takes ten seconds. */
const PATIENCE_MS = 120_000;

/**
 * Starts a process for the first start on a data folder: it indexes the demo's documents and unpacks the browser, and ends.
 * Both would leave this process with twice the memory that serving takes. If it fails, this process does its work.
 */
export async function firstStart({ config, dataDir, demoSecret }: Prepared): Promise<FirstStart> {
  // A database may have been in use for long: this process adds what it lacks.
  if (config.database !== undefined || existsSync(join(dataDir, "causey.db"))) return nothing;
  const { chromiumPath, endpoint } = config.rendering ?? {};
  const browser = endpoint === undefined ? await findChromium(chromiumPath) : null;
  if (demoSecret === null && browser?.kind !== "packed") return nothing;
  let child: ChildProcess;
  try {
    const [file = "", ...args] = ownCommandLine();
    const env = { ...process.env, [FIRST_START]: "1" };
    child = spawn(file, args, { env, stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return nothing;
  }
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  const late = setTimeout(kill, PATIENCE_MS);
  const seeded = Promise.withResolvers<boolean>();
  const over = Promise.withResolvers<void>();
  const end = (): void => {
    process.off("exit", kill);
    clearTimeout(late);
    seeded.resolve(false);
    over.resolve();
  };
  child.once("error", end);
  child.once("close", end);
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    if (!text.includes(READY)) return;
    clearTimeout(late);
    seeded.resolve(true);
  });
  // From then on it does not keep this process, which may be asked to end.
  void seeded.promise.then(() => {
    child.unref();
    unref(child.stdout);
  });
  return { seeded: seeded.promise, over: over.promise };
}

/** Tells the process that started this one that the data folder is its own. */
export function tellSeeded(): void {
  try {
    writeSync(1, `${READY}\n`);
  } catch {
    // It is gone.
  }
}
