// How long a client of a stream waits for its first byte, at one connection: without a proxy, behind the smallest
// proxies, behind Portkey, and behind causey with all that `gateway` measures it with; and how much of that the proxy
// adds. `--only Bun` narrows it down to names; the provider itself and the floors are always there.
// Takes 3 minutes (9 contestants, 6 s and 5 rounds of 2.5 s each).
import { type Figure, type Goal, type Results, summarise, withMore } from "./harness/figure.ts";
import {
  causeyGateway,
  chat,
  DIRECT,
  floorOf,
  others,
  ownHeaders,
  type Runtime,
} from "./harness/gateway-field.ts";
import type { Options } from "./harness/options.ts";
import { type Contestant, FIRST_BYTE, measureServers, runtimes, start } from "./harness/servers.ts";

const names = Object.keys(runtimes) as Runtime[];
const ours = new Map(names.map((runtime) => [`causey on ${runtime}`, runtime]));
const [P50, P99] = FIRST_BYTE;

/** What {@link DIRECT}, and the floor of the same runtime, have less. */
const more = {
  p50: "p50 over direct",
  p99: "p99 over direct",
  p50Floor: "p50 over floor",
  p99Floor: "p99 over floor",
};

const goals: readonly Goal[] = [
  { what: more.p50, atMost: 0.5 },
  { what: more.p99, atMost: 3 },
];

/** Runs `gateway-first-byte`. */
export async function* bench({ rounds, ms, only }: Options): AsyncGenerator<Figure[]> {
  const upstream = await start([process.execPath, "bench/servers/upstream.ts"]);
  try {
    const field = contestants(upstream.url).filter(
      ({ name }) => only === undefined || name.includes(only) || isCompared(name),
    );
    const results = await measureServers(field, { rounds, ms, connections: 1, firstByte: true });
    yield summarise("gateway: first byte of a stream, 1 connection, ms", withAdded(results));
  } finally {
    await upstream.stop();
  }
}

function isCompared(name: string): boolean {
  return name === DIRECT || Object.values(floorOf).includes(name);
}

function contestants(upstream: URL): Contestant[] {
  const body = chat.stream;
  const own = [...ours].map(([name, runtime]) =>
    causeyGateway({ name, runtime, upstream, body, headers: ownHeaders, goals }),
  );
  return [...others(upstream, body), ...own];
}

/** The waits alone, and what is added to them. */
function withAdded(results: readonly Results[]): Results[] {
  const waits = results.map((one) => ({
    ...one,
    rounds: one.rounds.map((round) => ({
      [P50]: round[P50] ?? Number.NaN,
      [P99]: round[P99] ?? Number.NaN,
    })),
  }));
  const direct = (name: string): string | undefined => (name === DIRECT ? undefined : DIRECT);
  const floor = (name: string): string | undefined => {
    const runtime = ours.get(name);
    return runtime === undefined ? undefined : floorOf[runtime];
  };
  let added: Results[] = waits;
  added = withMore(added, { name: more.p50, what: P50, of: direct });
  added = withMore(added, { name: more.p99, what: P99, of: direct });
  added = withMore(added, { name: more.p50Floor, what: P50, of: floor });
  return withMore(added, { name: more.p99Floor, what: P99, of: floor });
}
