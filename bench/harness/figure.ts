/** The result of one round of a contestant, by the name of the figure (`CPU µs/op`, `p50 ms`, `RSS MB`). */
export type Round = Readonly<Record<string, number>>;

/** The most that a figure may be. */
export interface Goal {
  /** @default "CPU µs/op" */
  readonly what?: string;
  /** Another contestant of the same benchmark, whose figure is the unit. */
  readonly of?: string;
  readonly atMost: number;
}

/** A figure beside its goal. */
export interface Verdict extends Goal {
  readonly value: number;
  readonly hit: boolean;
}

/** One contestant's medians over all rounds. */
export interface Figure {
  readonly bench: string;
  readonly contestant: string;
  readonly rounds: number;
  readonly figures: Readonly<Record<string, number>>;
  readonly verdicts: readonly Verdict[];
}

/** A contestant's name, its goals, and what its rounds gave. */
export interface Results {
  readonly name: string;
  readonly goals?: readonly Goal[];
  readonly rounds: readonly Round[];
}

/** CPU time per operation, user and system. */
export const CPU = "CPU µs/op";

/** Medians over the rounds. A ratio is the median of the rounds' ratios: neighbours in time are compared. */
export function summarise(bench: string, all: readonly Results[]): Figure[] {
  const byName = new Map(all.map((one) => [one.name, one]));
  return all.map(({ name, goals = [], rounds }) => {
    const metrics = Object.keys(rounds[0] ?? {});
    const middle = metrics.map((key) => [key, median(rounds.map((round) => round[key] ?? 0))]);
    const verdicts = goals.flatMap((goal): Verdict[] => {
      const other = goal.of === undefined ? undefined : byName.get(goal.of);
      // A peer that is not installed leaves nothing to compare with.
      if (goal.of !== undefined && other === undefined) return [];
      const { what = CPU } = goal;
      const value = median(
        rounds.map((round, n) => (round[what] ?? Number.NaN) / (other?.rounds[n]?.[what] ?? 1)),
      );
      return [{ ...goal, value, hit: value <= goal.atMost }];
    });
    const figures: Figure["figures"] = Object.fromEntries(middle);
    return { bench, contestant: name, rounds: rounds.length, figures, verdicts };
  });
}

/**
 * Adds to every round, as `name`, how much more of `what` the contestant had than the one that `of` names had in the same
 * round: neighbours in time are compared. Nothing is added where there is no other.
 */
export function withMore<One extends Results>(
  all: readonly One[],
  { name, what, of }: { name: string; what: string; of: (own: string) => string | undefined },
): One[] {
  const byName = new Map(all.map((one) => [one.name, one]));
  return all.map((one) => {
    const other = byName.get(of(one.name) ?? "");
    if (other === undefined) return one;
    const more = (round: Round, n: number): number =>
      (round[what] ?? Number.NaN) - (other.rounds[n]?.[what] ?? Number.NaN);
    return { ...one, rounds: one.rounds.map((round, n) => ({ ...round, [name]: more(round, n) })) };
  });
}

/** Figures that were measured once, beside their goals: what is no rate of operations. */
export function once(
  bench: string,
  contestant: string,
  figures: Readonly<Record<string, number>>,
  goals: readonly { readonly what: string; readonly atMost: number }[],
): Figure {
  const verdicts = goals.map((goal): Verdict => {
    const value = figures[goal.what] ?? Number.NaN;
    return { ...goal, value, hit: value <= goal.atMost };
  });
  return { bench, contestant, rounds: 1, figures, verdicts };
}

/** Geometric means of one contestant's figures and ratios over several workloads. */
export function geometricMean(bench: string, own: readonly [Figure, ...Figure[]]): Figure {
  const mean = (pick: (figure: Figure) => number): number =>
    Math.exp(own.reduce((sum, figure) => sum + Math.log(pick(figure)), 0) / own.length);
  const [first] = own;
  const keys = Object.keys(first.figures);
  const figures = Object.fromEntries(
    keys.map((key) => [key, mean((figure) => figure.figures[key] ?? 0)]),
  );
  const verdicts = first.verdicts.map((verdict, n): Verdict => {
    const value = mean((figure) => figure.verdicts[n]?.value ?? Number.NaN);
    return { ...verdict, value, hit: value <= verdict.atMost };
  });
  return { ...first, bench, figures, verdicts };
}

/** The middle value; NaN of none. */
function median(values: readonly number[]): number {
  return percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

/** The value at a share of an ascending list; NaN of none. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The figures of a round: latencies (ms) of `size` operations each, wall time (ms), CPU time (µs). */
export function roundOf(
  latencies: readonly number[],
  spent: { readonly wallMs: number; readonly cpuMicros: number; readonly size?: number },
): Round {
  const sorted = latencies.toSorted((a, b) => a - b);
  const operations = latencies.length * (spent.size ?? 1);
  return {
    [CPU]: spent.cpuMicros / operations,
    "op/s": (operations * 1000) / spent.wallMs,
    "p50 ms": percentile(sorted, 0.5),
    "p99 ms": percentile(sorted, 0.99),
  };
}
