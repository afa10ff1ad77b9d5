// Forwarding one chat completion. The floors: a bare node:http pipe, Hono + undici's dispatcher (what a portable
// gateway can at best cost on Node), the smallest proxies of Deno and Bun. The peer: Portkey's gateway. causey does
// authentication, a rate limit, metadata, usage and a stored log row per request, unless its row says otherwise.
// `--only stream` or `--only Node` narrows it down, `--connections 64` widens it.
import type { Figure, Goal } from "./harness/figure.ts";
import { causeyCommand, makeGateway, TOKEN } from "./harness/causey.ts";
import { sendOne } from "./harness/load.ts";
import type { Options } from "./harness/options.ts";
import { peerFolder } from "./harness/peers.ts";
import {
  always,
  compareServers,
  type Contestant,
  narrowed,
  runtimes,
  start,
} from "./harness/servers.ts";

const PIPE = "Hono + undici pipe";
const PORTKEY = "Portkey 1.15.2";

interface Workload {
  readonly name: string;
  readonly body: string;
  readonly goals: Readonly<Record<string, readonly Goal[]>>;
}

const request = { model: "bench", messages: [{ role: "user", content: "x".repeat(600) }] };

const workloads: readonly Workload[] = [
  {
    name: "json",
    body: JSON.stringify(request),
    goals: {
      Node: [
        { of: PIPE, atMost: 1.5 },
        { of: PORTKEY, atMost: 1 / 6 },
      ],
      "log off": [{ of: PIPE, atMost: 1.25 }],
      "cache hit": [{ atMost: 60 }],
      Deno: [{ of: "Deno.serve + fetch", atMost: 1.8 }],
      Bun: [{ of: "Bun.serve + fetch", atMost: 1.8 }],
    },
  },
  {
    name: "stream of 51 events",
    body: JSON.stringify({ ...request, stream: true }),
    goals: {
      Node: [
        { of: PIPE, atMost: 1.25 },
        { of: PORTKEY, atMost: 1 / 3 },
      ],
      Deno: [{ of: "Deno.serve + fetch", atMost: 1.8 }],
      Bun: [{ of: "Bun.serve + fetch", atMost: 1.8 }],
    },
  },
];

/** Runs `gateway`. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  const { only, connections = 16 } = options;
  const upstream = await start([process.execPath, "bench/servers/upstream.ts"]);
  try {
    for (const workload of workloads) {
      const title = `gateway: ${workload.name}, ${connections} connections`;
      const all = [...floors(upstream.url, workload), ...ours(upstream.url, workload)];
      const field = narrowed(title, all, only);
      yield await compareServers(title, field, { ...options, connections });
    }
  } finally {
    await upstream.stop();
  }
}

function floors(upstream: URL, { body }: Workload): Contestant[] {
  const env = { UPSTREAM: upstream.origin };
  const call = always({ path: "/", headers: { authorization: "Bearer sk-x" }, body });
  const proxy = "bench/servers/fetch-proxy.ts";
  return [
    { name: PIPE, command: [...runtimes.Node, "bench/servers/dispatch-pipe.ts"], env, call },
    { name: "node:http pipe", command: [...runtimes.Node, "bench/servers/pipe.ts"], env, call },
    { name: "Deno.serve + fetch", command: [...runtimes.Deno, proxy], env, call },
    { name: "Bun.serve + fetch", command: [...runtimes.Bun, proxy], env, call },
    ...portkey(upstream, body),
  ];
}

function portkey(upstream: URL, body: string): Contestant[] {
  const at = peerFolder("@portkey-ai/gateway");
  if (at === undefined) return [];
  const server = new URL("build/start-server.js", at).pathname;
  const call = {
    path: "/v1/chat/completions",
    headers: {
      authorization: "Bearer sk-x",
      "x-portkey-provider": "openai",
      "x-portkey-custom-host": `${upstream.origin}/v1`,
    },
    body,
  };
  const command = [...runtimes.Node, "--import", "./bench/servers/loopback.ts", server] as const;
  return [{ name: PORTKEY, command: [...command, "--headless"], call: always(call) }];
}

function ours(upstream: URL, { body, goals }: Workload): Contestant[] {
  const config = { gateway: { providers: { openai: { baseUrl: `${upstream.origin}/v1` } } } };
  const contestant = (
    runtime: keyof typeof runtimes,
    label: string = runtime,
    headers: Readonly<Record<string, string>> = {},
    how: { readonly cache?: "HIT" | "MISS"; readonly settings?: object } = {},
  ): Contestant => ({
    name: `causey on ${runtime}${label === runtime ? "" : `, ${label}`}`,
    goals: goals[label] ?? [],
    ...causeyCommand(runtime, config),
    prepare: (url) => sendOne(url, makeGateway(how.settings)),
    check: ({ headers: { "cf-aig-cache-status": status = "MISS" } }) => {
      if (status !== (how.cache ?? "MISS")) throw new Error(`The cache answered ${String(status)}`);
    },
    call: always({
      path: "/v1/local/bench/openai/chat/completions",
      headers: {
        authorization: "Bearer sk-x",
        "cf-aig-authorization": `Bearer ${TOKEN}`,
        "cf-aig-metadata": '{"user":"bench"}',
        ...headers,
      },
      body,
    }),
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
