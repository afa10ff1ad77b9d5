import { openPlatform } from "#platform";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type BodyBudget, bodyBudget } from "../../../../core/work/body-budget.ts";
import {
  API_TOKEN,
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

const KIBI = 1024;
let bodies: BodyBudget;
let gate: GatewayUnderTest;

beforeEach(async () => {
  bodies = bodyBudget(1024 * KIBI);
  gate = await gatewayUnderTest(
    { checkers: { none: { check: () => ({ action: "allow", findings: [] }) } } },
    { bodies },
  );
});
afterEach(() => gate.close());

const long = (size: number): object => ({ ...chat, user: "x".repeat(size) });
const send = (size: number, headers: object = {}, path = "open/openai/x"): Promise<Response> =>
  gate.send(path, jsonInit(long(size), { ...headers }));

/** What may be sent again has to be held. */
const TWICE = { "cf-aig-max-attempts": "2" };

/** Has the provider answer only when it is told to. */
function held(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  gate.transport.behave = async () => {
    await promise;
    return jsonReply({ ok: true });
  };
  return resolve;
}

const asked = async (count: number): Promise<void> => {
  while (gate.transport.requests.length < count) await gate.platform.system.sleep(1);
};

describe("bodies in memory", () => {
  it("beyond the budget are refused with 429 until others are answered", async () => {
    const answer = held();
    // JSON counts twice: as bytes and as text.
    const first = [send(200 * KIBI, TWICE), send(200 * KIBI, TWICE)];
    await asked(2);
    expect(bodies.used).toBeGreaterThan(700 * KIBI);
    const refused = await send(200 * KIBI, TWICE);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await refused.json()).toMatchObject({ success: false, errors: [{ code: 429 }] });
    const small = send(8 * KIBI, TWICE);
    await asked(3);
    answer();
    for (const response of await Promise.all([...first, small])) expect(response.status).toBe(200);
    expect(bodies.used).toBe(0);
    expect((await send(200 * KIBI, TWICE)).status).toBe(200);
  });

  it("stream through where nothing needs them, and are refused where something does", async () => {
    const body = JSON.stringify(long(700 * KIBI));
    const answer = await send(700 * KIBI);
    expect(answer.status).toBe(200);
    expect(gate.transport.requests[0]?.body).toBeInstanceOf(ReadableStream);
    expect(gate.transport.bodies[0]).toBe(body);
    const needs = [
      send(700 * KIBI, { "cf-aig-cache-ttl": "60" }),
      send(700 * KIBI, TWICE),
      send(700 * KIBI, {}, "open/anthropic/chat/completions"),
      send(700 * KIBI, {}, "open/compat/chat/completions"),
      gate.send("open", jsonInit([{ provider: "openai", endpoint: "x", query: long(700 * KIBI) }])),
      gate.manageRaw("/../ai/v1/chat/completions", {
        method: "POST",
        ...jsonInit(
          { ...long(700 * KIBI), model: "openai/x" },
          { authorization: `Bearer ${API_TOKEN}`, "cf-aig-gateway-id": "open" },
        ),
      }),
    ];
    const statuses = [];
    for (const response of needs) statuses.push((await response).status);
    expect(statuses).toEqual([429, 429, 429, 429, 429, 429]);
    expect([gate.transport.requests.length, bodies.used]).toEqual([1, 0]);
  });

  it("count until the last byte of a stream has passed, or its client has left", async () => {
    gate.transport.behave = () => streamReply(["data: 1\n\n", "data: 2\n\n"]);
    const whole = await send(100 * KIBI);
    expect(bodies.used).toBeGreaterThan(150 * KIBI);
    await whole.text();
    expect(bodies.used).toBe(0);
    gate.transport.behave = () => streamReply(["data: 1\n\n"], { ending: "hang" });
    const left = await send(100 * KIBI);
    expect(bodies.used).toBeGreaterThan(150 * KIBI);
    await left.body?.cancel();
    expect(bodies.used).toBe(0);
  });

  it("count no longer once their request has failed", async () => {
    gate.transport.behave = () => Promise.reject(new Error("defect"));
    expect((await send(100 * KIBI)).status).toBe(500);
    expect((await send(100 * KIBI, {}, "open/nobody/x")).status).toBe(400);
    expect((await send(100 * KIBI, {}, "open/compat/chat/completions")).status).toBe(400);
    gate.transport.behave = (_, index) => jsonReply({ index }, index === 1 ? 500 : 200);
    const step = { provider: "openai", endpoint: "x", query: long(50 * KIBI) };
    expect((await gate.send("open", jsonInit([step, step]))).status).toBe(200);
    expect(bodies.used).toBe(0);
  });

  it("of answers that are checked count while they are collected", async () => {
    await gate.create("checked", {
      authentication: false,
      dlp: { enabled: true, action: "FLAG", profiles: ["credit_card"] },
    });
    const chunk = `data: {"x":"${"y".repeat(60 * KIBI)}"}\n\n`;
    gate.transport.behave = () => streamReply(Array.from({ length: 30 }, () => chunk));
    const refused = await send(1, {}, "checked/openai/x");
    expect([refused.status, bodies.used]).toEqual([429, 0]);
    gate.transport.behave = () => streamReply(Array.from({ length: 3 }, () => chunk));
    expect((await (await send(1, {}, "checked/openai/x")).text()).length).toBe(3 * chunk.length);
    expect(bodies.used).toBe(0);
  });
});

it.each([
  ["long", {}],
  ["short", { "content-length": "2000" }],
])(
  "a %s body that stands still is given up, and takes no room from others",
  async (_length, headers) => {
    const real = await openPlatform();
    const system = {
      ...real.system,
      sleep: (_: number, signal?: AbortSignal) => real.system.sleep(20, signal),
    };
    const hurried = await gatewayUnderTest({}, { bodies, system });
    const body = new ReadableStream<Uint8Array>({
      start: (controller) =>
        controller.enqueue(new TextEncoder().encode(`{"x":"${"x".repeat(1000)}`)),
    });
    const init = {
      method: "POST",
      body,
      duplex: "half",
      headers: { "content-type": "application/json", ...headers },
    };
    const answer = await hurried.send("open/openai/x", init);
    expect([answer.status, bodies.used]).toEqual([408, 0]);
    await hurried.close();
    await real.close();
  },
);
