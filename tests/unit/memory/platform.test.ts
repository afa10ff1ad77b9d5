import { platformApi, type PlatformApi } from "causey";
import { defineAgent, getAgentByName } from "causey/agents";
import { afterEach, describe, expect, it } from "vitest";
import type { Platform } from "../../../core/ports.ts";
import { eventually } from "../../cases/eventually.ts";
import { SECRET, signedRequest } from "../../fakes/webhooks-sender.ts";
import { connectInMemory, openMemory } from "../../platform/memory.ts";

const counter = defineAgent({
  name: "counter",
  initialState: { seen: 0 },
  async onEvent(agent) {
    await agent.setState({ seen: agent.state.seen + 1 });
  },
  callable: {
    seen: (agent) => agent.state.seen,
    later: (agent) => agent.schedule(0.01, "mark"),
  },
  tasks: {
    mark: (agent) => agent.setState({ seen: 100 }),
  },
});

/** What the API's answers hold, as far as tests look at it. */
interface Answer {
  readonly result: Record<string, unknown> & readonly Record<string, unknown>[];
  readonly reason: string;
  readonly choices: readonly { readonly message: { readonly content: string } }[];
}

const opened: Platform[] = [];
afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())));

async function open(options: Parameters<typeof openMemory>[0] = {}): Promise<Platform> {
  const platform = await openMemory(options);
  opened.push(platform);
  return platform;
}

function api(platform: Platform): PlatformApi {
  return platformApi({
    platform,
    auth: "off",
    demo: true,
    agents: [counter],
    gateway: { gateways: { open: { authentication: false } } },
    webhooks: {
      sources: {
        orders: { scheme: "generic", secret: SECRET, agent: "counter", entity: { from: "path" } },
      },
    },
    deprecations: { clock: "2026-06-01" },
  });
}

const ROOT = "http://causey.test/client/v4/accounts/local";

async function ask(app: PlatformApi, url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await app.request(url.startsWith("/") ? `${ROOT}${url}` : url, init);
  const text = await response.text();
  expect([response.status, text]).toEqual([expect.toSatisfy((code) => code < 300), text]);
  return JSON.parse(text) as Answer;
}

const post = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

describe("platformApi() over memoryPlatform()", () => {
  it("answers through the gateway, from the demo and from a provider", async () => {
    const asked: string[] = [];
    const platform = await open({
      fetch: (request) => {
        asked.push(request.url);
        return Promise.resolve(Response.json({ choices: [{ message: { content: "Hi" } }] }));
      },
    });
    const app = api(platform);
    const body = { model: "m", messages: [{ role: "user", content: "Hello" }] };
    const base = "http://causey.test/v1/local/open";
    const echoed = await ask(app, `${base}/echo/chat/completions`, post(body));
    expect(echoed.choices[0]?.message.content).toBe("Hello");
    const answered = await ask(app, `${base}/openai/chat/completions`, {
      ...post(body),
      headers: { "content-type": "application/json", authorization: "Bearer key" },
    });
    expect(answered.choices[0]?.message.content).toBe("Hi");
    expect(asked).toEqual(["https://api.openai.com/v1/chat/completions"]);
    await eventually(
      async () => (await ask(app, "/ai-gateway/gateways/open/logs")).result.length === 2,
      "both attempts are logged",
    );
  });

  it("indexes a document and finds it", async () => {
    const app = api(await open());
    await ask(app, "/ai-search/instances", post({ id: "docs" }));
    const form = new FormData();
    form.set("file", new File(["# Bread\n\nBread is baked from flour."], "bread.md"));
    form.set("wait_for_completion", "true");
    await ask(app, "/ai-search/instances/docs/items", { method: "POST", body: form });
    const { result } = await ask(
      app,
      "/ai-search/instances/docs/search",
      post({ query: "what is bread baked from" }),
    );
    expect(JSON.stringify(result["chunks"])).toContain("baked from flour");
  });

  it("takes webhooks, wakes their agent, and sends webhooks out", async () => {
    const received: unknown[] = [];
    const platform = await open({
      fetch: async (request) => {
        received.push([request.url, await request.json()]);
        return new Response(null, { status: 204 });
      },
    });
    const app = api(platform);
    const event = await signedRequest("/webhooks/orders/shop-1", { id: "e1", type: "order" });
    expect((await app.fetch(event)).status).toBe(200);
    await eventually(
      async () => (await getAgentByName(platform, counter, "shop-1").seen()) === 1,
      "the agent has seen the event",
    );
    await ask(app, "/webhooks/endpoints", post({ url: "https://hooks.example.com/in" }));
    await ask(app, "/webhooks/send", post({ type: "paid", payload: { n: 1 } }));
    await eventually(() => Promise.resolve(received.length === 1), "the webhook is delivered");
    expect(received).toEqual([["https://hooks.example.com/in", { n: 1 }]]);
  });

  it("runs schedules, and holds WebSockets of agents", async () => {
    const platform = await open();
    const app = api(platform);
    const agent = getAgentByName(platform, counter, "one");
    await agent.later();
    await eventually(async () => (await agent.seen()) === 100, "the schedule has run");
    const socket = await connectInMemory({
      fetch: async ({ headers }) =>
        app.fetch(new Request("http://causey.test/agents/counter/one", { headers })),
    });
    await socket.next();
    await platform.close();
    expect((await socket.closed).code).toBe(1001);
  });

  it("lists deprecations, and answers a retired route 410", async () => {
    const app = api(await open());
    expect((await ask(app, "http://causey.test/client/v4/deprecations")).result.length).toBe(144);
    const gone = await app.request("http://causey.test/client/v4/zones/z/settings/minify");
    expect(gone.status).toBe(410);
  });
});

