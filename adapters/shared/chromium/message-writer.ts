import type { Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";

/** Writes one message, or its parts. */
export type WriteMessage = (message: string | Iterable<string>) => void;

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
        // One that nobody wants any more by the time of its turn has no parts.
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
