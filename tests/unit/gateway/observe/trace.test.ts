import { openPlatform } from "#platform";
import { afterEach, describe, expect, it } from "vitest";
import * as v from "valibot";
import { eventually } from "../../../cases/eventually.ts";
import type { LogRow } from "../../../../core/gateway/call/ended-attempt.ts";
import { recordStore } from "../../../../core/gateway/account/records/records.ts";
import { vault } from "../../../../core/gateway/account/records/vault.ts";
import {
  type OtelEndpoint,
  otelWrite,
} from "../../../../core/gateway/account/settings/otel-settings.ts";
import {
  openOtel,
  otelView,
  sealOtel,
} from "../../../../core/gateway/observe/trace/sealed-otel.ts";
import {
  childSpan,
  requestSpan,
  type TracedRequest,
  type TracedAttempt,
} from "../../../../core/gateway/observe/trace/request-spans.ts";
import { attemptSpan } from "../../../../core/gateway/observe/trace/span.ts";
import { spanQueue } from "../../../../core/gateway/observe/trace/span-queue.ts";
import { traceParent } from "../../../../core/gateway/call/trace-parent.ts";
import type { Platform } from "../../../../core/ports.ts";
import type { Span } from "../../../../core/trace/otlp-json.ts";
import { TransportError } from "../../../../core/net/transport-error.ts";
import { fakeTransport, jsonReply } from "../../../fakes/gateway-transport.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const name = { account: "acme", gateway: "one" };

let platform: Platform | undefined;
afterEach(async () => {
  await platform?.close();
  platform = undefined;
});

const row = (more: Partial<LogRow> = {}): LogRow => ({
  id: "LOG",
  caller: null,
  createdAt: 1_700_000_000_123,
  provider: "openai",
  model: "gpt-4o",
  path: "chat/completions",
  statusCode: 200,
  success: true,
  cached: false,
  duration: 250,
  tokensIn: 12,
  tokensOut: 3,
  cost: 1,
  customCost: false,
  metadata: '{"team":"a","paid":true,"gen_ai.request.model":"forged"}',
  modelType: null,
  requestType: null,
  requestContentType: "application/json",
  responseContentType: "application/json",
  step: 0,
  eventId: "e",
  userAgent: null,
  authentication: true,
  dropped: null,
  firstByte: null,
  note: null,
  dlpAction: null,
  request: { text: '{"messages":[]}', size: 15, complete: true },
  response: { text: null, size: 0, complete: false },
  ...more,
});

const attributes = (span: Span): Record<string, unknown> =>
  Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

describe("traceParent()", () => {
  it("reads our headers under both prefixes, else traceparent", () => {
    expect(traceParent([["cf-aig-otel-trace-id", TRACE.toUpperCase()]])).toEqual({
      traceId: TRACE,
      spanId: null,
      isSampled: null,
    });
    expect(
      traceParent([
        ["gw-aig-otel-trace-id", TRACE],
        ["cf-aig-otel-parent-span-id", SPAN],
        ["traceparent", `00-${"1".repeat(32)}-${"2".repeat(16)}-01`],
      ]),
    ).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: null });
    for (const [flags, isSampled] of [
      ["01", true],
      ["02", false],
    ] as const)
      expect(traceParent([["traceparent", `00-${TRACE}-${SPAN}-${flags}`]])).toEqual({
        traceId: TRACE,
        spanId: SPAN,
        isSampled,
      });
    expect(traceParent([])).toBeNull();
  });

  it("names a malformed header of ours and ignores a malformed traceparent", () => {
    expect(() => traceParent([["cf-aig-otel-trace-id", "xyz"]])).toThrow("cf-aig-otel-trace-id");
    expect(() => traceParent([["cf-aig-otel-parent-span-id", "0".repeat(16)]])).toThrow(
      "cf-aig-otel-parent-span-id",
    );
    for (const value of [
      "",
      "hello",
      `ff-${TRACE}-${SPAN}-01`,
      `00-${TRACE}-${SPAN}-01-more`,
      `00-${TRACE.toUpperCase()}-${SPAN}-01`,
      `00-${"0".repeat(32)}-${SPAN}-01`,
    ]) {
      expect(traceParent([["traceparent", value]])).toBeNull();
    }
  });
});

