/** Work that stops now and then, so that it can let other requests go on: at most a few milliseconds lie between two stops. */
export type Slices<T> = Generator<void, T, void>;

/** Lets other requests go on. */
export type SlicePause = () => Promise<void>;

/** Work between two stops, in characters that are read. */
export const SLICE: number = 64 * 1024;

/** The weight of a value, a line or an event beside its characters, in the same measure. */
export const STEP = 16;

/** Counts work, so that a slice ends by what was done and not by how much text that was. One is shared by all who work on a body. */
export interface WorkMeter {
  done: number;
}

export function workMeter(): WorkMeter {
  return { done: 0 };
}

/** Counts work. Whether it is time to stop. */
export function isDue(counted: WorkMeter, work: number): boolean {
  counted.done += work;
  if (counted.done < SLICE) return false;
  counted.done = 0;
  return true;
}

/** Does work with a pause at each of its stops; without a `pause` it is done at once. */
export async function inSlices<T>(work: Slices<T>, pause: SlicePause | undefined): Promise<T> {
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
