// What the gateway holds on to: memory at 64 connections, its growth over 200,000 logged requests, what 1,000 open
// streams cost, and the log rows that are there after a clean shutdown and a new start.
// `--only Node` narrows it down; `gateway-endurance 20000` sends fewer requests.
import { once as event } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { causeyCommand, makeGateway } from "./harness/causey.ts";
import { type Figure, once } from "./harness/figure.ts";
import {
  CHAT_PATH,
  chat,
  countRows,
  gatewayConfig,
  ownHeaders,
  type Runtime,
} from "./harness/gateway-field.ts";
import { type Call, sendAll, sendOne } from "./harness/load.ts";
import { toCount, type Options } from "./harness/options.ts";
import { type Running, runtimes, start } from "./harness/servers.ts";

const TITLE = "gateway: endurance";
const STREAMS = 1000;
const WARM_UP = 60_000;
/** How long a stream may take to begin, ms: none waits for another to end. */
const BEGIN_MS = 30_000;
const headers = { authorization: "Bearer sk-x", ...ownHeaders };

const goals = [
  { what: "RSS MB", atMost: 190 },
  { what: "growth MB", atMost: 10 },
  { what: "streams MB", atMost: 60 },
  { what: "lost rows", atMost: 0 },
];

/** Runs `gateway-endurance`. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  const { only, connections: [connections = 64] = [], rest } = options;
  const requests = toCount(rest[0] ?? "200000", "Requests");
  const upstream = await start([process.execPath, "bench/servers/upstream.ts"]);
  try {
    for (const runtime of Object.keys(runtimes) as Runtime[]) {
      const name = `causey on ${runtime}`;
      if (only !== undefined && !name.includes(only)) continue;
      const figures = await endure(runtime, upstream.url, requests, connections);
      yield [once(`${TITLE}, ${requests} requests`, name, figures, goals)];
    }
  } finally {
    await upstream.stop();
  }
}

async function endure(
  runtime: Runtime,
  upstream: URL,
  requests: number,
  connections: number,
): Promise<Record<string, number>> {
  const { command, env } = causeyCommand(runtime, gatewayConfig(upstream));
  let server = await start(command, env);
  await sendOne(server.url, makeGateway({ log_management: 1_000_000 }));
  const call = (): Call => ({ path: CHAT_PATH, headers, body: chat.json });
  const warmUp = Math.min(WARM_UP, requests);
  await sendAll(server.url, warmUp, call, connections);
  const before = server.rssMb();
  await sendAll(server.url, requests, call, connections);
  const after = server.rssMb();
  const streams = await openStreams(server);
  await server.stop();
  server = await start(command, env);
  const stored = await countRows(server.url);
  await server.stop();
  return {
    "RSS MB": before,
    "growth MB": after - before,
    "streams MB": streams,
    rows: stored,
    "lost rows": warmUp + requests + STREAMS - stored,
  };
}

/** Megabytes that streams cost while they wait for their second event. */
async function openStreams(server: Running): Promise<number> {
  const before = server.rssMb();
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
  const body = JSON.stringify({ ...(JSON.parse(chat.stream) as object), hold: true });
  const open = async (): Promise<IncomingMessage> => {
    const signal = AbortSignal.timeout(BEGIN_MS);
    const outgoing = request(new URL(CHAT_PATH, server.url), { method: "POST", headers, agent });
    outgoing.end(body);
    const [incoming] = (await event(outgoing, "response", { signal })) as [IncomingMessage];
    // What fails after that is the end of a stream that was held long enough.
    outgoing.on("error", () => undefined);
    await event(incoming, "data", { signal });
    return incoming;
  };
  const streams: IncomingMessage[] = [];
  for (let n = 0; n < STREAMS; n += 50)
    streams.push(...(await Promise.all(Array.from({ length: 50 }, open))));
  const cost = server.rssMb() - before;
  for (const stream of streams) stream.on("error", () => undefined).destroy();
  return cost;
}