describe("memoryPlatform()", () => {
  it("tells what it lacks, and why", async () => {
    const app = api(await open());
    const response = await app.request("http://causey.test/readyz");
    const told: unknown = await response.json();
    const shown = JSON.stringify(told);
    expect(told).toMatchObject({ status: "ready", runtime: "memory" });
    expect(shown).toContain("pass browserEndpoint");
    expect(shown).toContain("pass memoryPlatform({ resolve })");
    const page = await app.request(`${ROOT}/browser-rendering/pdf`, post({ html: "<p>x" }));
    expect([page.status, await page.text()]).toEqual([
      503,
      expect.stringContaining("pass browserEndpoint"),
    ]);
  });

  it("shares nothing with another", async () => {
    const [one, two] = await Promise.all([open(), open()]);
    const [first, second] = [api(one), api(two)];
    await ask(first, "/ai-search/instances", post({ id: "docs" }));
    expect((await ask(first, "/ai-search/instances")).result).toHaveLength(1);
    expect((await ask(second, "/ai-search/instances")).result).toHaveLength(0);
    await one.close();
    expect((await ask(second, "/ai-search/instances")).result).toHaveLength(0);
  });

  it("takes no more than its database may hold, and is not ready while it is full", async () => {
    const platform = await open({ databaseBytes: 3 * 1024 * 1024 });
    const app = api(platform);
    await ask(app, "http://causey.test/healthz");
    const send = async (n: number): Promise<number> => {
      const event = { id: `e${n}`, type: "order", text: "x".repeat(100_000) };
      return (await app.fetch(await signedRequest("/webhooks/orders/big", event))).status;
    };
    let n = 0;
    for (; n < 100; n++) if ((await send(n)) === 503) break;
    expect(n).toBeLessThan(100);
    const ready = await app.request("http://causey.test/readyz");
    expect([ready.status, await ready.text()]).toEqual([
      503,
      expect.stringContaining("database or disk is full"),
    ]);
  });

  it("says what it takes as SQLite", async () => {
    await expect(openMemory({ sqlite: new URL("file:///sqlite3.wasm") })).rejects.toThrow(
      "memoryPlatform({ sqlite }) takes a compiled WebAssembly.Module",
    );
  });

  it("refuses calls once it is closed, and closes once", async () => {
    const platform = await openMemory();
    const app = api(platform);
    await Promise.all([platform.close(), platform.close()]);
    const ready = await app.request("http://causey.test/readyz");
    expect(ready.status).toBe(503);
  });
});
