import { randomUUID } from "node:crypto";
import { Agent, request as openRequest } from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, inject, it } from "vitest";
import { gatewayToken } from "./prepare-target.ts";
import { streamOf as openaiStream } from "../fakes/gateway-openai-stream.ts";
import type { Seen } from "./upstream.ts";

const base = inject("baseUrl");
const upstream = inject("upstreamUrl");
const token = inject("token");
const account = inject("accountId");
const management = `${base}/client/v4/accounts/${account}/ai-gateway/gateways`;

/** Makes a gateway without authentication and with these settings; returns its id. */
async function makeGateway(more: object): Promise<string> {
  const id = `p-${randomUUID().slice(0, 8)}`;
  const settings = {
    authentication: false,
    cache_invalidate_on_update: false,
    cache_ttl: null,
    collect_logs: true,
    rate_limiting_interval: null,
    rate_limiting_limit: null,
  };
  const made = await fetch(management, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ id, ...settings, ...more }),
  });
  expect(made.status).toBe(200);
  return id;
}

const text = (value: string): object => ({ type: "text", text: value });

function send(
  gateway: string,
  content: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${base}/v1/${account}/${gateway}/openai/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-test-mode": "json", ...headers },
    body: JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content }] }),
  });
}

/** The status of a request over a connection of this agent. */
function statusOf(agent: Agent, gateway: string, type: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const url = `${base}/v1/${account}/${gateway}/openai/chat/completions`;
    const headers = { "content-type": type, "x-test-mode": "json" };
    openRequest(url, { agent, method: "POST", headers }, (answer) => {
      answer.resume().once("end", () => {
        resolve(answer.statusCode ?? 0);
      });
    })
      .once("error", reject)
      .end(body);
  });
}

