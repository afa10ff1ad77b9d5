// What each feature of the gateway costs: causey with one of them switched on, beside the bare gateway, which forwards
// and does nothing else. On Node, or on the runtimes that are named: `gateway-features Node Deno Bun`. Forwards JSON, or
// with the word `stream` streams of 51 events. `--only cache` narrows it down. "bare, again" is the bare gateway once
// more: what differs there is noise. Takes 6 minutes per runtime (19 contestants, 6 s and 5 rounds of 2.5 s each).
import { CPU, type Figure, summarise, withMore } from "./harness/figure.ts";
import {
  causeyGateway,
  type CauseyOptions,
  chat,
  countRows,
  ownHeaders,
  type Runtime,
} from "./harness/gateway-field.ts";
import type { Options } from "./harness/options.ts";
import { type Contestant, measureServers, runtimes, start } from "./harness/servers.ts";
import { openSink, type Sink } from "./harness/sink.ts";

const BARE = "bare";
const ADDED = "µs over bare";

/** How a causey differs from the bare one. */
type Feature = Pick<CauseyOptions, "cache" | "config" | "gateway"> & {
  readonly headers?: CauseyOptions["headers"];
  readonly settings?: object;
  /** Whether each request leaves a row. @default false */
  readonly logs?: boolean;
  /** Whether no request is like the one before. @default false */
  readonly unique?: boolean;
  readonly traces?: Sink;
};

/** Without a limit the log would begin to push out rows in the middle of the run. */
const log = { collect_logs: true, log_management: 10_000_000 };
const limited = { rate_limiting_limit: 1_000_000 };
const cached = { cache_ttl: 3600 };
const profiles = ["secrets", "financial", "pii"];

function dlp(...check: ("REQUEST" | "RESPONSE")[]): object {
  const policy = { id: "all", enabled: true, action: "BLOCK", check, profiles };
  return { dlp: { enabled: true, policies: [policy] } };
}

function spend(model: string): object {
  const values = [model];
  const rule = {
    id: "budget",
    limit: 100_000,
    limitType: "cost",
    window: 86_400,
    model: { mode: "filter", values },
  };
  return { spend_limits: { rules: [rule] } };
}

function features(sink: Sink): Readonly<Record<string, Feature>> {
  const { "cf-aig-authorization": token = "", "cf-aig-metadata": metadata = "" } = ownHeaders;
  return {
    [BARE]: {},
    "bare, again": {},
    authentication: {
      settings: { authentication: true },
      headers: { "cf-aig-authorization": token },
    },
    "rate limit": { settings: limited },
    metadata: { headers: { "cf-aig-metadata": metadata } },
    "custom cost": { headers: { "cf-aig-custom-cost": '{"total_cost":0.001}' } },
    retries: {
      settings: { retry_max_attempts: 3, retry_delay: 100, retry_backoff: "exponential" },
    },
    // Nothing else makes the gateway read usage alone.
    "usage and cost (a spend limit of another model)": { settings: spend("another") },
    // What cannot be computed is refused, so the model has a price.
    "spend limit": {
      settings: spend("bench"),
      gateway: { prices: [{ provider: "openai", model: "bench", input: 1, output: 1 }] },
    },
    "log row without bodies": {
      settings: log,
      headers: { "cf-aig-collect-log-payload": "false" },
      logs: true,
    },
    "log row with bodies": { settings: log, logs: true },
    "log row with bodies and custom cost": {
      settings: log,
      headers: { "cf-aig-custom-cost": '{"total_cost":0.001}' },
      logs: true,
    },
    "cache, misses": { settings: cached, unique: true },
    "cache, hits": { settings: cached, cache: "HIT" },
    "cache, hits, log row": { settings: { ...cached, ...log }, cache: "HIT", logs: true },
    "pattern checkers, request": { settings: dlp("REQUEST") },
    "pattern checkers, request and answer": { settings: dlp("REQUEST", "RESPONSE") },
    "traces (OTLP)": {
      settings: { otel: [{ url: sink.url.href, headers: {} }] },
      // Whoever may edit gateways chooses the collector: what is not public has to be allowed.
      config: { webhooks: { allowHosts: [sink.url.host] } },
      traces: sink,
    },
    "authentication, rate limit, metadata, log row with bodies": {
      settings: { authentication: true, ...limited, ...log },
      headers: ownHeaders,
      logs: true,
    },
  };
}

/** Runs `gateway-features`. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  const { only, rest, connections: [connections = 16] = [], rounds, ms } = options;
  const kind = rest.includes("stream") ? "stream" : "json";
  const upstream = await start([process.execPath, "bench/servers/upstream.ts"]);
  const sink = await openSink();
  try {
    for (const runtime of runtimesOf(rest)) {
      const title = `gateway features on ${runtime}: ${kind}, ${connections} connections`;
      const wanted = Object.entries(features(sink)).filter(
        ([name]) => only === undefined || name.includes(only) || name === BARE,
      );
      const field = wanted.map(([name, feature]) =>
        contestant({ name, runtime, upstream: upstream.url, body: chat[kind] }, feature),
      );
      const results = await measureServers(field, { rounds, ms, connections });
      const of = (name: string): string | undefined => (name === BARE ? undefined : BARE);
      yield summarise(title, withMore(results, { name: ADDED, what: CPU, of }));
    }
  } finally {
    sink.close();
    await upstream.stop();
  }
}

function runtimesOf(words: readonly string[]): Runtime[] {
  const names = Object.keys(runtimes) as Runtime[];
  const strange = words.find((word) => word !== "stream" && !names.some((name) => name === word));
  if (strange !== undefined)
    throw new Error(`Expected stream or one of ${names.join(", ")}, got "${strange}"`);
  const named = names.filter((name) => words.includes(name));
  return named.length > 0 ? named : ["Node"];
}

function contestant(
  base: Pick<CauseyOptions, "name" | "runtime" | "upstream"> & { readonly body: string },
  { settings, headers = {}, logs = false, unique = false, traces, ...feature }: Feature,
): Contestant {
  const { body } = base;
  const made = causeyGateway({
    ...base,
    ...feature,
    headers,
    body: unique ? (n) => body.replace("xxxxxxxxxxxx", String(n).padStart(12, "0")) : body,
    settings: { authentication: false, collect_logs: false, rate_limiting_limit: 0, ...settings },
    async check(url) {
      if ((await countRows(url)) > 0 !== logs) throw new Error(`Expected log rows: ${logs}`);
      if (traces !== undefined && traces.spans() === 0) throw new Error("No span was exported");
    },
  });
  return traces === undefined ? made : { ...made, attend: () => Promise.resolve(exported(traces)) };
}

/** How many spans came per second: above what the queue holds they are dropped, which costs less. */
function exported(sink: Sink): () => Readonly<Record<string, number>> {
  const before = sink.spans();
  const began = performance.now();
  return () => ({ "spans/s": ((sink.spans() - before) * 1000) / (performance.now() - began) });
}
