import { createHmac } from "node:crypto";
import { patience } from "../cases/eventually.ts";
import { exitOf, lineWith, start, type Child, type LocalRuntimeName } from "./runtimes.ts";

/** A server of `sharing-child.ts`. */
export interface SharingServer {
  readonly child: Child;
  readonly url: string;
  /** A request with the token that may do everything. */
  ask(path: string, init?: RequestInit): Promise<Response>;
}

const token = "a-token-for-tests";
const secret = "a secret for sharing tests";
/** Path of the gateways of the management API. */
export const gateways = "/client/v4/accounts/local/ai-gateway/gateways";

/**
 * Starts one of several servers of a data directory, or of a database (its address and the lease in ms). `nextProgram` is the
 * file of its next version.
 */
export async function sharingServer(
  runtime: LocalRuntimeName,
  dataDir: string,
  database: readonly string[] = [],
  nextProgram?: string,
): Promise<SharingServer> {
  // So that a test can have it collect garbage.
  const flag = "--expose-gc";
  const env = { ...process.env, NODE_OPTIONS: flag, DENO_V8_FLAGS: flag };
  const isNext = nextProgram !== undefined;
  const child = start(
    runtime,
    isNext ? `../../${nextProgram}` : "sharing-child.ts",
    [runtime, dataDir, ...database],
    isNext ? { ...env, CAUSEY_TEST_NEXT: "1" } : env,
  );
  const url = (await lineWith(child, "listening ")).slice("listening ".length);
  return {
    child,
    url,
    ask: (path, init = {}) => {
      const headers = new Headers(init.headers);
      headers.set("authorization", `Bearer ${token}`);
      return fetch(`${url}${path}`, { ...init, headers });
    },
  };
}

/** Asks a server to end; `child.kill()` would have Deno say that the signal has killed it. */
export function end({ pid }: Child): void {
  if (pid !== undefined) process.kill(pid, "SIGTERM");
}

/** Ends servers in this order, each once the one before is gone; resolves with their exit codes. */
export async function endInTurn(servers: readonly SharingServer[]): Promise<(number | string)[]> {
  const codes = [];
  for (const { child } of servers) {
    end(child);
    codes.push(await exitOf(child));
  }
  return codes;
}

/** The server whose process the others call, and the others. */
export async function ownerOf(
  servers: readonly SharingServer[],
): Promise<{ owner: SharingServer; peers: SharingServer[] }> {
  const response = await servers[0]!.ask("/agents/box/where/pid");
  const pid = (await response.json()) as number;
  const owner = servers.find(({ child }) => child.pid === pid);
  if (owner === undefined) throw new Error(`No server is process ${pid}`);
  return { owner, peers: servers.filter((server) => server !== owner) };
}

/** Sends a chat through a gateway; resolves to the status. */
export async function chat(
  server: SharingServer,
  gateway: string,
  headers: Record<string, string> = {},
): Promise<number> {
  const body = JSON.stringify({ model: "echo-demo", messages: [{ role: "user", content: "hi" }] });
  const response = await server.ask(`/v1/local/${gateway}/echo/chat/completions`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });
  await response.text();
  return response.status;
}

/** Makes a gateway. */
export async function makeGateway(
  server: SharingServer,
  id: string,
  settings: object = {},
): Promise<void> {
  const response = await server.ask(gateways, {
    method: "POST",
    body: JSON.stringify({
      id,
      authentication: false,
      cache_invalidate_on_update: false,
      cache_ttl: 0,
      collect_logs: false,
      rate_limiting_interval: 0,
      rate_limiting_limit: 0,
      ...settings,
    }),
  });
  if (!response.ok) throw new Error(await response.text());
  await response.body?.cancel();
}

/** Sends a signed webhook; resolves to the status. */
export async function webhook(
  server: SharingServer,
  source: "plain" | "worked",
  entity: string,
  id: string,
): Promise<number> {
  const body = JSON.stringify({ id, type: "test" });
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  const response = await fetch(`${server.url}/webhooks/${source}/${entity}`, {
    method: "POST",
    body,
    headers: { "x-signature": `sha256=${signature}` },
  });
  await response.text();
  return response.status;
}

/** Asks until the answer is as wanted; throws the last one when it never is. */
export async function until<T>(ask: () => Promise<T>, wanted: (answer: T) => boolean): Promise<T> {
  const goesOn = patience();
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    if (!goesOn()) throw new Error(`Still ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
