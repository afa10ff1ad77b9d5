import type { System } from "../ports.ts";

/** Waits so many ms, and no longer once a shutdown has begun: it waits for what is stored behind this. Never rejects. */
export async function pauseOrClosing(
  ms: number,
  system: Pick<System, "sleep" | "closing">,
): Promise<void> {
  await system.sleep(ms, system.closing).catch(() => undefined);
}
