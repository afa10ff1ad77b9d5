import { totalmem } from "node:os";
import process from "node:process";
import { getHeapStatistics } from "node:v8";

/** What request bodies may take by default: a quarter of what this process may use. */
export function defaultBodyBytes(): number {
  return Math.floor(memoryLimit() / 4);
}

/** Bytes that this process may use: of the machine, of its control group, and of its engine's heap the least. */
function memoryLimit(): number {
  // Bun's heap has no limit of its own; what it tells grows with use.
  const heap = process.versions["bun"] === undefined ? getHeapStatistics().heap_size_limit : 0;
  const group = process.constrainedMemory();
  // What is unknown is 0, or more than any machine has.
  return Math.min(totalmem(), ...[heap, group].filter((bytes) => bytes > 0));
}
