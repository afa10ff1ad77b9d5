import { existsSync, rmSync, statfsSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import type { SpaceReserve } from "./write-state.ts";

/** Bytes that are kept: the log of a large deletion. */
export const RESERVE_BYTES: number = 16 * 1024 * 1024;
/** Bytes that must be left when it is taken. */
const MARGIN = 1024 * 1024;
/** Bytes of one write: longer than what file systems that compress look back. */
const PART = 256 * 1024;

/** Returns the reserve in a file at that path. */
export function spaceReserve(path: string): SpaceReserve {
  const isThere = (): boolean => existsSync(path) && statSync(path).size >= RESERVE_BYTES;
  return {
    release() {
      if (!existsSync(path)) return false;
      rmSync(path, { force: true });
      return true;
    },
    async restore() {
      try {
        if (isThere()) return true;
        const { bavail, bsize } = statfsSync(dirname(path));
        if (bavail * bsize < RESERVE_BYTES + MARGIN) return false;
        await fill(path);
        return true;
      } catch {
        rmSync(path, { force: true });
        return false;
      }
    },
  };
}

async function fill(path: string): Promise<void> {
  const part = new Uint8Array(PART);
  for (let at = 0; at < PART; at += 65_536) crypto.getRandomValues(part.subarray(at, at + 65_536));
  const file = await open(path, "w", 0o600);
  try {
    for (let at = 0; at < RESERVE_BYTES; at += PART) await file.write(part);
    // Some file systems tell of a full disk only then.
    await file.sync();
  } finally {
    await file.close();
  }
}