describe("trySpan()", () => {
  const place = { traceId: TRACE, spanId: "1".repeat(16), parentSpanId: SPAN };

  it("carries the gen_ai attributes, the cost and the metadata", () => {
    const span = attemptSpan(row(), 0, place);
    expect(span).toMatchObject({
      ...place,
      name: "chat gpt-4o",
      kind: 3,
      startTimeUnixNano: "1700000000123000000",
      endTimeUnixNano: "1700000000373000000",
      status: { code: 1 },
    });
    expect(attributes(span)).toEqual({
      "gen_ai.request.model": "gpt-4o",
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.model.provider": "openai",
      "gen_ai.usage.input_tokens": "12",
      "gen_ai.usage.output_tokens": "3",
      "gen_ai.usage.cost": 1,
      "gen_ai.prompt_json": '{"messages":[]}',
      "http.response.status_code": "200",
      "gateway.log_id": "LOG",
      "gateway.event_id": "e",
      "gateway.step": "0",
      "gateway.cached": false,
      team: "a",
      paid: true,
    });
  });

  it("marks failures and counts what was sent before", () => {
    const lost = row({ success: false, statusCode: null, tokensIn: null });
    const span = attemptSpan(lost, 2, { ...place, parentSpanId: null });
    expect("parentSpanId" in span).toBe(false);
    expect(span.status).toEqual({ code: 2, message: "No answer" });
    expect(attributes(span)["http.request.resend_count"]).toBe("2");
    expect("gen_ai.usage.input_tokens" in attributes(span)).toBe(false);
  });
});

describe("requestSpan()", () => {
  const tried = (more: Partial<LogRow> = {}, sent = true): TracedAttempt => ({
    row: row(more),
    parent: null,
    spanId: "3".repeat(16),
    resends: 0,
    sent,
    left: false,
  });
  const request = (more: Partial<TracedRequest> = {}): TracedRequest => ({
    entry: { method: "POST", route: "/v1/:account_id/:gateway_id/:provider/*" },
    traceId: TRACE,
    spanId: "2".repeat(16),
    parentSpanId: SPAN,
    isSampled: null,
    from: 1_700_000_000_100,
    to: 1_700_000_000_400,
    eventId: null,
    userAgent: "client/1",
    metadata: null,
    attempts: [tried({ id: "A", success: false, statusCode: 500 }), tried()],
    outcome: { logId: "LOG", status: 200, step: 0 },
    breach: "broken",
    ...more,
  });

  it("says how the whole request went, and leaves models and tokens to the tries", () => {
    const span = requestSpan(request());
    expect(span).toMatchObject({
      traceId: TRACE,
      spanId: "2".repeat(16),
      parentSpanId: SPAN,
      name: "POST /v1/:account_id/:gateway_id/:provider/*",
      kind: 2,
      startTimeUnixNano: "1700000000100000000",
      endTimeUnixNano: "1700000000400000000",
      status: { code: 0 },
    });
    expect(attributes(span)).toEqual({
      "http.request.method": "POST",
      "http.route": "/v1/:account_id/:gateway_id/:provider/*",
      "http.response.status_code": "200",
      "user_agent.original": "client/1",
      "gateway.cost": 2,
      "gateway.cached": false,
      "gateway.step": "0",
      "gateway.tries": "2",
      "gateway.log_id": "LOG",
      "gateway.event_id": "e",
      team: "a",
      paid: true,
    });
  });

  it("has the gen_ai attributes of an answer from the cache, which has no try", () => {
    const hit = tried({ cached: true, cost: 0 }, false);
    const span = requestSpan(request({ attempts: [hit] }));
    expect(attributes(span)).toMatchObject({
      "gen_ai.request.model": "gpt-4o",
      "gen_ai.usage.cost": 0,
      "gen_ai.prompt_json": '{"messages":[]}',
      "gateway.cached": true,
      "gateway.cost": 0,
      "gateway.tries": "0",
    });
    expect(childSpan(hit, request())).toBeNull();
  });

  it.each([
    [{ logId: "LOG", status: 200, step: 0 }, {}, 0, undefined],
    [{ logId: "LOG", status: 401, step: 0 }, { success: false, statusCode: 401 }, 0, undefined],
    [{ logId: "LOG", status: 503, step: 0 }, { success: false, statusCode: 503 }, 2, "503"],
    [{ logId: "LOG", status: 200, step: 0 }, { success: false }, 2, "broken"],
    [{ error: "gateway_rate_limited", status: 429, code: 2003 }, {}, 0, "gateway_rate_limited"],
    [{ error: "provider_failed", status: 502, code: 2005 }, {}, 2, "provider_failed"],
    [{ error: "aborted", status: null, code: null }, {}, 2, "aborted"],
  ] as const)("judges %j as a server's span", (outcome, about, code, error) => {
    const span = requestSpan(request({ outcome, attempts: [tried(about)] }));
    expect(span.status).toEqual({ code });
    expect(attributes(span)["error.type"]).toBe(error);
  });

  it("names no method that HTTP does not have, and none where there is no HTTP", () => {
    const odd = requestSpan(request({ entry: { method: "BREW", route: "/x" } }));
    expect([odd.name, attributes(odd)["http.request.method"]]).toEqual(["HTTP /x", "_OTHER"]);
    const inside = requestSpan(request({ entry: { method: null, route: "AiBinding.run" } }));
    expect(inside.name).toBe("AiBinding.run");
    expect("http.route" in attributes(inside)).toBe(false);
  });

  it("lets no metadata pass for the cost or the tokens of a try", () => {
    const metadata = '{"gen_ai.usage.cost":9,"gateway.cost":9,"team":"a"}';
    const span = requestSpan(
      request({ metadata, attempts: [], outcome: { error: "x", status: 400, code: 7001 } }),
    );
    expect(attributes(span)).toMatchObject({ team: "a" });
    expect(JSON.stringify(span)).not.toContain("9}");
  });
});

