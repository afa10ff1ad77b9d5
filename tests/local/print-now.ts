import { writeSync } from "node:fs";

const wait = new Int32Array(new SharedArrayBuffer(4));

/** Writes a line straight to standard output: it is out before the process can be killed. */
export function printNow(line: string): void {
  const bytes = new TextEncoder().encode(`${line}\n`);
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      // The pipe is full: its reader has a machine to share.
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
      Atomics.wait(wait, 0, 0, 5);
    }
  }
}
