import { constants, fstatSync, openSync, writeSync } from "node:fs";
import process from "node:process";
import type { LineTarget } from "./log-writer.ts";
import { denoGlobal, type DenoStream } from "../work/deno-global.ts";

type Descriptor = 1 | 2;

/** Standard output or error of this process. `onReady` is called when what did not go at once may go now. */
export function standardTarget(descriptor: Descriptor, onReady: () => void): LineTarget {
  const own = openAgain(descriptor);
  return own === null ? streamTarget(descriptor, onReady) : (bytes) => writeSync(own, bytes);
}

/**
 * Opens a descriptor that never waits. Whether it waits belongs to what was opened, and others have that open too: so a
 * pipe, a terminal or a device is opened once more. A file has no reader to wait for, and one position for all who write to
 * it. Null where that cannot be: without /proc, for a socket, with few permissions on Deno.
 */
function openAgain(descriptor: Descriptor): number | null {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  try {
    if (fstatSync(descriptor).isFile()) return descriptor;
    return openSync(`/proc/self/fd/${descriptor}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    return null;
  }
}

/**
 * Writes to the runtime's own stream, one piece at a time: the stream's own buffer is unbounded. A piece counts as written
 * when it has arrived, so that no piece is lost on the way.
 */
function streamTarget(descriptor: Descriptor, onReady: () => void): LineTarget {
  const send = sender(descriptor);
  let state: "idle" | "sending" | "sent" | Error = "idle";
  return (bytes) => {
    if (state === "sending") return 0;
    const before = state;
    state = "idle";
    if (before === "sent") return bytes.length;
    if (before !== "idle") throw before;
    state = "sending";
    send(bytes, (error) => {
      state = error ?? "sent";
      // Bun settles at once what goes at once: not one piece inside of the other.
      queueMicrotask(onReady);
    });
    return 0;
  };
}

type Send = (bytes: Uint8Array, settled: (error?: Error | null) => void) => void;

function sender(descriptor: Descriptor): Send {
  const deno = denoGlobal();
  // Deno's `process.stderr` waits; this stream has a thread that does.
  if (deno !== null) return denoSender(descriptor === 1 ? deno.stdout : deno.stderr);
  const stream = descriptor === 1 ? process.stdout : process.stderr;
  // Each write reports its own error; without a listener the error would end the process.
  stream.on("error", () => undefined);
  return (bytes, settled) => stream.write(bytes, settled);
}

function denoSender(stream: DenoStream): Send {
  const writeAll = async (bytes: Uint8Array): Promise<void> => {
    let rest = bytes;
    while (rest.length > 0) rest = rest.subarray(await stream.write(rest));
  };
  let last: Promise<void> = Promise.resolve();
  return (bytes, settled) => {
    last = last.then(() => writeAll(bytes)).then(() => settled(), settled);
  };
}
