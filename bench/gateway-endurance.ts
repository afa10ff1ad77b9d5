// What the gateway holds on to: memory at 64 connections, its growth over 200,000 logged requests, what 1,000 open
// streams cost, and the log rows that are there after a clean shutdown and a new start.
// `--only Node` narrows it down; `-- 20000` sends fewer requests.
import { once as event } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { causeyCommand, makeGateway, TOKEN } from "./harness/causey.ts";
import { type Figure, once } from "./harness/figure.ts";
import { type Call, sendAll, sendOne } from "./harness/load.ts";
import type { Options } from "./harness/options.ts";
import { type Running, runtimes, start } from "./harness/servers.ts";

type Runtime = keyof typeof runtimes;

const TITLE = "gateway: endurance";
const STREAMS = 1000;
const WARM_UP = 60_000;
const headers = { authorization: "Bearer sk-x", "cf-aig-authorization": `Bearer ${TOKEN}` };
const path = "/v1/local/bench/openai/chat/completions";
const chat = { model: "bench", messages: [{ role: "user", content: "x".repeat(600) }] };

const goals = [
  { what: "RSS MB", atMost: 190 },
  { what: "growth MB", atMost: 10 },
  { what: "streams MB", atMost: 60 },
  { what: "lost rows", atMost: 0 },
];

/** Runs `gateway-endurance`. */
export async function* bench({ only, connections = 64, rest }: Options): AsyncGenerator<Figure[]> {
  const requests = Number(rest[0] ?? 200_000);
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
  const config = { gateway: { providers: { openai: { baseUrl: `${upstream.origin}/v1` } } } };
  const { command, env } = causeyCommand(runtime, config);
  let server = await start(command, env);
  await sendOne(server.url, makeGateway({ log_management: 1_000_000 }));
  const call = (): Call => ({ path, headers, body: JSON.stringify(chat) });
  await sendAll(server.url, WARM_UP, call, connections);
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
    "lost rows": WARM_UP + requests + STREAMS - stored,
  };
}

/** Megabytes that streams cost while they wait for their second event. */
async function openStreams(server: Running): Promise<number> {
  const before = server.rssMb();
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
  const body = JSON.stringify({ ...chat, stream: true, hold: true });
  const open = async (): Promise<IncomingMessage> => {
    const outgoing = request(new URL(path, server.url), { method: "POST", headers, agent });
    outgoing.end(body);
    const [incoming] = (await event(outgoing, "response")) as [IncomingMessage];
    await event(incoming, "data");
    return incoming;
  };
  const streams: IncomingMessage[] = [];
  for (let n = 0; n < STREAMS; n += 50)
    streams.push(...(await Promise.all(Array.from({ length: 50 }, open))));
  const cost = server.rssMb() - before;
  for (const stream of streams) stream.on("error", () => undefined).destroy();
  return cost;
}

async function countRows(url: URL): Promise<number> {
  const { text } = await sendOne(url, {
    method: "GET",
    path: "/client/v4/accounts/local/ai-gateway/gateways/bench/logs?per_page=1",
    headers: { authorization: `Bearer ${TOKEN}` },
    body: "",
  });
  const answer = JSON.parse(text) as { result_info: { total_count: number } };
  return answer.result_info.total_count;
}
