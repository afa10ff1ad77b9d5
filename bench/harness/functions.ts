import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Figure, type Goal, type Round, roundOf, summarise } from "./figure.ts";
import type { Options } from "./options.ts";

/** A contestant that is a function in this process. */
export interface FunctionContestant {
  readonly name: string;
  readonly goals?: readonly Goal[];
  /** Figures that are known beforehand. */
  readonly extras?: Readonly<Record<string, number>>;
  /** One operation; `n` counts up. */
  readonly run: (n: number) => unknown;
  /** Operations between two looks at the clock, for those that are shorter than one look. @default 1 */
  readonly batch?: number;
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Measures functions in turn, round by round; latencies are means of a batch. */
export async function compareFunctions(
  bench: string,
  contestants: readonly FunctionContestant[],
  options: Pick<Options, "rounds" | "ms">,
): Promise<Figure[]> {
  return summarise(bench, await measureFunctions(contestants, options));
}

/** Does the same without the medians. */
export async function measureFunctions(
  contestants: readonly FunctionContestant[],
  { rounds, ms }: Pick<Options, "rounds" | "ms">,
): Promise<(FunctionContestant & { readonly rounds: readonly Round[] })[]> {
  const field = contestants.map((one) => ({ ...one, rounds: [] as Round[] }));
  for (let round = -1; round < rounds; round++) {
    for (const contestant of field) {
      // Nobody pays for the garbage of the one before.
      collectGarbage();
      const figures = await measure(contestant, ms);
      if (round >= 0) contestant.rounds.push({ ...figures, ...contestant.extras });
    }
  }
  return field;
}

async function measure({ run, batch = 1 }: FunctionContestant, ms: number): Promise<Round> {
  const means: number[] = [];
  const cpu = process.cpuUsage();
  const began = performance.now();
  let now = began;
  let n = 0;
  while (now - began < ms || n === 0) {
    const end = n + batch;
    for (; n < end; n++) {
      const pending = run(n);
      if (pending instanceof Promise) await pending;
    }
    const at = performance.now();
    means.push((at - now) / batch);
    now = at;
  }
  const { user, system } = process.cpuUsage(cpu);
  return roundOf(means, { wallMs: now - began, cpuMicros: user + system, size: batch });
}
