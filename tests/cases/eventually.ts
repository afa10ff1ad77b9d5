/** How long a wait lasts without progress, in ms. Below every test's own limit, so that what never came true is named. */
export const PATIENCE_MS = 50_000;

/** For the few tests that start several servers one after the other, or send thousands of requests. */
export const LONG: { readonly timeout: number } = { timeout: 10 * 60_000 };

/** How often progress is looked at, in ms. */
const LOOK_MS = 1000;
/** The part of one core that processes at work get on the busiest machine, and idle ones never take. */
const AT_WORK = 0.05;

let workOfOthers = (): number => 0;

/** Has every wait ask for the CPU time, in ms, that what is waited for has used so far. @default nothing is known of it */
export function watchWork(read: () => number): void {
  workOfOthers = read;
}

/**
 * Begins a wait; the result says whether it goes on. Only time in which the processes that the test has started do not
 * work counts: on a machine that others use they need several times as long, and what hangs does not work.
 */
export function patience(ms: number = PATIENCE_MS): () => boolean {
  let left = ms;
  let lookedAt = Date.now();
  let before = workOfOthers();
  return () => {
    const passed = Date.now() - lookedAt;
    if (passed < LOOK_MS) return true;
    const work = workOfOthers();
    if (work - before < AT_WORK * passed) left -= passed;
    lookedAt += passed;
    before = work;
    return left > 0;
  };
}

/** Waits until the check holds, as long as a busy machine takes. */
export async function eventually(
  check: () => boolean | Promise<boolean>,
  what: string | (() => string),
): Promise<void> {
  const goesOn = patience();
  while (!(await check())) {
    if (!goesOn()) throw new Error(`Never came true: ${typeof what === "string" ? what : what()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
