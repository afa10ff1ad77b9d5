import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { platformApi } from "../../../../core/api.ts";
import type { AiBinding } from "../../../../core/gateway/mod.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { type FedStream, fedStream } from "../../../fakes/gateway-fed-stream.ts";
import { sentHeaders, streamReply } from "../../../fakes/gateway-transport.ts";
import { resumableStreams } from "../../../../core/gateway/resume/mod.ts";

let gate: GatewayUnderTest;
let source: FedStream;
beforeAll(async () => {
  gate = await gatewayUnderTest({ resume: resumableStreams(), accountId: "acme" });
});
afterAll(() => gate.close());
beforeEach(() => {
  source = fedStream();
  gate.transport.requests.length = 0;
  gate.transport.behave = (request) => source.answer(request);
});

const step = { provider: "openai", endpoint: "v1/chat/completions", headers: {}, query: chat };
const event = (data: string): string => `data: ${data}\n\n`;

/** Reads until so many characters have come. */
async function received(body: ReadableStream<Uint8Array> | null, length: number): Promise<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let all = "";
  while (all.length < length) {
    const read = await reader?.read();
    if (read === undefined || read.done) break;
    all += decoder.decode(read.value, { stream: true });
  }
  reader?.releaseLock();
  return all;
}

/** A stream that has begun, for a client that can leave. */
async function begun(eventId: string) {
  const client = new AbortController();
  const pending = gate.send("open/openai/chat/completions", {
    ...jsonInit(chat, { "cf-aig-event-id": eventId }),
    signal: client.signal,
  });
  source.send(event("1"));
  const response = await pending;
  const runId = response.headers.get("cf-aig-run-id") ?? "";
  const resume = (from: number | string, gateway = "open"): Promise<Response> =>
    gate.manageRaw(`/gateways/${gateway}/run/${runId}/resume?from=${from}`);
  return { response, client, runId, resume };
}