describe("the setting otel", () => {
  it("is stored sealed, shown masked, and keeps what is written back masked", async () => {
    platform = await openPlatform();
    const records = recordStore(platform).ofGateway(name);
    const box = vault(["a master key of some length"], platform.system);
    const written = v.parse(otelWrite, [
      {
        url: "https://collector.example/v1/traces",
        headers: { "X-Team": "secret-team" },
        authorization: "Bearer secret-token",
      },
    ]);
    const stored = await sealOtel(written, [], records, box);
    expect(JSON.stringify(stored)).not.toContain("secret-");
    const [view] = stored.map(otelView);
    expect(view).toEqual({
      url: "https://collector.example/v1/traces",
      headers: { "x-team": "********" },
      authorization: "********",
      content_type: "json",
    });
    const again = await sealOtel(v.parse(otelWrite, [view]), stored, records, box);
    expect(await openOtel(again[0] as OtelEndpoint, records, box)).toEqual({
      headers: { "x-team": "secret-team" },
      authorization: "Bearer secret-token",
    });
    const moved = v.parse(otelWrite, [{ ...view, url: "https://evil.example/" }]);
    await expect(sealOtel(moved, stored, records, box)).rejects.toMatchObject({ status: 400 });
    const forged = { ...(stored[0] as OtelEndpoint), url: "https://evil.example/" };
    await expect(openOtel(forged, records, box)).rejects.toMatchObject({ status: 503 });
  });

  it("refuses addresses and headers that make no sense", () => {
    const url = "https://collector.example/";
    for (const bad of [
      { url: "ftp://collector.example/", headers: {} },
      { url: "https://user:pass@collector.example/", headers: {} },
      { url, headers: { Host: "x" } },
      { url, headers: { "x-key": "a\r\nb" } },
      { url, headers: {}, content_type: "protobuf" },
    ]) {
      expect(v.safeParse(otelWrite, [bad]).success).toBe(false);
    }
  });
});

