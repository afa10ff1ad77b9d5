import type { Writable } from "node:stream";

/** Resolves when more may be written, or nothing any more. */
export function mayWriteOn(to: Writable): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      to.off("drain", go).off("close", go);
      resolve();
    };
    to.on("drain", go).on("close", go);
  });
}
