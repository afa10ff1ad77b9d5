import { openPlatform } from "#platform";
import { afterEach, describe, expect, it } from "vitest";
import { platformApi, type PlatformApi } from "../../../core/api.ts";
import type { PlatformApiOptions } from "../../../core/config/platform-api-options.ts";
import type { HeaderPair, OutboundRequest, Platform, Transport } from "../../../core/ports.ts";
import { otlpSettings } from "../../../core/signals/otlp/otlp-settings.ts";
import { eventually } from "../../cases/eventually.ts";

const env = (variables: Readonly<Record<string, string>>) => (name: string) => variables[name];
const COLLECTOR = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector.test:4318/" };

describe("otlpSettings()", () => {
  it("asks for nothing where nothing is set, or it is switched off", () => {
    expect(otlpSettings(env({}))).toBeNull();
    expect(otlpSettings(env({ OTEL_SERVICE_NAME: "x" }))).toBeNull();
    expect(otlpSettings(env({ ...COLLECTOR, OTEL_SDK_DISABLED: "true" }))).toBeNull();
  });

  it("reads addresses, headers and attributes as the specification says", () => {
    const settings = otlpSettings(
      env({
        ...COLLECTOR,
        OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "https://logs.test/in",
        OTEL_METRICS_EXPORTER: "none",
        OTEL_EXPORTER_OTLP_HEADERS: "Api-Key=a%20b,x=1",
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test,service.name=other",
        OTEL_SERVICE_NAME: "mine",
        OTEL_TRACES_SAMPLER: "traceidratio",
        OTEL_TRACES_SAMPLER_ARG: "0.25",
        OTEL_EXPORTER_OTLP_TIMEOUT: "300",
      }),
    );
    expect(Object.keys(settings?.targets ?? {})).toEqual(["traces", "logs"]);
    expect(settings?.targets.traces?.url).toBe("http://collector.test:4318/v1/traces");
    expect(settings?.targets.traces?.timeout).toBe(300);
    expect(settings?.targets.logs?.url).toBe("https://logs.test/in");
    const headers = settings?.targets.traces?.headers.map(([name, value]) => [
      name,
      value.reveal(),
    ]);
    expect(headers).toEqual([
      ["api-key", "a b"],
      ["x", "1"],
    ]);
    expect(JSON.stringify(settings)).not.toContain("a b");
    expect(settings?.resource).toEqual({
      "deployment.environment.name": "test",
      "service.name": "mine",
    });
    expect(settings).toMatchObject({ ratio: 0.25, ignoresParent: true });
  });

  it.each([
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
    ["OTEL_TRACES_EXPORTER", "zipkin"],
    ["OTEL_TRACES_SAMPLER", "sometimes"],
    ["OTEL_METRIC_EXPORT_INTERVAL", "soon"],
  ])("refuses %s=%s by its name", (name, value) => {
    expect(() => otlpSettings(env({ ...COLLECTOR, [name]: value }))).toThrow(name);
  });
});

const opened: Platform[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((platform) => platform.close()));
});

interface Setup {
  readonly api: PlatformApi;
  /** The bodies that were sent to a path, a line each, once there is one. */
  readonly sent: (path: string) => Promise<string>;
  readonly requests: readonly OutboundRequest[];
}

