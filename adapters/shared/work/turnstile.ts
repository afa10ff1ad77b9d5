/** Resolves when the caller may go on; undefined = at once. */
export type Turnstile = () => Promise<void> | undefined;

/**
 * Lets so many callers go on in each turn of the event loop, the others in later turns, in their order. Work that comes by
 * the thousand at once would otherwise stop the process until all of it has begun.
 */
export function turnstile(perTurn: number): Turnstile {
  let waiting: (() => void)[] = [];
  let passed = 0;
  const turn = (): void => {
    const next = waiting.slice(0, perTurn);
    waiting = waiting.slice(perTurn);
    passed = next.length;
    if (passed > 0) setTimeout(turn, 0);
    for (const go of next) go();
  };
  return () => {
    if (passed === 0) setTimeout(turn, 0);
    if (passed < perTurn && waiting.length === 0) {
      passed += 1;
      return undefined;
    }
    return new Promise((resolve) => waiting.push(resolve));
  };
}