describe("gateway({ resume })", () => {
  it("has a client go on where its connection broke off, and writes one row", async () => {
    const { response, client, runId, resume } = await begun("resumed");
    expect(runId).toMatch(/^[0-9a-f]{32}$/);
    expect(response.headers.get("gw-aig-run-id")).toBe(runId);
    expect(await received(response.body, 9)).toBe(event("1"));
    client.abort();
    source.send(event("2"));
    const resumed = await resume(1);
    expect([resumed.status, resumed.headers.get("content-type")]).toEqual([
      200,
      "text/event-stream",
    ]);
    source.send(event("3"));
    source.close();
    expect(await resumed.text()).toBe(event("2") + event("3"));
    expect(gate.transport.requests).toHaveLength(1);
    const rows = await gate.rowsOf("open", "resumed", 1);
    expect(rows).toMatchObject([{ success: true, cached: false }]);
    // Also what nobody lost can be read once more; that leaves no row.
    expect(await (await resume(0)).text()).toBe(event("1") + event("2") + event("3"));
    expect(await gate.rowsOf("open", "resumed", 1)).toHaveLength(1);
  });

  it("counts what a client never came back for, and keeps it in the log", async () => {
    const { client, response } = await begun("left");
    client.abort();
    await response.body?.cancel().catch(() => undefined);
    source.send('data: {"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\n');
    source.close();
    const [row] = await gate.rowsOf("open", "left", 1);
    expect(row).toMatchObject({ success: true, tokens_in: 3, tokens_out: 4 });
  });

  it("still ends the provider's request when the client leaves before the stream begins", async () => {
    const client = new AbortController();
    const pending = gate.send("open/openai/chat/completions", {
      ...jsonInit(chat),
      signal: client.signal,
    });
    while (gate.transport.requests.length === 0) await gate.platform.system.sleep(1);
    client.abort();
    await source.ended;
    await pending.then(
      (response) => response.body?.cancel().catch(() => undefined),
      () => undefined,
    );
    expect(source.isEnded).toBe(true);
  });

  it("gives an id to plain streams of events with LF alone", async () => {
    const runIdOf = async (): Promise<string | null> => {
      const response = await gate.send("open/openai/chat/completions", jsonInit(chat));
      await response.text();
      return response.headers.get("cf-aig-run-id");
    };
    const events = (text: string) => streamReply([text]);
    gate.transport.behave = () => events("data: 1\n\n");
    expect(await runIdOf()).not.toBe(null);
    gate.transport.behave = () => events("data: 1\r\n\r\n");
    expect(await runIdOf()).toBe(null);
    gate.transport.behave = () => ({ ...events("data: 1\n\n"), status: 500 });
    expect(await runIdOf()).toBe(null);
    gate.transport.behave = () => streamReply(['{"a":1}\n'], { type: "application/json" });
    expect(await runIdOf()).toBe(null);
    gate.transport.behave = () => {
      const { headers, ...reply } = events("data: 1\n\n");
      return { ...reply, headers: [...headers, ["content-encoding", "br"]] };
    };
    expect(await runIdOf()).toBe(null);
  });

  it("gives an id to streams from the cache and to those that came at once", async () => {
    const body = new TextEncoder().encode(event("1") + event("2"));
    gate.transport.behave = () => ({
      status: 200,
      headers: [["content-type", "text/event-stream; charset=utf-8"]],
      body,
    });
    for (const status of ["MISS", "HIT"]) {
      const init = jsonInit({ ...chat, user: "kept" }, { "cf-aig-cache-ttl": "60" });
      const response = await gate.send("open/openai/chat/completions", init);
      expect(response.headers.get("cf-aig-cache-status")).toBe(status);
      expect(await response.text()).toBe(event("1") + event("2"));
      const runId = response.headers.get("cf-aig-run-id");
      const resumed = await gate.manageRaw(`/gateways/open/run/${runId}/resume?from=1`);
      expect(await resumed.text()).toBe(event("2"));
    }
  });

  it("opens a run to nobody without its id, gateway, account and permission", async () => {
    const { response, runId, resume } = await begun("guarded");
    await response.body?.cancel();
    const statusOf = async (path: string, authorization?: string): Promise<number> => {
      const headers = authorization === undefined ? {} : { headers: { authorization } };
      const { status, body } = await gate.manageRaw(path, headers);
      await body?.cancel();
      return status;
    };
    const path = `/gateways/open/run/${runId}/resume?from=0`;
    expect(await statusOf(path, "")).toBe(401);
    expect(await statusOf(path, "Bearer read-only")).toBe(403);
    expect(await statusOf(`/gateways/open/run/${"0".repeat(32)}/resume?from=0`)).toBe(404);
    expect((await resume(0, "closed")).status).toBe(404);
    for (const from of ["", "-1", "x", "2", "1.5"]) expect((await resume(from)).status).toBe(400);
    const head = await gate.manageRaw(path, { method: "HEAD" });
    expect([head.status, head.headers.get("allow")]).toEqual([405, "GET"]);
    expect(await statusOf(path)).toBe(200);
  });

  it("says so where it is off, and gives no ids", async () => {
    const plain = await gatewayUnderTest();
    plain.transport.behave = () => streamReply([event("1")]);
    const response = await plain.send("open/openai/chat/completions", jsonInit(chat));
    await response.text();
    expect(response.headers.has("cf-aig-run-id")).toBe(false);
    const { status, body } = await plain.manage("/gateways/open/run/x/resume?from=0");
    expect([status, body.errors[0]?.message]).toEqual([404, expect.stringContaining("resume")]);
    await plain.close();
  });
});

