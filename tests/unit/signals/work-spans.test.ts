import { openPlatform } from "#platform";
import { afterEach, describe, expect, it } from "vitest";
import { defineAgent } from "../../../core/agents/mod.ts";
import { platformApi, type PlatformApi } from "../../../core/api.ts";
import type { PlatformApiOptions } from "../../../core/config/platform-api-options.ts";
import type { OutboundRequest, Platform } from "../../../core/ports.ts";
import { otlpSettings } from "../../../core/signals/otlp/otlp-settings.ts";
import { utf8 } from "../../../core/crypto/encoding.ts";
import { fakeEmbedder } from "../../fakes/search-models.ts";
import { githubRequest, SECRET } from "../../fakes/webhooks-sender.ts";
import { eventually } from "../../cases/eventually.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
const page = "<title>A</title><p>The cat plays music.</p>";

interface SentSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly status: { readonly code: number };
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

const opened: Platform[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((platform) => platform.close()));
});

interface Setup {
  readonly api: PlatformApi;
  /** The first span of a name that the collector has got. */
  readonly spanOf: (name: string | RegExp) => Promise<SentSpan>;
  readonly spans: () => readonly SentSpan[];
  /** What was sent anywhere but to the collector. */
  readonly asked: readonly OutboundRequest[];
}

async function setup(options: Partial<PlatformApiOptions>, exporter = "otlp"): Promise<Setup> {
  const real = await openPlatform();
  opened.push(real);
  const bodies: string[] = [];
  const asked: OutboundRequest[] = [];
  const platform: Platform = {
    ...real,
    log: () => undefined,
    transport: {
      send({ body, url }) {
        if (url.endsWith("/v1/traces")) bodies.push(new TextDecoder().decode(body as Uint8Array));
        return Promise.resolve({ status: 200, headers: [], body: null });
      },
    },
    egress: played(asked),
    browser: { ...real.browser, documents: played(asked) },
  };
  const variables: Readonly<Record<string, string>> = {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector.test:4318",
    OTEL_TRACES_EXPORTER: exporter,
    OTEL_METRICS_EXPORTER: "none",
    OTEL_LOGS_EXPORTER: "none",
    OTEL_BSP_SCHEDULE_DELAY: "10",
  };
  const telemetry = otlpSettings((name) => variables[name]);
  const api = platformApi({ ...options, platform, auth: "off", telemetry });
  const spans = (): readonly SentSpan[] => bodies.flatMap(spansIn);
  const spanOf = async (name: string | RegExp): Promise<SentSpan> => {
    const isNamed = (span: SentSpan): boolean =>
      typeof name === "string" ? span.name === name : name.test(span.name);
    const found = (): SentSpan | undefined => spans().find(isNamed);
    await eventually(() => found() !== undefined, `a span "${name}"`);
    const span = found();
    if (span === undefined) throw new Error("It was there a moment ago");
    return span;
  };
  return { api, spans, spanOf, asked };
}

/** The internet of a test. */
function played(asked: OutboundRequest[]): Platform["egress"] {
  return {
    send(request) {
      asked.push(request);
      const isFile = /robots|sitemap/.test(request.url);
      return Promise.resolve({
        status: isFile ? 404 : 200,
        headers: [["content-type", "text/html"]],
        body: utf8(page),
      });
    },
  };
}

function spansIn(body: string): SentSpan[] {
  const { resourceSpans } = JSON.parse(body) as {
    resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[];
  };
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}

function factOf(span: SentSpan, key: string): object | undefined {
  return span.attributes.find((one) => one.key === key)?.value;
}

const worker = defineAgent({
  name: "TracedWorker",
  retry: { baseMs: 1, maxMs: 1 },
  async onEvent(agent) {
    await agent.queue("follow", {});
    await agent.schedule(0.01, "later", {});
    await agent.webhooks.send({ type: "done", payload: {} });
  },
  async onRequest(agent) {
    await agent.queue("asked", {});
    await agent.queue("poll", { left: 1 });
    return new Response("queued");
  },
  tasks: {
    follow: (_agent, _payload, run) => {
      if (run.attempt === 1) throw new TypeError("the first run fails");
    },
    later: () => undefined,
    asked: () => undefined,
    async poll(agent, { left }: { readonly left: number }) {
      if (left > 0) await agent.queue("poll", { left: left - 1 });
    },
  },
  schedules: {},
});

const withWorker: Partial<PlatformApiOptions> = {
  agents: [worker],
  webhooks: { sources: { github: { scheme: "github", secret: SECRET, agent: "TracedWorker" } } },
};

const json = (body: object): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", traceparent },
  body: JSON.stringify(body),
});

async function sendEvent(api: PlatformApi): Promise<void> {
  const body = { repository: { full_name: "octo/hello" } };
  const request = await githubRequest("/webhooks/github", body, "delivery-1");
  const headers = new Headers(request.headers);
  headers.set("traceparent", traceparent);
  const url = "http://localhost/webhooks/github";
  const init = { method: "POST", headers, body: await request.arrayBuffer() };
  const answer = await api.fetch(new Request(url, init));
  expect([answer.status, await answer.text()]).toEqual([200, expect.anything()]);
}

