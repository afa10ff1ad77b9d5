import { writeSync } from "node:fs";
import process from "node:process";

/** Tells a process that another one started it to share its port, and which that is. */
export const SHARED_PORT = "CAUSEY_SHARED_PORT";
/** The line on standard output that says that a child listens. Any other says why it does not. */
export const READY = "ready";

/** The process that started this one to share its port. */
export interface ParentProcess {
  readonly port: number;
  /** Resolves when the parent wants the end, or is gone, however it ended: its end of standard input closes. */
  readonly over: Promise<void>;
  /** Tells it that this process listens. */
  ready(): void;
  /** Tells it in one line why this process does not. */
  failed(error: unknown): void;
}

/** Returns the parent of this process, or null when this is the first one. */
export function parentProcess(): ParentProcess | null {
  const port = Number(process.env[SHARED_PORT] ?? 0);
  if (!(port > 0)) return null;
  // Processes that this one starts do not inherit it: they are not children of the first process.
  delete process.env[SHARED_PORT];
  return {
    port,
    over: new Promise((resolve) => {
      for (const event of ["end", "close", "error"]) process.stdin.once(event, () => resolve());
      process.stdin.resume();
    }),
    ready() {
      tell(READY);
    },
    failed(error) {
      const text = error instanceof Error ? error.message : String(error);
      tell(text.replaceAll(/\s+/gu, " "));
    },
  };
}

function tell(line: string): void {
  try {
    writeSync(1, `${line}\n`);
  } catch {
    // It is gone, which `over` tells.
  }
}
