import { setInterval } from "node:timers";

export interface HeartbeatOptions {
  /** Whether anything is waited for. */
  readonly isBusy: () => boolean;
  /** Sends a heartbeat, which the other side answers. */
  readonly ping: () => void;
  /** Called when the other side stops answering, and when it answers again. */
  readonly onUnresponsive: () => void;
  readonly onRecovered: () => void;
  /** In ms. @default 1000 */
  readonly heartbeatMs?: number | undefined;
}

/** Watches whether the other side of a link still answers. */
export interface Heartbeat {
  /** Something has come from the other side. */
  received(): void;
  isUnresponsive(): boolean;
  stop(): void;
}

const HEARTBEAT_MS = 1000;
/** Intervals without an answer after which the other side is unresponsive: one synchronous task of it may take a while. */
const MAX_MISSED = 10;

/**
 * Tells a slow process from an unresponsive one: the event loop answers a heartbeat at once, whatever else runs. It counts
 * intervals of this process instead of time, so that a pause of this process or a jump of its clock is not taken for the
 * other's silence.
 */
export function heartbeat({
  ping,
  heartbeatMs = HEARTBEAT_MS,
  isBusy,
  onRecovered,
  onUnresponsive,
}: HeartbeatOptions): Heartbeat {
  let missed = 0;
  let isUnresponsive = false;
  const beat = (): void => {
    if (isUnresponsive) return;
    missed = missed > 0 || isBusy() ? missed + 1 : 0;
    if (missed === 1) ping();
    if (missed <= MAX_MISSED) return;
    isUnresponsive = true;
    onUnresponsive();
  };
  const timer = setInterval(beat, heartbeatMs);
  timer.unref();
  return {
    received() {
      missed = 0;
      if (!isUnresponsive) return;
      isUnresponsive = false;
      onRecovered();
    },
    isUnresponsive: () => isUnresponsive,
    stop() {
      clearInterval(timer);
    },
  };
}
