// Forwarding one chat completion. The floors: a bare node:http pipe, Hono + undici's dispatcher (what a portable
// gateway can at best cost on Node), the smallest proxies of Deno and Bun. The peer: Portkey's gateway. causey does
// authentication, a rate limit, metadata, usage and a stored log row per request, unless its row says otherwise.
// `--only stream` or `--only Node` narrows it down; `--connections 1,16,64` gives a table for each, 16 is the default
// and what the goals are about. A table takes 4 minutes (12 contestants, 6 s and 5 rounds of 2.5 s each), so the
// default takes 8 minutes, and all three widths 24.
import type { Figure, Goal } from "./harness/figure.ts";
import {
  causeyGateway,
  chat,
  floorOf,
  others,
  ownHeaders,
  PORTKEY,
  type Runtime,
} from "./harness/gateway-field.ts";
import type { Options } from "./harness/options.ts";
import { compareServers, type Contestant, narrowed, start } from "./harness/servers.ts";

/** The subject of the goals. */
const GOAL_CONNECTIONS = 16;

interface Workload {
  readonly name: string;
  readonly body: string;
  readonly streams: boolean;
  readonly goals: Readonly<Record<string, readonly Goal[]>>;
}

const workloads: readonly Workload[] = [
  {
    name: "json",
    body: chat.json,
    streams: false,
    goals: {
      Node: [
        { of: floorOf.Node, atMost: 1.5 },
        { of: PORTKEY, atMost: 1 / 6 },
      ],
      "log off": [{ of: floorOf.Node, atMost: 1.25 }],
      "cache hit": [{ atMost: 60 }],
      Deno: [{ of: floorOf.Deno, atMost: 1.8 }],
      Bun: [{ of: floorOf.Bun, atMost: 1.8 }],
    },
  },
  {
    name: "stream of 51 events",
    body: chat.stream,
    streams: true,
    goals: {
      Node: [
        { of: floorOf.Node, atMost: 1.25 },
        { of: PORTKEY, atMost: 1 / 3 },
      ],
      Deno: [{ of: floorOf.Deno, atMost: 1.8 }],
      Bun: [{ of: floorOf.Bun, atMost: 1.8 }],
    },
  },
];

/** Runs `gateway`. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  const { only, connections: counts = [GOAL_CONNECTIONS] } = options;
  const upstream = await start([process.execPath, "bench/servers/upstream.ts"]);
  try {
    for (const workload of workloads) {
      for (const connections of counts) {
        const title = `gateway: ${workload.name}, ${connections} connections`;
        const all = [...others(upstream.url, workload.body), ...ours(upstream.url, workload)];
        // Narrowed with the goals in any case: what they compare with is worth a row at every width.
        const field = narrowed(title, all, only).map((one) =>
          connections === GOAL_CONNECTIONS ? one : { ...one, goals: [] },
        );
        if (field.length === 0) continue;
        const firstByte = workload.streams;
        yield await compareServers(title, field, { ...options, connections, firstByte });
      }
    }
  } finally {
    await upstream.stop();
  }
}

function ours(upstream: URL, { body, goals }: Workload): Contestant[] {
  const contestant = (
    runtime: Runtime,
    label: string = runtime,
    more: Readonly<Record<string, string>> = {},
    how: { readonly cache?: "HIT" | "MISS"; readonly settings?: object } = {},
  ): Contestant =>
    causeyGateway({
      name: `causey on ${runtime}${label === runtime ? "" : `, ${label}`}`,
      runtime,
      upstream,
      body,
      headers: { ...ownHeaders, ...more },
      goals: goals[label] ?? [],
      ...how,
    });
  const nothing = { authentication: false, collect_logs: false, rate_limiting_limit: 0 };
  return [
    contestant("Node"),
    contestant("Node", "log off", { "cf-aig-collect-log": "false" }),
    contestant("Node", "no auth, limit, log", {}, { settings: nothing }),
    contestant("Node", "cache hit", { "cf-aig-cache-ttl": "3600" }, { cache: "HIT" }),
    contestant("Deno"),
    contestant("Bun"),
  ];
}
