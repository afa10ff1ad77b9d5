import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { checkMessage, type OtlpReceiver, startOtlpReceiver } from "./otlp-receiver.ts";
import { noBrowser, startTarget, type Target } from "./target.ts";

const token = "token-of-the-collector-test-0000000000";
const traceId = "0af7651916cd43dd8448eb211c80319c";
const parent = "b7ad6b7169203331";
let receiver: OtlpReceiver;
let target: Target;

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  target = await startTarget({
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
    const model = await spanOf(/^echo echo$/);
    expect(model.parentSpanId).toBe(server.spanId);
    const search = await spanOf(/ai-search\/instances$/);
    expect(search.parentSpanId).toBe(parent);
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
