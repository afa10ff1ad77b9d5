import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { checkMessage, type OtlpReceiver, startOtlpReceiver } from "./otlp-receiver.ts";
import { noBrowser, startTarget, type Target } from "./target.ts";

const token = "token-of-the-collector-test-0000000000";
const traceId = "0af7651916cd43dd8448eb211c80319c";
const parent = "b7ad6b7169203331";
let receiver: OtlpReceiver;
let target: Target;
/** What the site has got as `traceparent`, with the path. */
const named = new Map<string, string>();
const site = createServer(({ headers, url = "" }, response) => {
  named.set(url, String(headers["traceparent"]));
  if (url === "/page") response.writeHead(200, { "content-type": "text/html" }).end("<p>A page");
  else response.writeHead(404).end();
});
let siteUrl = "";
const folder = mkdtempSync(join(tmpdir(), "causey-otlp-"));

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const config = join(folder, "causey.json");
  writeFileSync(config, JSON.stringify({ rendering: { allowHosts: [new URL(siteUrl).host] } }));
  target = await startTarget({
    demo: true,
    args: ["--config", config],
    env: {
      ...noBrowser,
      CAUSEY_TOKEN: token,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_SERVICE_NAME: "the-service",
      OTEL_BSP_SCHEDULE_DELAY: "100",
      OTEL_METRIC_EXPORT_INTERVAL: "500",
    },
  });
});
afterAll(async () => {
  await target?.stop();
  await receiver?.close();
  site.close();
  rmSync(folder, { recursive: true, force: true });
});

function ask(path: string, json: unknown): Promise<Response> {
  return fetch(`${target.url}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "cf-aig-authorization": `Bearer ${token}`,
      authorization: `Bearer ${token}`,
      traceparent: `00-${traceId}-${parent}-01`,
    },
    body: JSON.stringify(json),
  });
}

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
}

/** What was sent of the trace that the requests of this file belong to. */
function spans(): Span[] {
  const bodies = receiver.taken["/v1/traces"] as unknown as readonly {
    resourceSpans: { scopeSpans: { spans: Span[] }[] }[];
  }[];
  return bodies
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap((scope) => scope.spans)
    .filter((span) => span.traceId === traceId);
}

async function spanOf(name: RegExp): Promise<Span> {
  let found: Span | undefined;
  await eventually(
    () => {
      found = spans().find((span) => name.test(span.name));
      return found !== undefined;
    },
    `a span ${name}, among ${JSON.stringify(spans().map((span) => span.name))}`,
  );
  if (found === undefined) throw new Error("It was there a moment ago");
  return found;
}

describe("a collector takes by the published protocol", () => {
  it("the traces of each part, below the caller's own", async () => {
    const chat = { model: "echo/echo", messages: [{ role: "user", content: "Hi" }] };
    await (await ask("/v1/local/default/compat/chat/completions", chat)).text();
    await (await ask("/client/v4/accounts/local/ai-search/instances", { id: "traced" })).text();
    const server = await spanOf(/^POST \/v1\/:account_id\/:gateway_id/);
    expect(server.parentSpanId).toBe(parent);
    const model = await spanOf(/^chat echo$/);
    expect(model.parentSpanId).toBe(server.spanId);
    const search = await spanOf(/ai-search\/instances$/);
    expect(search.parentSpanId).toBe(parent);
    expect(receiver.refused).toEqual([]);
  });

  it("the trace of a crawl, down to the page's site, though no request waits for it", async () => {
    const body = { url: `${siteUrl}/page`, render: false };
    await (await ask("/client/v4/accounts/local/browser-rendering/crawl", body)).text();
    const server = await spanOf(/browser-rendering\/crawl$/);
    const visit = await spanOf(/^crawl page$/);
    expect([server.parentSpanId, visit.parentSpanId]).toEqual([parent, server.spanId]);
    expect(named.get("/page")).toBe(`00-${traceId}-${visit.spanId}-01`);
    expect(receiver.refused).toEqual([]);
  });

  it("metrics and log lines", async () => {
    await (await ask("/client/v4/accounts/local/ai-search/instances", { id: "counted" })).text();
    await eventually(() => {
      const text = JSON.stringify(receiver.taken["/v1/metrics"]);
      return text.includes("http.server.request.duration") && text.includes("ai-search/instances");
    }, "a metric of the request");
    await eventually(
      () => JSON.stringify(receiver.taken["/v1/logs"]).includes("ai-search/instances"),
      "a line of the request",
    );
    expect(JSON.stringify(receiver.taken)).toContain("the-service");
    expect(JSON.stringify(receiver.taken)).not.toContain(token);
    expect(receiver.refused).toEqual([]);
  });

  it("and nothing that the protocol does not have", () => {
    const span = { traceId, spanId: parent, name: "a", kind: 2, startTimeUnixNano: "1" };
    const body = (one: object): Readonly<Record<string, unknown>> => ({
      resourceSpans: [{ scopeSpans: [{ spans: [one] }] }],
    });
    checkMessage("/v1/traces", body(span));
    expect(() => checkMessage("/v1/traces", body({ ...span, start_time: "1" }))).toThrow("read as");
    expect(() => checkMessage("/v1/traces", body({ ...span, name: 7 }))).toThrow("read as");
    expect(() => checkMessage("/v1/traces", body({ ...span, spanId: "AAAA" }))).toThrow("spanId");
  });
});