describe("a stream whose client did not ask for its usage", () => {
  it("has the bytes of one that nobody asked, and its cost in the row", async () => {
    const gateway = await makeGateway({});
    const ask = (more: object): Promise<Response> =>
      fetch(`${base}/v1/${account}/${gateway}/openai/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-test-mode": "openai-stream" },
        body: JSON.stringify({ model: "gpt-4o", stream: true, messages: [], ...more }),
      });
    expect(await (await ask({})).text()).toBe(openaiStream(false).join(""));
    const asking = { stream_options: { include_usage: true } };
    expect(await (await ask(asking)).text()).toBe(openaiStream(true).join(""));
    const rows = `${management}/${gateway}/logs`;
    const headers = { authorization: `Bearer ${token}` };
    await expect
      .poll(async () => {
        const { result } = (await (await fetch(rows, { headers })).json()) as {
          result: { cost: number | null }[];
        };
        return result.map(({ cost }) => cost);
      })
      .toEqual([3.5, 3.5]);
  });
});

describe("a gateway with protections", () => {
  it("refuses what a spend limit cannot count, and counts packed bodies", async () => {
    const rules = [{ limit: 0.000_001, limitType: "cost", window: 86_400 }];
    const gateway = await makeGateway({ spend_limits: { rules } });
    const ask = (model: string): Promise<Response> =>
      fetch(`${base}/v1/${account}/${gateway}/openai/chat/completions`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "content-encoding": "gzip",
          "x-test-mode": "json",
        },
        body: gzipSync(JSON.stringify({ model, messages: [] })),
      });
    const unknown = await ask("no-such-model");
    expect([unknown.status, await unknown.text()]).toEqual([
      400,
      expect.stringMatching(/10521.*no price is known of the model/),
    ]);
    await expect.poll(async () => (await ask("GPT-4o-2024-08-06")).status).toBe(429);
  });

  it("spends exactly its limit, however many requests come at once", async () => {
    const rules = [
      { id: "tenth", limit: 0.5, limitType: "cost", window: 86_400, technique: "sliding" },
    ];
    const gateway = await makeGateway({ spend_limits: { rules } });
    const paying = { "cf-aig-custom-cost": '{"total_cost":0.1}' };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => send(gateway, "hi", paying)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    const refused = answers.find(({ status }) => status === 429);
    expect(await refused?.text()).toMatch(/2003.*\\"tenth\\" allows 0\.5 USD/);
  });

  it("keeps a card number from the provider", async () => {
    const gateway = await makeGateway({
      dlp: { enabled: true, action: "BLOCK", profiles: ["financial"] },
    });
    const id = randomUUID();
    const answer = await send(gateway, "pay with 4111 1111 1111 1111", { "x-test-id": id });
    expect(answer.status).toBe(400);
    expect(answer.headers.get("cf-aig-dlp")).toContain("credit_card");
    expect(await answer.text()).toMatch(/2029/);
    const seen = (await (await fetch(`${upstream}/__seen/${id}`)).json()) as Seen[];
    expect(seen).toEqual([]);
  });

  it.each([
    [
      "over lines, in full-width digits and with invisible characters",
      "４１１１\n1111\u200b 1111\n１１１１",
    ],
    ["in the parts of a message", [text("4111 1111"), text("1111 1111")]],
  ])("keeps a card number from the provider %s", async (_, content) => {
    const gateway = await makeGateway({
      authentication: false,
      dlp: { enabled: true, action: "BLOCK", profiles: ["financial"] },
    });
    const id = randomUUID();
    const answer = await send(gateway, content, { "x-test-id": id });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("2029")]);
    expect(await (await fetch(`${upstream}/__seen/${id}`)).json()).toEqual([]);
  });

  it("keeps a card number from the provider in the query, in a header, and under a name that is there twice", async () => {
    const gateway = await makeGateway({
      authentication: false,
      dlp: { enabled: true, action: "BLOCK", profiles: ["financial"] },
    });
    const url = `${base}/v1/${account}/${gateway}/openai/chat/completions`;
    const ask = async (query: string, headers: Record<string, string>, body: string) => {
      const all = { "content-type": "application/json", "x-test-mode": "json", ...headers };
      const answer = await fetch(url + query, { method: "POST", headers: all, body });
      return [answer.status, /"code":(\d+)/.exec(await answer.text())?.[1]];
    };
    const harmless = '{"model":"m","messages":[]}';
    expect(await ask("?q=4111%201111%201111%201111", {}, harmless)).toEqual([400, "2029"]);
    expect(await ask("", { "x-note": "4111 1111 1111 1111" }, harmless)).toEqual([400, "2029"]);
    const twice = '{"messages":[{"content":"4111 1111 1111 1111","content":"hi"}]}';
    const [status, code] = await ask("", {}, twice);
    expect([status, code === "2029"]).toEqual([400, false]);
    expect(await ask("?q=1", { "x-note": "hi" }, harmless)).toEqual([200, undefined]);
  });

  it("answers other requests while it checks a long one", async () => {
    const gateway = await makeGateway({
      authentication: false,
      dlp: { enabled: true, action: "BLOCK", profiles: ["financial", "secrets", "pii"] },
    });
    const check = { isOver: false };
    const long = send(gateway, "Grüße an alle 12 Äpfel\n".repeat(300_000)).then((answer) => {
      check.isOver = true;
      return answer.status;
    });
    let others = 0;
    while (!check.isOver) {
      expect((await fetch(`${base}/v1/${account}/nobody/openai/x`)).ok).toBe(false);
      if (!check.isOver) others += 1;
    }
    expect([await long, others > 3]).toEqual([200, true]);
  });

  it("answers the next request on a connection after a body that it refused unread", async () => {
    const gateway = await makeGateway({
      dlp: { enabled: true, action: "BLOCK", profiles: ["financial"] },
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const large = await statusOf(agent, gateway, "text/plain", "x".repeat(1_200_000));
    const next = await statusOf(
      agent,
      gateway,
      "application/json",
      `{"text":"${"y".repeat(2000)}"}`,
    );
    agent.destroy();
    expect([large, next]).toEqual([413, 200]);
  });

  it("checks an answer's whole stream before it sends any of it", async () => {
    const gateway = await makeGateway({
      dlp: { enabled: true, action: "FLAG", profiles: ["secrets"] },
    });
    const answer = await send(gateway, "hi", { "x-test-mode": "sse" });
    expect([answer.status, answer.headers.get("cf-aig-dlp")]).toEqual([200, null]);
    expect(await answer.text()).toContain("[DONE]");
  });
});

describe("what could never work", () => {
  it.each([
    "http://127.0.0.1:4318/v1/traces",
    "http://localhost:4318/v1/traces",
    "https://[::1]/v1/traces",
    "http://10.1.2.3/v1/traces",
    "http://2130706433/v1/traces",
  ])("is refused where it is written: traces to %s", async (url) => {
    const id = `t-${randomUUID().slice(0, 8)}`;
    const settings = {
      cache_invalidate_on_update: false,
      cache_ttl: null,
      collect_logs: true,
      rate_limiting_interval: null,
      rate_limiting_limit: null,
    };
    const answer = await fetch(management, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ id, ...settings, otel: [{ url }] }),
    });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringMatching(/otel\.0\.url: .*not a public address.*webhooks\.allowHosts/),
    ]);
  });
});

it("without a token a gateway that does not exist answers as one that does", async () => {
  const answers = await Promise.all(
    ["guarded", "not-there", "x".repeat(65)].map(async (id) => {
      const url = `${base}/v1/${account}/${id}/openai/chat/completions`;
      const answer = await fetch(url, { method: "POST", body: "{}" });
      // All but the first are of the connection, which in a cluster may lead to another runtime.
      const others = new Set(["date", "connection", "keep-alive", "transfer-encoding"]);
      const names = [...answer.headers.keys()].filter((name) => !others.has(name));
      return [answer.status, await answer.text(), names];
    }),
  );
  expect(answers[0]?.[0]).toBe(401);
  expect(answers).toEqual(answers.map(() => answers[0]));
});

describe("wss …/v1/{account}/{gateway}", () => {
  const address = (gateway: string): string =>
    `${base.replace(/^http/, "ws")}/v1/${account}/${gateway}`;

  async function frames(socket: WebSocket, request: object): Promise<Record<string, unknown>[]> {
    const received: Record<string, unknown>[] = [];
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener("error", () => {
        reject(new Error("No connection"));
      });
      socket.addEventListener("open", () => {
        socket.send(JSON.stringify({ type: "universal.create", request }));
      });
      socket.addEventListener("message", ({ data }) => {
        const frame = JSON.parse(String(data)) as Record<string, unknown>;
        received.push(frame);
        const isStream = String(
          (frame["metadata"] as { contentType?: string }).contentType,
        ).includes("event-stream");
        if (frame["type"] === "universal.created" && isStream) return;
        if (frame["type"] !== "universal.stream") resolve();
      });
    });
    socket.close();
    return received;
  }

  it("takes the token as a subprotocol and streams an answer", async () => {
    const socket = new WebSocket(address("guarded"), [`cf-aig-authorization.${gatewayToken}`]);
    const received = await frames(socket, {
      eventId: "event-1",
      provider: "openai",
      endpoint: "chat/completions",
      headers: { "x-test-mode": "sse" },
      query: { model: "m", stream: true, messages: [{ role: "user", content: "one two" }] },
    });
    expect(received[0]).toMatchObject({
      type: "universal.created",
      metadata: { eventId: "event-1", step: "0" },
    });
    expect(received.at(-1)).toMatchObject({
      type: "universal.done",
      metadata: { eventId: "event-1" },
    });
    expect(received.length).toBeGreaterThan(2);
  });

  it("answers what is no stream with one frame", async () => {
    const received = await frames(new WebSocket(address("open")), {
      provider: "openai",
      endpoint: "chat/completions",
      headers: { "x-test-mode": "json" },
      query: { model: "m", messages: [] },
    });
    expect(received).toHaveLength(1);
    expect(received[0]).toMatchObject({
      type: "universal.created",
      response: { object: "chat.completion" },
    });
  });

  it("refuses a connection without the token", async () => {
    const socket = new WebSocket(address("guarded"));
    const closed = new Promise<number>((resolve) => {
      socket.addEventListener("close", ({ code }) => {
        resolve(code);
      });
    });
    expect(await closed).toBe(1006);
    const plain = await fetch(`${base}/v1/${account}/guarded`);
    expect(plain.status).toBe(426);
  });
});
