import { setImmediate } from "node:timers";
import type { UpstreamControl } from "./upstream-body.ts";

/** Bytes of all answers that a turn of the event loop may bring; connections with more wait for a later one. */
const TURN_BYTES = 1024 * 1024;

/** Connections that are resumed in one turn: each may bring some 100 kB before it is paused again. */
const RESUMED = 8;

/** Bounds what the answers of a process bring in one turn of the event loop. */
export interface TurnShare {
  /** Counts bytes of an answer; false when its connection is to wait, until `resume` is called in a later turn. */
  take(bytes: number, resume: () => void): boolean;
}

/**
 * Shares the turns of the event loop between connections: libuv reads up to 2 MB of each socket in a turn, so hundreds of
 * fast answers would hold up everything else for seconds.
 */
export function turnShare(): TurnShare {
  let left = TURN_BYTES;
  let isSet = false;
  /** The first connection of a turn. While it is the only one, it is not paused. */
  let first: (() => void) | null = null;
  let isAlone = true;
  let waiting: (() => void)[] = [];
  const next = (): void => {
    left = TURN_BYTES;
    first = null;
    const due = waiting.slice(0, RESUMED);
    isAlone = waiting.length < 2;
    waiting = waiting.slice(RESUMED);
    isSet = waiting.length > 0;
    if (isSet) setImmediate(next);
    for (const resume of due) resume();
  };
  return {
    take(bytes, resume) {
      left -= bytes;
      first ??= resume;
      isAlone &&= first === resume;
      // Most turns bring far less, and need no callback at their end.
      if (!isSet && left < TURN_BYTES / 2) {
        isSet = true;
        setImmediate(next);
      }
      if (left > 0 || isAlone) return true;
      waiting.push(resume);
      return false;
    },
  };
}

/** A connection that pauses for the sake of others, too; `took` counts what it has brought. */
export interface SharedControl extends UpstreamControl {
  took(bytes: number): void;
}

export function sharingTurns(control: UpstreamControl, share: TurnShare): SharedControl {
  let isWanted = true;
  let isHeld = false;
  const release = (): void => {
    isHeld = false;
    if (isWanted) control.resume();
  };
  return {
    pause() {
      isWanted = false;
      control.pause();
    },
    resume() {
      isWanted = true;
      if (!isHeld) control.resume();
    },
    abort: (error) => control.abort(error),
    took(bytes) {
      if (isHeld || share.take(bytes, release)) return;
      isHeld = true;
      control.pause();
    },
  };
}
