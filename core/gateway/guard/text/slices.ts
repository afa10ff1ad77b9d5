/** Work that stops now and then, so that it can let other requests go on: at most a few milliseconds lie between two stops. */
export type Slices<T> = Generator<void, T, void>;

/** Lets other requests go on. */
export type Pause = () => Promise<void>;

/** Characters that are worked on between two stops. */
export const SLICE: number = 64 * 1024;

/** Does work with a pause at each of its stops; what has none is done at once. */
export async function inSlices<T>(work: Slices<T>, pause: Pause | undefined): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    if (pause !== undefined) await pause();
  }
}

/** Does work without a pause. */
export function atOnce<T>(work: Slices<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}
