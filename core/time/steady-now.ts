import type { System } from "../ports.ts";

/**
 * The wall clock as it was when this was made, moved on by the time that has passed (Unix ms, whole): setting the
 * machine's clock does not move it. For windows of time within one instance of an actor.
 */
export function steadyNow(system: Pick<System, "monotonic" | "now">): () => number {
  const origin = system.now() - system.monotonic();
  return () => Math.round(origin + system.monotonic());
}
