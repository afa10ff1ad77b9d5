/**
 * The reason of an abort that ends a timer which nobody waits for any more. Made once: `abort()` without a reason makes such
 * an exception with a stack each time, which costs four times what the timer does.
 */
export const TIMER_OVER: DOMException = new DOMException(
  "The timer is not needed any more",
  "AbortError",
);