async function setup(
  variables: Readonly<Record<string, string>> = {},
  statuses: number[] = [],
  search: PlatformApiOptions["search"] = {},
): Promise<Setup> {
  const real = await openPlatform();
  opened.push(real);
  const requests: OutboundRequest[] = [];
  const egress: Transport = {
    send(request) {
      requests.push(request);
      const headers: HeaderPair[] = [["content-type", "text/html"]];
      const body = new TextEncoder().encode("<h1>Hi</h1>");
      return Promise.resolve({ status: 200, headers, body });
    },
  };
  const platform: Platform = {
    ...real,
    log: () => undefined,
    transport: {
      send(request) {
        requests.push(request);
        return Promise.resolve({ status: statuses.shift() ?? 200, headers: [], body: null });
      },
    },
    egress,
    browser: { ...real.browser, documents: egress },
  };
  const fast = { OTEL_BSP_SCHEDULE_DELAY: "10", OTEL_METRIC_EXPORT_INTERVAL: "10" };
  const telemetry = otlpSettings(env({ ...COLLECTOR, ...fast, ...variables }));
  const api = platformApi({
    platform,
    auth: "off",
    demo: true,
    accessLog: true,
    telemetry,
    search,
  });
  const textOf = ({ body }: OutboundRequest): string =>
    new TextDecoder().decode(body as Uint8Array);
  return {
    api,
    requests,
    async sent(path) {
      const found = (): OutboundRequest | undefined =>
        requests.find(({ url }) => url.endsWith(path));
      await eventually(() => found() !== undefined, `an export to ${path}`);
      const all = requests.filter(({ url }) => url.endsWith(path));
      return all.map(textOf).join("\n");
    },
  };
}

/** Asks a provider outside, which gives an empty answer. */
function askOpenAi(api: PlatformApi): Promise<Response> | Response {
  return api.request("/v1/local/default/openai/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer sk-x", traceparent },
    body: JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content: "Hi" }] }),
  });
}

interface SentSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
}

/** All spans that were exported. */
async function spansOf(sent: Setup["sent"]): Promise<readonly SentSpan[]> {
  const lines = (await sent("/v1/traces")).split("\n");
  const bodies = lines.map(
    (line) => JSON.parse(line) as { resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[] },
  );
  return bodies.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  );
}

/** The span of a name, once it was exported. */
async function spanOf(sent: Setup["sent"], name: string, parent?: string): Promise<SentSpan> {
  let found: SentSpan | undefined;
  for (; found === undefined; await new Promise((resolve) => setTimeout(resolve, 5)))
    found = (await spansOf(sent)).find(
      (span) => span.name === name && (parent === undefined || span.parentSpanId === parent),
    );
  return found;
}

