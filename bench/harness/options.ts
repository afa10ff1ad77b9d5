import { parseArgs } from "node:util";

/** How long and how wide to measure; from the command line. */
export interface Options {
  /** Measured rounds; one more, first, is thrown away. */
  readonly rounds: number;
  /** Milliseconds per contestant and round. */
  readonly ms: number;
  /** Concurrent keep-alive connections, where a benchmark has any. @default the benchmark's own */
  readonly connections: number | undefined;
  /** Only workloads and contestants whose name contains this. */
  readonly only: string | undefined;
  readonly json: boolean;
  /** What follows the benchmark's name. */
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
      json: { type: "boolean", default: false },
    },
  });
  const [name, ...rest] = positionals;
  const options = {
    rounds: Number(values.rounds),
    ms: Number(values.seconds) * 1000,
    connections: values.connections === undefined ? undefined : Number(values.connections),
    only: values.only,
    json: values.json,
    rest,
  };
  return { name, options };
}