describe("the span of work that no request waits for", () => {
  it("of an agent is below the webhook that caused it, and so is all that the handler asks for", async () => {
    const { api, spanOf, spans } = await setup(withWorker);
    await (
      await api.request(
        "/client/v4/accounts/local/webhooks/endpoints",
        json({ url: "https://hooks.test/in" }),
      )
    ).text();
    await sendEvent(api);
    const event = await spanOf("event");
    const server = await spanOf(/^POST \/webhooks\/:provider/);
    expect([event.parentSpanId, event.traceId, event.kind]).toEqual([server.spanId, traceId, 1]);
    for (const name of ["task follow", "task later", "webhook delivery"])
      expect((await spanOf(name)).parentSpanId, name).toBe(event.spanId);
    await eventually(
      () => spans().filter(({ name }) => name === "task follow").length === 2,
      "two",
    );
    const runs = spans().filter(({ name }) => name === "task follow");
    expect(runs.map((run) => [run.status.code, factOf(run, "error.type")])).toEqual([
      [2, { stringValue: "internal" }],
      [0, undefined],
    ]);
    expect(factOf(runs[1] ?? event, "causey.attempt")).toEqual({ intValue: "2" });
    expect(JSON.stringify(runs)).not.toContain("the first run fails");
  });

  it("of a task is in the trace of the request in which it was queued", async () => {
    const { api, spanOf, spans } = await setup(withWorker);
    const headers = { traceparent };
    expect(await (await api.request("/agents/traced-worker/one", { headers })).text()).toBe(
      "queued",
    );
    const server = await spanOf(/^GET \/agents\/:class\/:name/);
    expect((await spanOf("task asked")).parentSpanId).toBe(server.spanId);
    const polls = (): readonly SentSpan[] => spans().filter(({ name }) => name === "task poll");
    await eventually(() => polls().length === 2, "both runs of what queues itself");
    // A loop makes no trace without an end.
    expect(polls().map((span) => [span.parentSpanId, span.traceId === traceId])).toEqual([
      [server.spanId, true],
      [undefined, false],
    ]);
  });

  it("of a crawl's page is below the request that began the crawl, and named to the page's site", async () => {
    const { api, spanOf, asked } = await setup({ rendering: { crawls: { delayMs: 0 } } });
    const root = "/client/v4/accounts/local/browser-rendering/crawl";
    const began = await api.request(
      root,
      json({ url: "https://site.test/a?key=k", render: false }),
    );
    expect(began.status, await began.clone().text()).toBe(200);
    const visit = await spanOf("crawl page");
    const server = await spanOf("POST /client/v4/accounts/:account_id/browser-rendering/crawl");
    expect([visit.parentSpanId, visit.traceId]).toEqual([server.spanId, traceId]);
    expect(factOf(visit, "server.address")).toEqual({ stringValue: "site.test" });
    expect(JSON.stringify(visit)).not.toContain("key=k");
    const request = asked.find(({ url }) => url.includes("/a?key"));
    const named = `00-${traceId}-${visit.spanId}-01`;
    expect(request?.headers.find(([name]) => name === "traceparent")?.[1]).toBe(named);
  });

  it("of a sync job is below its request, with the crawl and the vectors that it asks for", async () => {
    const { api, spanOf } = await setup({
      rendering: { crawls: { delayMs: 0 } },
      search: { embedder: fakeEmbedder("vectors") },
    });
    const root = "/client/v4/accounts/local/ai-search/instances";
    const made = await api.request(
      root,
      json({
        id: "docs",
        type: "web-crawler",
        source: "https://site.test/",
        source_params: { web_crawler: { parse_type: "discover" } },
        sync_interval: null,
      }),
    );
    expect(made.status, await made.clone().text()).toBe(200);
    await (await api.request(`${root}/docs/jobs`, json({}))).text();
    const job = await spanOf("sync job");
    const visit = await spanOf("crawl page");
    const vectors = await spanOf("embed item");
    const model = await spanOf("embeddings vectors");
    expect(new Set([visit, vectors, model].map((span) => span.traceId))).toEqual(
      new Set([job.traceId]),
    );
    expect(model.parentSpanId).toBe(vectors.spanId);
  });

  it("of an uploaded item's vectors is in the trace of the upload", async () => {
    const { api, spanOf } = await setup({ search: { embedder: fakeEmbedder("vectors") } });
    const root = "/client/v4/accounts/local/ai-search/instances";
    expect((await api.request(root, json({ id: "docs" }))).status).toBe(200);
    const body = new FormData();
    body.set("file", new File(["The cat sleeps."], "cat.md"));
    const upload = { method: "POST", headers: { traceparent }, body };
    await (await api.request(`${root}/docs/items`, upload)).text();
    const server = await spanOf(
      "POST /client/v4/accounts/:account_id/ai-search/instances/:id/items",
    );
    const vectors = await spanOf("embed item");
    expect(vectors.parentSpanId).toBe(server.spanId);
    expect((await spanOf("embeddings vectors")).parentSpanId).toBe(vectors.spanId);
  });

  it("is not made where nobody traces, and no site is told of one", async () => {
    const { api, spans, asked } = await setup({ rendering: { crawls: { delayMs: 0 } } }, "none");
    const root = "/client/v4/accounts/local/browser-rendering/crawl";
    await (await api.request(root, json({ url: "https://site.test/", render: false }))).text();
    await eventually(() => asked.some(({ url }) => url === "https://site.test/"), "the page");
    expect(asked.flatMap(({ headers }) => headers.map(([name]) => name))).not.toContain(
      "traceparent",
    );
    expect(spans()).toEqual([]);
  });
});
