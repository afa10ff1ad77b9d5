/** The time of the database, as a node knows it from its heartbeats: all nodes mean the same moment, whatever their clocks say. */
export interface DatabaseTime {
  /** Returns it, in ms since 1970; before the first heartbeat that of this machine. */
  now(): number;
  /** By how much the clock of this machine is ahead, in ms; null before the first heartbeat. */
  aheadMs(): number | null;
  /** Notes the database's answer to a question that was sent at a time of `performance.now()`. */
  note(answer: number, sent: number): void;
}

/** A clock that is wrong by more is reported, in ms. */
const WRONG_MS = 10_000;

/**
 * Makes the time of a database on a machine whose clock is `clock`. `onWrong` hears that this clock has come to be far from it,
 * with the ms that it is ahead.
 */
export function databaseTime(
  clock: () => number,
  onWrong: (aheadMs: number) => void,
): DatabaseTime {
  /** The offset that makes `performance.now()` the time of the database. */
  let start: number | undefined;
  let isWrong = false;
  const now = (): number => (start === undefined ? clock() : Math.round(start + performance.now()));
  const ahead = (): number => clock() - now();
  return {
    now,
    aheadMs: () => (start === undefined ? null : ahead()),
    note(answer, sent) {
      const received = performance.now();
      start = answer - (sent + received) / 2;
      // It was answered anywhere on the way: so much is not known.
      const isFar = Math.abs(ahead()) - (received - sent) / 2 > WRONG_MS;
      if (isFar && !isWrong) onWrong(ahead());
      isWrong = isFar;
    },
  };
}
