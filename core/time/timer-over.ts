/**
 * The reason of an abort that ends a timer whose result is no longer needed. Made once: `abort()` without a reason
 * makes such an exception with a stack each time, which costs four times as much as the timer.
 */
export const TIMER_OVER: DOMException = new DOMException(
  "The timer is not needed any more",
  "AbortError",
);
