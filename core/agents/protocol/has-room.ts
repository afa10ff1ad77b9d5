import type { Connection, System } from "../../ports.ts";
import { pauseOrClosing } from "../../time/pause-or-closing.ts";

/** Unsent bytes that a replay leaves in front of the next frame. */
const AHEAD_BYTES = 256 * 1024;
/** The same in frames: half of a connection's budget. */
export const AHEAD_FRAMES = 128;
/** Time after which a client that has made no room is dropped, in ms. */
const STALLED_MS = 30_000;
const STEP_MS = 10;

/**
 * Waits until a connection takes a frame without coming near its budget, so that a long replay does not close a client
 * that reads. Resolves to false when the client has not read for 30 s, or `isWanted` no longer holds.
 */
export async function hasRoom(
  system: System,
  connection: Connection,
  frame: string,
  isWanted: () => boolean,
): Promise<boolean> {
  // A frame beyond the budget passes only when nothing waits before it.
  const ahead = frame.length > AHEAD_BYTES ? 0 : AHEAD_BYTES;
  const started = system.monotonic();
  while (connection.buffered > ahead || connection.queued > AHEAD_FRAMES) {
    if (!isWanted() || system.closing?.aborted === true) return false;
    if (system.monotonic() - started > STALLED_MS) return false;
    await pauseOrClosing(STEP_MS, system);
  }
  return isWanted();
}
