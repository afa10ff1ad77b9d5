import type { OutputRoom } from "../../call/limits.ts";
import type { ExpectedUse } from "../../metering/spend/expected-use.ts";
import { GUESSED_OUTPUT } from "../../metering/spend/requested-output.ts";
import type { StepReservations } from "./step-reservations.ts";

/**
 * Sets aside what a step is expected to use, and as much again whenever its answer asks for more. Resolves to null for an
 * answer that its request bounds itself.
 */
export async function outputRoom(
  expected: ExpectedUse,
  hold: StepReservations["hold"],
): Promise<OutputRoom | null> {
  const part = await hold(expected);
  if (expected.output.isNamed || part === Infinity) return null;
  let tokens = Math.floor(part * expected.output.tokens);
  return {
    get tokens() {
      return tokens;
    },
    async extend() {
      const more = await hold(expected.more(GUESSED_OUTPUT));
      tokens += Math.ceil(Math.min(1, more) * GUESSED_OUTPUT);
    },
  };
}