function headerOf(requests: readonly OutboundRequest[], host: string): string | undefined {
  const request = requests.find(({ url }) => url.includes(host));
  return request?.headers.find(([name]) => name === "traceparent")?.[1];
}

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("what a collector gets", () => {
  it("is a span, a metric and a line of a request to any part", async () => {
    const { api, sent } = await setup({ OTEL_SERVICE_NAME: "mine" });
    await (
      await api.request("/client/v4/accounts/local/webhooks/endpoints", {
        headers: { traceparent },
      })
    ).text();
    const spans = await sent("/v1/traces");
    expect(spans).toContain('"traceId":"0af7651916cd43dd8448eb211c80319c"');
    expect(spans).toContain('"parentSpanId":"b7ad6b7169203331"');
    expect(spans).toContain('"name":"GET /client/v4/accounts/:account_id/webhooks/endpoints"');
    expect(spans).toContain('{"key":"service.name","value":{"stringValue":"mine"}}');
    const metrics = await sent("/v1/metrics");
    expect(metrics).toContain('"name":"http.server.request.duration"');
    expect(metrics).toContain('"count":"1"');
    const lines = await sent("/v1/logs");
    expect(lines).toContain('"body":{"stringValue":"Request"}');
    expect(lines).toContain('"severityText":"INFO"');
  });

  it("is what the gateway asked of models, without prompts and answers", async () => {
    const { api, sent } = await setup();
    const body = JSON.stringify({
      model: "echo",
      messages: [{ role: "user", content: "a private question" }],
    });
    const response = await api.request("/v1/local/default/echo/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json", traceparent },
      body,
    });
    await response.text();
    const spans = await sent("/v1/traces");
    expect(spans).toContain('"traceId":"0af7651916cd43dd8448eb211c80319c"');
    expect(spans).toContain('{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}}');
    expect(spans).toContain('{"key":"gen_ai.provider.name","value":{"stringValue":"echo"}}');
    expect(spans).toContain('"gen_ai.usage.input_tokens"');
    expect(spans).not.toContain("a private question");
  });

  it("follows what the caller says of its trace, and the share that is asked for", async () => {
    const { api, requests, sent } = await setup({ OTEL_TRACES_SAMPLER: "parentbased_always_off" });
    const ask = (header: string): Promise<string> =>
      Promise.resolve(
        api.request("/client/v4/accounts", { headers: { traceparent: header } }),
      ).then((one) => one.text());
    await ask(traceparent.replace(/01$/, "00"));
    await ask("no trace");
    await sent("/v1/logs");
    expect(requests.some(({ url }) => url.endsWith("/v1/traces"))).toBe(false);
    await ask(traceparent);
    expect(await sent("/v1/traces")).toContain("b7ad6b7169203331");
  });

  it("names the span of each attempt to the provider, in place of the caller's", async () => {
    const { api, requests, sent } = await setup();
    await (await askOpenAi(api)).text();
    const spans = await spansOf(sent);
    const attempt = spans.find(({ kind }) => kind === 3);
    const server = spans.find(({ kind }) => kind === 2);
    const provider = requests.find(({ url }) => url.includes("api.openai.com"));
    expect(attempt?.parentSpanId).toBe(server?.spanId);
    expect(provider?.headers.filter(([name]) => name === "traceparent")).toEqual([
      ["traceparent", `00-0af7651916cd43dd8448eb211c80319c-${attempt?.spanId}-01`],
    ]);
  });

  it("is each attempt to deliver a webhook, below the request that sent it", async () => {
    const { api, requests, sent } = await setup();
    const hooks = "/client/v4/accounts/local/webhooks";
    const post = async (path: string, json: unknown): Promise<void> => {
      const headers = { "content-type": "application/json", traceparent };
      const body = JSON.stringify(json);
      const response = await api.request(`${hooks}${path}`, { method: "POST", headers, body });
      expect(response.ok).toBe(true);
      await response.text();
    };
    await post("/endpoints", { url: "https://hooks.test/in?key=secret" });
    await post("/send", { type: "order.paid", payload: {} });
    await eventually(() => requests.some(({ url }) => url.includes("hooks.test")), "a delivery");
    const delivery = await spanOf(sent, "webhook delivery");
    const server = await spanOf(sent, "POST /client/v4/accounts/:account_id/webhooks/send");
    expect([delivery.parentSpanId, delivery.kind]).toEqual([server.spanId, 3]);
    expect(headerOf(requests, "hooks.test")).toBe(`00-${delivery.traceId}-${delivery.spanId}-01`);
    expect(JSON.stringify(delivery)).not.toContain("secret");
  });

  it("is each rendering, named to the origin that is rendered", async () => {
    const { api, requests, sent } = await setup();
    const response = await api.request("/client/v4/accounts/local/browser-rendering/markdown", {
      method: "POST",
      headers: { "content-type": "application/json", traceparent },
      body: JSON.stringify({ url: "https://page.test/", render: false }),
    });
    expect(await response.text()).toContain("# Hi");
    const rendering = await spanOf(sent, "render markdown");
    expect([rendering.traceId, rendering.kind]).toEqual([traceparent.split("-")[1], 1]);
    expect(headerOf(requests, "page.test")).toBe(`00-${rendering.traceId}-${rendering.spanId}-01`);
  });

  it("is each call of a model that a search makes, named to the model", async () => {
    const told: (string | undefined)[] = [];
    const { api, sent } = await setup({}, [], {
      embedder: {
        model: "vectors",
        dimensions: 2,
        embed: (texts, purpose, _signal, parent) => {
          if (purpose === "query") told.push(parent);
          return Promise.resolve(texts.map(() => Float32Array.of(1, 0)));
        },
      },
      reranker: {
        model: "scores",
        rerank: (_query, texts, _signal, parent) => {
          told.push(parent);
          return Promise.resolve(texts.map(() => 1));
        },
      },
      chatModel: Object.assign(
        (request: Request) => {
          told.push(request.headers.get("traceparent") ?? undefined);
          return Promise.resolve(Response.json({ choices: [{ message: { content: "At noon" } }] }));
        },
        { model: "words" },
      ),
    });
    const root = "/client/v4/accounts/local/ai-search/instances";
    const json = (body: object): RequestInit => ({
      method: "POST",
      headers: { "content-type": "application/json", traceparent },
      body: JSON.stringify(body),
    });
    const made = await api.request(root, json({ id: "docs" }));
    expect(made.status).toBe(200);
    const form = new FormData();
    form.set("file", new File(["The ferry leaves at noon."], "ferry.md"));
    form.set("wait_for_completion", "true");
    await (await api.request(`${root}/docs/items`, { method: "POST", body: form })).text();
    const asked = await api.request(
      `${root}/docs/chat/completions`,
      json({
        messages: [{ role: "user", content: "When does the ferry leave?" }],
        ai_search_options: { reranking: { enabled: true } },
      }),
    );
    expect(await asked.text()).toContain("At noon");
    const server = await spanOf(
      sent,
      "POST /client/v4/accounts/:account_id/ai-search/instances/:id/chat/completions",
    );
    const names = ["embeddings vectors", "rerank scores", "chat words"];
    const calls: SentSpan[] = [];
    // The upload has had its text embedded as well, below a span of its own.
    for (const name of names) calls.push(await spanOf(sent, name, server.spanId));
    for (const { kind } of calls) expect(kind).toBe(3);
    expect(told).toEqual(calls.map((call) => `00-${call.traceId}-${call.spanId}-01`));
  });

  it("leaves the caller's trace as it is where nobody traces", async () => {
    const { api, requests } = await setup({ OTEL_TRACES_EXPORTER: "none" });
    await (await askOpenAi(api)).text();
    const provider = requests.find(({ url }) => url.includes("api.openai.com"));
    expect(provider?.headers).toContainEqual(["traceparent", traceparent]);
  });

  it("keeps of the gateway's traces what is asked for, too, and tells the provider", async () => {
    const { api, requests, sent } = await setup({ OTEL_TRACES_SAMPLER: "always_off" });
    await (await askOpenAi(api)).text();
    await sent("/v1/logs");
    const provider = requests.find(({ url }) => url.includes("api.openai.com"));
    const [, header] = provider?.headers.find(([name]) => name === "traceparent") ?? [];
    expect(header).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-00$/);
    expect(requests.some(({ url }) => url.endsWith("/v1/traces"))).toBe(false);
  });

  it("is the metric of the last request, too, although none comes after it", async () => {
    const { api, requests } = await setup({
      OTEL_TRACES_EXPORTER: "none",
      OTEL_LOGS_EXPORTER: "none",
      OTEL_METRIC_EXPORT_INTERVAL: "200",
    });
    const exported = (): string =>
      requests.map(({ body }) => new TextDecoder().decode(body as Uint8Array)).join("\n");
    await (await api.request("/client/v4/accounts")).text();
    await eventually(() => requests.length === 1, "the first export");
    // Within the interval of that export.
    await (await api.request("/client/v4/deprecations")).text();
    await eventually(() => exported().includes("/client/v4/deprecations"), "the second request");
  });

  it("is sent again where the collector was busy", async () => {
    const { api, requests } = await setup(
      { OTEL_METRICS_EXPORTER: "none", OTEL_LOGS_EXPORTER: "none" },
      [503],
    );
    await (await api.request("/client/v4/accounts")).text();
    await eventually(() => requests.length === 2, "a second attempt");
    expect(requests[0]?.url).toBe(requests[1]?.url);
  });
});
