import { totalmem } from "node:os";
import process from "node:process";
import { getHeapStatistics } from "node:v8";

/** Returns the default for the memory of request bodies: a quarter of what this process may use. */
export function defaultBodyBytes(): number {
  return Math.floor(memoryLimit() / 4);
}

/**
 * Returns the default for the memory of the processes that read files, beside this one: a quarter of the machine's, 256 MB
 * to 1 GB.
 */
export function defaultFileBytes(): number {
  const group = process.constrainedMemory();
  const there = Math.min(totalmem(), group > 0 ? group : Infinity);
  return Math.min(1024 * MB, Math.max(256 * MB, Math.floor(there / 4)));
}

const MB = 1024 * 1024;

/** Returns the bytes that this process may use: the least of the machine's, its control group's and its engine's heap. */
function memoryLimit(): number {
  // Bun's heap has no limit of its own; what it tells grows with use.
  const heap = process.versions["bun"] === undefined ? getHeapStatistics().heap_size_limit : 0;
  const group = process.constrainedMemory();
  // An unknown limit is 0, or more than any machine has.
  return Math.min(totalmem(), ...[heap, group].filter((bytes) => bytes > 0));
}
