import { parseArgs } from "node:util";

/** How long and how wide to measure; from the command line. */
export interface Options {
  /** Measured rounds. */
  readonly rounds: number;
  /** Milliseconds per contestant and round. */
  readonly ms: number;
  /**
   * Concurrent keep-alive connections, where a benchmark has any; one that does not compare several takes the first.
   * @default the benchmark's own
   */
  readonly connections: readonly number[] | undefined;
  /** Only workloads and contestants whose name contains this. */
  readonly only: string | undefined;
  readonly json: boolean;
  /** A folder with another built version of causey, which is measured in the same run. */
  readonly against: string | undefined;
  /** The arguments after the benchmark's name. */
  readonly rest: readonly string[];
}

/** Reads the command line: the benchmark's name (none = all) and how to run it. */
export function readOptions(args: readonly string[]): {
  name: string | undefined;
  options: Options;
} {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "2" },
      connections: { type: "string" },
      only: { type: "string" },
      against: { type: "string" },
      json: { type: "boolean", default: false },
    },
  });
  const [name, ...rest] = positionals;
  const options = {
    rounds: Number(values.rounds),
    ms: Number(values.seconds) * 1000,
    connections: values.connections?.split(",").map((text) => toCount(text, "--connections")),
    only: values.only,
    json: values.json,
    against: values.against,
    rest,
  };
  return { name, options };
}

/** Reads a count; `what` names where it was given. */
export function toCount(text: string, what: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1)
    throw new Error(`${what}: expected a count above 0, got "${text}"`);
  return count;
}
