/** How long work may follow work before others get a turn, in ms. */
const SLICE_MS = 5;

/**
 * Has work run right behind what is under way, and every few milliseconds only after others had their turn: a caller
 * that waits for one commit after the other must not keep the event loop to itself.
 */
export function fairTurns(now: () => number): (work: () => void) => void {
  let since = now();
  return (work) => {
    if (now() - since < SLICE_MS) {
      queueMicrotask(work);
      return;
    }
    setTimeout(() => {
      since = now();
      work();
    }, 0);
  };
}
