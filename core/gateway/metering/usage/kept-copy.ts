import type { BodyBudget } from "../../../work/body-budget.ts";

/** Bytes of each answer that are kept in any case: nearly all answers are shorter. */
const FREE = 64 * 1024;

/** The memory that the copy of one answer takes. */
export interface KeptCopy {
  /** Whether so much more of the answer may be kept; after the first refusal nothing may be. */
  take(bytes: number): boolean;
  /** Whether the copy may be so long: memory for its greatest length is taken. */
  reach(bytes: number): boolean;
  /** Whether something was refused. */
  readonly isCut: boolean;
  release(): void;
}

/** Counts what is kept of an answer against the memory for all answers under way: a client that reads slowly holds its own for long. */
export function keptCopy(room: BodyBudget | undefined): KeptCopy {
  const hold = room?.hold();
  let free = FREE;
  let greatest = 0;
  const copy = {
    isCut: false,
    take(bytes: number) {
      const fromBudget = Math.max(0, bytes - free);
      free -= bytes - fromBudget;
      copy.isCut ||= fromBudget > 0 && hold?.take(fromBudget) === false;
      return !copy.isCut;
    },
    reach(bytes: number) {
      if (bytes > greatest && copy.take(bytes - greatest)) greatest = bytes;
      return bytes <= greatest;
    },
    release: () => hold?.release(),
  };
  return copy;
}
