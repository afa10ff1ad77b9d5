import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../cases/eventually.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import { type GatewayParts, gatewayParts } from "../../core/gateway/mod.ts";
import type { Platform } from "../../core/ports.ts";
import { host } from "../config/shared.ts";
import { type Exported, spansIn } from "../fakes/gateway-collector.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";

interface Export {
  readonly headers: IncomingMessage["headers"];
  readonly spans: readonly Exported[];
}

/** A model that fails once and then streams; with `x-hang` its stream has no end. And a collector. */
let server: Server;
let base = "";
let asked = 0;
const exports: Export[] = [];
let platform: Platform;
let parts: GatewayParts;

function model(request: IncomingMessage, response: ServerResponse): void {
  if (asked++ === 0) return void response.writeHead(503).end("{}");
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write('data: {"choices":[{"index":0,"delta":{"content":"hello"}}]}\n\n');
  if (request.headers["x-hang"] === undefined) response.end("data: [DONE]\n\n");
}

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      if (request.url !== "/v1/traces") return model(request, response);
      exports.push({ headers: request.headers, spans: spansIn(body) });
      response.end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const adapter = (await import(`../../adapters/${host}/mod.ts`)) as Record<string, unknown>;
  const make = adapter[`${host}Platform`] as (o: LocalPlatformOptions) => Promise<Platform>;
  const allowHosts = ["127.0.0.1"];
  platform = await make({ dataDir: ":memory:", allowHosts, log: () => undefined });
  const providers = { openai: { baseUrl: base } };
  parts = gatewayParts({ platform, auth: "off", providers });
  const settings = {
    id: "traced",
    authentication: false,
    cache_invalidate_on_update: false,
    cache_ttl: null,
    collect_logs: true,
    rate_limiting_interval: null,
    rate_limiting_limit: null,
    otel: [{ url: `${base}/v1/traces`, authorization: "Bearer of-the-collector" }],
  };
  const made = await parts.management.request("/accounts/local/ai-gateway/gateways", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(settings),
  });
  expect(made.status).toBe(200);
});
afterAll(async () => {
  await platform.close();
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked = 0;
  exports.length = 0;
});

function ask(headers: Record<string, string>, signal: AbortSignal | null = null) {
  return parts.gateway.request("/v1/local/traced/openai/chat/completions", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      traceparent: `00-${TRACE}-${PARENT}-01`,
      "cf-aig-max-attempts": "2",
      "cf-aig-retry-delay": "1",
      ...headers,
    },
    body: JSON.stringify({ model: "m", stream: true, messages: [] }),
    signal,
  });
}

/** The request's span and those of its tries, once the collector has them. */
async function collected(): Promise<{ request: Exported; tries: readonly Exported[] }> {
  const all = (): Exported[] => exports.flatMap(({ spans }) => spans);
  await eventually(() => all().some(({ kind }) => kind === 2), "the collector has the request");
  const request = all().find(({ kind }) => kind === 2)!;
  return { request, tries: all().filter(({ kind }) => kind === 3) };
}

describe("a collector", () => {
  it("gets a request that was retried as one trace, below the caller's span", async () => {
    const answer = await ask({});
    expect([answer.status, (await answer.text()).includes("[DONE]")]).toEqual([200, true]);
    const { request, tries } = await collected();
    expect(exports[0]?.headers).toMatchObject({
      authorization: "Bearer of-the-collector",
      "content-type": "application/json",
    });
    expect(request).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, status: { code: 0 } });
    expect(tries.map(({ traceId, parentSpanId }) => [traceId, parentSpanId])).toEqual(
      [1, 2].map(() => [TRACE, request.spanId]),
    );
    expect(tries.map((one) => one.about["http.request.resend_count"])).toEqual([undefined, "1"]);
    expect(tries.map((one) => "gen_ai.completion_json" in one.about)).toEqual([false, true]);
    const ends = tries.map(({ endTimeUnixNano }) => BigInt(endTimeUnixNano));
    expect(ends.every((end) => end <= BigInt(request.endTimeUnixNano))).toBe(true);
  });

  it("is told that a client left in the middle of its answer", async () => {
    const leave = new AbortController();
    const answer = await ask({ "x-hang": "yes" }, leave.signal);
    await answer.body?.getReader().read();
    leave.abort();
    const { request } = await collected();
    expect(request.status).toEqual({ code: 2 });
    expect(request.about["error.type"]).toBe("aborted");
    expect(request.about["http.response.status_code"]).toBe("200");
  });
});
