// This version beside another one on the requests that everything else is built on, in two configurations: "quiet" without log,
// metrics and console, and "as served" with what `npm start` turns on, its log lines going to /dev/null.
// `npm run bench -- versions --against FOLDER --rounds 3 --seconds 1`: FOLDER is a checkout of the other version with
// `npm ci` and `npm run build` done in it. About three minutes.
import { createHmac } from "node:crypto";
import { causeyCommand, TOKEN } from "./harness/causey.ts";
import type { Figure } from "./harness/figure.ts";
import { causeyGateway, chat, ownHeaders } from "./harness/gateway-field.ts";
import type { Call } from "./harness/load.ts";
import type { Options } from "./harness/options.ts";
import {
  always,
  compareServers,
  type Contestant,
  runtimes,
  silent,
  start,
} from "./harness/servers.ts";

const NAME = "causey";
const configurations = {
  quiet: { console: false },
  "as served": { log: "json", metrics: true, console: true },
} as const;

const get = (path: string): Call => ({
  method: "GET",
  path,
  headers: { authorization: `Bearer ${TOKEN}` },
  body: "",
});

const secret = "bench-secret-0123456789abcdef";
const sources = { webhooks: { sources: { github: { scheme: "github", secret } } } };

/** Twenty entities with an event of 0.8 KB each, signed. */
const events = Array.from({ length: 20 }, (_, n) => {
  const repository = { id: n, full_name: `bench/repo-${n}`, padding: "x".repeat(680) };
  const body = JSON.stringify({ action: "created", repository, sender: { login: "octocat" } });
  const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
  return { body, signature };
});

const delivery = (n: number): Call => {
  const { body, signature } = events[n % events.length]!;
  const headers = {
    "user-agent": "GitHub-Hookshot/bench",
    "x-github-event": "star",
    "x-github-delivery": `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`,
    "x-hub-signature-256": signature,
  };
  return { path: "/webhooks/github", headers, body };
};

/** Runs `versions`. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  if (options.against === undefined) {
    process.stderr.write("versions: skipped, --against FOLDER names no other version\n");
    return;
  }
  const upstream = await start([...runtimes.Node, "bench/servers/upstream.ts"]);
  try {
    for (const [configuration, config] of Object.entries(configurations)) {
      for (const { title, connections, contestant } of rows(upstream.url, config)) {
        const name = `versions: ${title}, ${configuration}`;
        if (options.only !== undefined && !name.includes(options.only)) continue;
        yield await compareServers(name, [silent(contestant)], { ...options, connections });
      }
    }
  } finally {
    await upstream.stop();
  }
}

/** A request, over how many connections it is sent, and the server that it is sent to. */
interface Row {
  readonly title: string;
  readonly connections: number;
  readonly contestant: Contestant;
}

function rows(upstream: URL, config: object): Row[] {
  const server = (call: Contestant["call"], more: object = {}): Contestant => ({
    name: NAME,
    ...causeyCommand("Node", { ...config, ...more }),
    call,
  });
  const gateway = (settings: object): Contestant =>
    causeyGateway({
      name: NAME,
      runtime: "Node",
      upstream,
      body: chat.json,
      headers: ownHeaders,
      config,
      settings,
    });
  const gateways = get("/client/v4/accounts/local/ai-gateway/gateways");
  return [
    { title: "GET /healthz", connections: 16, contestant: server(always(get("/healthz"))) },
    { title: "GET gateways", connections: 16, contestant: server(always(gateways)) },
    { title: "webhook event", connections: 50, contestant: server(delivery, sources) },
    { title: "gateway JSON, row on", connections: 16, contestant: gateway({}) },
    {
      title: "gateway JSON, row off",
      connections: 16,
      contestant: gateway({ collect_logs: false }),
    },
  ];
}