describe("spanQueue()", () => {
  const endpoint: OtelEndpoint = {
    url: "https://collector.example/v1/traces?k=1",
    names: [],
    authorized: true,
    sealed: "s",
  };

  async function queueUnderTest(
    options: { capacity?: number; interval?: number; closing?: AbortSignal } = {},
  ) {
    platform = await openPlatform();
    const { system } = platform;
    const egress = fakeTransport();
    const logged: string[] = [];
    const queue = spanQueue({
      system: {
        ...system,
        ...(options.closing === undefined ? {} : { closing: options.closing }),
        waitUntil: (work) => void work,
        // A long interval never ends here, and retries wait for nothing.
        sleep: (ms, signal) =>
          ms === 60_000 ? new Promise(() => undefined) : system.sleep(ms > 5000 ? ms : 0, signal),
      },
      egress,
      log: (_, message, fields) => logged.push(`${message} ${JSON.stringify(fields)}`),
      open: () => Promise.resolve([["authorization", "Bearer secret-token"]]),
      interval: 60_000,
      ...options,
    });
    const place = { traceId: TRACE, spanId: SPAN, parentSpanId: null };
    return { egress, queue, logged, span: attemptSpan(row(), 0, place) };
  }

  it("sends OTLP/JSON in batches, one per gateway and endpoint", async () => {
    const { egress, queue, span } = await queueUnderTest();
    for (let i = 0; i < 150; i++) queue.push(name, [endpoint], span);
    queue.push({ account: "acme", gateway: "two" }, [endpoint], span);
    await queue.flush();
    expect(egress.requests).toHaveLength(3);
    const [request] = egress.requests;
    expect([request?.method, request?.url]).toEqual(["POST", endpoint.url]);
    expect(request?.headers).toContainEqual(["authorization", "Bearer secret-token"]);
    const body = JSON.parse(egress.bodies[0] ?? "") as {
      resourceSpans: [{ resource: object; scopeSpans: [{ spans: Span[] }] }];
    };
    expect(body.resourceSpans[0].scopeSpans[0].spans).toHaveLength(100);
    expect(JSON.stringify(body.resourceSpans[0].resource)).toContain("acme/one");
  });

  it("tries again what is worth it, and tells of a loss without a secret", async () => {
    const { egress, queue, span, logged } = await queueUnderTest();
    egress.behave = (_, index) => {
      if (index === 0) throw new TransportError("unreachable", "down");
      return jsonReply({}, index === 1 ? 503 : 200);
    };
    queue.push(name, [endpoint], span);
    await queue.flush();
    expect([egress.requests.length, queue.dropped]).toEqual([3, 0]);
    egress.behave = () => jsonReply({}, 401);
    queue.push(name, [endpoint], span);
    await queue.flush();
    expect([egress.requests.length, queue.dropped]).toEqual([4, 1]);
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain("collector.example");
    expect(logged[0]).not.toMatch(/secret-token|k=1/);
  });

  it("drops and counts what does not fit", async () => {
    const { queue, span, egress } = await queueUnderTest({ capacity: 2 });
    for (let i = 0; i < 5; i++) queue.push(name, [endpoint], span);
    expect(queue.dropped).toBe(3);
    await queue.flush();
    queue.push(name, [endpoint], span);
    await queue.flush();
    expect([queue.dropped, egress.requests.length]).toEqual([3, 2]);
  });

  it("does not keep a process that ends waiting for an endpoint that is silent", async () => {
    const closing = new AbortController();
    const { egress, queue, span } = await queueUnderTest({ closing: closing.signal });
    egress.behave = ({ signal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener("abort", () => reject(new TransportError("aborted", "")));
        closing.abort();
      });
    queue.push(name, [endpoint], span);
    await queue.flush();
    expect([egress.requests.length, queue.dropped]).toEqual([1, 1]);
  });

  it("flushes by itself", async () => {
    const { queue, span, egress } = await queueUnderTest({ interval: 1 });
    queue.push(name, [endpoint], span);
    await eventually(() => egress.requests.length === 1, "it is exported");
  });
});