describe("the binding of a gateway that is served", () => {
  const answerOf = (binding: AiBinding, headers: Record<string, string> = {}) =>
    binding.run([{ ...step, headers }]);

  it("shares cache, limits, settings and log with the other doors", async () => {
    gate.transport.behave = () => streamReply([event("1")]);
    const put = {
      authentication: false,
      cache_ttl: 60,
      cache_invalidate_on_update: false,
      collect_logs: true,
      rate_limiting_interval: 3600,
      rate_limiting_limit: 3,
    };
    await gate.manage("/gateways", { method: "POST", ...jsonInit({ id: "doors", ...put }) });
    const binding = gate.aiBinding("doors");
    const eventId = { "cf-aig-event-id": "door" };
    const first = await answerOf(binding, eventId);
    expect([first.headers.get("cf-aig-cache-status"), await first.text()]).toEqual([
      "MISS",
      event("1"),
    ]);
    const path = "doors/openai/v1/chat/completions";
    const second = await gate.send(path, jsonInit(chat, eventId));
    expect([second.headers.get("cf-aig-cache-status"), await second.text()]).toEqual([
      "HIT",
      event("1"),
    ]);
    await (await answerOf(binding, eventId)).text();
    expect((await gate.send(path, jsonInit(chat))).status).toBe(429);
    const limited = await answerOf(binding);
    expect([limited.status, await limited.json()]).toMatchObject([
      429,
      { error: [{ code: 2003 }] },
    ]);
    expect(gate.transport.requests).toHaveLength(1);
    expect(await gate.rowsOf("doors", "door", 3)).toHaveLength(3);
  });

  it("is given by platformApi() for any gateway of its account", async () => {
    gate.transport.behave = () => streamReply([event("1")]);
    const { platform } = gate;
    const gateways = { open: { authentication: false } };
    const api = platformApi({ platform, accountId: "acme", gateway: { gateways } });
    const headers = { "cf-aig-cache-ttl": "60" };
    const query = { ...chat, user: "api" };
    const first = await api.aiBinding("open").run({ ...step, query, headers });
    expect([first.headers.get("cf-aig-cache-status"), await first.text()]).toEqual([
      "MISS",
      event("1"),
    ]);
    const url = "http://gateway.test/v1/acme/open/openai/v1/chat/completions";
    const init = { method: "POST", ...jsonInit(query, headers) };
    const second = await api.fetch(new Request(url, init));
    expect([second.headers.get("cf-aig-cache-status"), await second.text()]).toEqual([
      "HIT",
      event("1"),
    ]);
    expect((await api.aiBinding("none").run(step)).status).toBe(400);
    expect((await api.aiBinding().run({ ...step, query })).headers.has("cf-aig-run-id")).toBe(
      false,
    );
  });

  it("asks once for identical requests through both doors at the same time", async () => {
    const body = { ...chat, user: "together" };
    const headers = { "cf-aig-cache-ttl": "60" };
    const answers = [
      gate.aiBinding("open").run({ ...step, query: body, headers }),
      gate.send("open/openai/v1/chat/completions", jsonInit(body, headers)),
    ];
    source.send(event("1"));
    const texts = Promise.all(answers.map(async (one) => (await one).text()));
    await Promise.all(answers);
    source.close();
    expect(await texts).toEqual([event("1"), event("1")]);
    expect(gate.transport.requests).toHaveLength(1);
  });

  it("takes gateway headers for all steps, which a step's own outrank", async () => {
    gate.transport.behave = () => streamReply([event("1")]);
    const binding = gate.aiBinding("open");
    const extraHeaders = { "CF-AIG-Event-Id": "extra", "cf-aig-metadata": '{"a":1}' };
    await (await binding.run(step, { extraHeaders })).text();
    const own = { ...step, headers: { "cf-aig-metadata": '{"b":2}', "x-own": "1" } };
    await (await binding.run([own], { extraHeaders })).text();
    const rows = await gate.rowsOf("open", "extra", 2);
    expect(new Set(rows.map(({ metadata }) => metadata))).toEqual(new Set(['{"a":1}', '{"b":2}']));
    const sent = sentHeaders(gate.transport.requests[1]);
    expect(sent).toMatchObject({ "x-own": "1" });
    expect(Object.keys(sent).filter((name) => name.includes("aig"))).toEqual([]);
  });

  it("takes a stream up again that was not read to its end", async () => {
    const binding = gate.aiBinding("open");
    const pending = binding.run([step]);
    source.send(event("1"));
    const response = await pending;
    await received(response.body, 9);
    await response.body?.cancel();
    source.send(event("2"));
    source.close();
    const runId = response.headers.get("cf-aig-run-id");
    const base = "https://workers-binding.ai/ai-gateway/gateways";
    const url = `${base}/open/run/${runId}/resume?from=1`;
    expect(await (await binding.fetch(url, { method: "GET" })).text()).toBe(event("2"));
    expect(await (await gate.aiBinding().fetch(new Request(url))).text()).toBe(event("2"));
    for (const [wrong, status] of [
      [`${base}/closed/run/${runId}/resume?from=1`, 404],
      [`${base}/open/run/${runId}/resume?from=9`, 400],
      [`${base}/open/run/${runId}`, 404],
      [url.replace("workers-binding.ai", "example.com"), 404],
    ] as const) {
      expect((await binding.fetch(new URL(wrong))).status).toBe(status);
    }
    expect((await binding.fetch(url, { method: "POST" })).status).toBe(404);
  });

  it("ends the provider's request when the program aborts, which is no lost connection", async () => {
    const control = new AbortController();
    const pending = gate.aiBinding("open").run([step], { signal: control.signal });
    source.send(event("1"));
    const response = await pending;
    expect(response.headers.has("cf-aig-run-id")).toBe(true);
    const read = response.text();
    control.abort();
    await expect(read).rejects.toThrow();
    await source.ended;
  });
});
