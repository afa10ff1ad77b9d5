import { setInterval } from "node:timers";

/** What {@link pulse} needs. */
export interface PulseOptions {
  /** Whether anything is waited for. */
  readonly isBusy: () => boolean;
  /** Asks the other side for any sign of life. */
  readonly ask: () => void;
  /** Called when the other side stands still, and when it is heard again. */
  readonly onStill: () => void;
  readonly onBack: () => void;
  /** In ms. @default 1000 */
  readonly beatMs?: number | undefined;
}

/** Whether the other side of a link still answers. */
export interface Pulse {
  /** Something has come from the other side. */
  heard(): void;
  isStill(): boolean;
  stop(): void;
}

const BEAT_MS = 1000;
/** Beats without an answer after which the other side counts as standing still: what it does at once may take a while. */
const BEATS = 10;

/**
 * Tells a side that takes long from one that stands still: only what has no end to wait for, the event loop, is asked.
 * Counts beats of this process instead of time, so that one that stood still itself, or whose clock jumps, blames nobody.
 */
export function pulse({ ask, beatMs = BEAT_MS, isBusy, onBack, onStill }: PulseOptions): Pulse {
  let silent = 0;
  let isStill = false;
  const beat = (): void => {
    if (isStill) return;
    silent = silent > 0 || isBusy() ? silent + 1 : 0;
    if (silent === 1) ask();
    if (silent <= BEATS) return;
    isStill = true;
    onStill();
  };
  const timer = setInterval(beat, beatMs);
  timer.unref();
  return {
    heard() {
      silent = 0;
      if (!isStill) return;
      isStill = false;
      onBack();
    },
    isStill: () => isStill,
    stop() {
      clearInterval(timer);
    },
  };
}
