import { causeyCommand, makeGateway, TOKEN } from "./causey.ts";
import type { Goal } from "./figure.ts";
import { type Call, type Load, sendOne } from "./load.ts";
import { peerFolder } from "./peers.ts";
import { always, type Contestant, runtimes } from "./servers.ts";

/** A runtime with a process of its own. */
export type Runtime = keyof typeof runtimes;

/** The provider without anything in between; its CPU is the provider's. */
export const DIRECT = "direct, no proxy";

/** The peer. */
export const PORTKEY = "Portkey 1.15.2";

/** What a portable gateway can at best cost on a runtime: Hono and undici's dispatcher, or the runtime's own fetch. */
export const floorOf: Readonly<Record<Runtime, string>> = {
  Node: "Hono + undici pipe",
  Deno: "Deno.serve + fetch",
  Bun: "Bun.serve + fetch",
};

/** The request that everybody forwards: about 700 bytes; the answer is JSON of about 850, or 51 events. */
export const chat: Readonly<Record<"json" | "stream", string>> = {
  json: JSON.stringify(chatOf({})),
  stream: JSON.stringify(chatOf({ stream: true })),
};

function chatOf(more: object): object {
  return { model: "bench", messages: [{ role: "user", content: "x".repeat(600) }], ...more };
}

/** The path of a chat at a causey that {@link causeyGateway} has started. */
export const CHAT_PATH = "/v1/local/bench/openai/chat/completions";

/** causey with the provider at `upstream`. */
export function gatewayConfig(upstream: URL, more: object = {}): object {
  return { gateway: { providers: { openai: { baseUrl: `${upstream.origin}/v1` } }, ...more } };
}

/** Everybody that is not causey: the provider itself, the smallest proxies, and Portkey where it is installed. */
export function others(upstream: URL, body: string): Contestant[] {
  const env = { UPSTREAM: upstream.origin };
  const headers = { authorization: "Bearer sk-x" };
  const call = always({ path: "/", headers, body });
  const proxy = "bench/servers/fetch-proxy.ts";
  return [
    { name: DIRECT, command: [...runtimes.Node, "bench/servers/upstream.ts"], call },
    {
      name: floorOf.Node,
      command: [...runtimes.Node, "bench/servers/dispatch-pipe.ts"],
      env,
      call,
    },
    { name: "node:http pipe", command: [...runtimes.Node, "bench/servers/pipe.ts"], env, call },
    { name: floorOf.Deno, command: [...runtimes.Deno, proxy], env, call },
    { name: floorOf.Bun, command: [...runtimes.Bun, proxy], env, call },
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

/** What a causey is measured with. */
export interface CauseyOptions {
  readonly name: string;
  readonly runtime: Runtime;
  readonly upstream: URL;
  readonly body: string | ((n: number) => string);
  /** Headers beside the provider's key. */
  readonly headers: Call["headers"];
  readonly goals?: readonly Goal[];
  /** Configuration beside the provider. @default none */
  readonly config?: object;
  /** Members of `gateway` in the configuration beside the provider. @default none */
  readonly gateway?: object;
  /** Settings of the gateway, over those of `makeGateway`. @default none */
  readonly settings?: object;
  /** What the cache says of its requests. @default "MISS" */
  readonly cache?: "HIT" | "MISS";
  /** Refuses what is not meant, after the warm-up. @default nothing */
  readonly check?: (url: URL) => unknown;
}

/** A causey with one gateway. */
export function causeyGateway(options: CauseyOptions): Contestant {
  const { name, runtime, upstream, body, goals = [], cache = "MISS" } = options;
  const headers = { authorization: "Bearer sk-x", ...options.headers };
  const call = (n: number): Call => ({
    path: CHAT_PATH,
    headers,
    body: typeof body === "string" ? body : body(n),
  });
  const same: Load["call"] = typeof body === "string" ? always(call(0)) : call;
  return {
    name,
    goals,
    ...causeyCommand(runtime, {
      ...gatewayConfig(upstream, options.gateway),
      ...options.config,
    }),
    prepare: (url) => sendOne(url, makeGateway(options.settings)),
    async check({ headers: { "cf-aig-cache-status": status = "MISS" } }, url) {
      if (status !== cache) throw new Error(`The cache answered ${String(status)}`);
      await options.check?.(url);
    },
    call: same,
  };
}

/** The headers of a caller whom the gateway has to know. */
export const ownHeaders: Call["headers"] = {
  "cf-aig-authorization": `Bearer ${TOKEN}`,
  "cf-aig-metadata": '{"user":"bench"}',
};

/** Log rows of the gateway. */
export async function countRows(url: URL): Promise<number> {
  const { text } = await sendOne(url, {
    method: "GET",
    path: "/client/v4/accounts/local/ai-gateway/gateways/bench/logs?per_page=1",
    headers: { authorization: `Bearer ${TOKEN}` },
    body: "",
  });
  const answer = JSON.parse(text) as { result_info: { total_count: number } };
  return answer.result_info.total_count;
}
