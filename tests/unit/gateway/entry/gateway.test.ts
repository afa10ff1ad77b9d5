import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  API_TOKEN,
  chat,
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { bytes, jsonReply, sentHeaders, streamReply } from "../../../fakes/gateway-transport.ts";
import { TransportError } from "../../../../core/net/transport-error.ts";

let gate: GatewayUnderTest;

beforeAll(async () => {
  gate = await gatewayUnderTest({
    providers: {
      openai: { baseUrl: "http://upstream.test/v1", apiKey: "stored-key" },
      anthropic: { apiKey: "stored-anthropic" },
      deepgram: { apiKey: "stored-deepgram" },
    },
  });
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.bodies.length = 0;
  gate.transport.behave = () => jsonReply({ ok: true });
});

const sent = () => sentHeaders(gate.transport.requests[0]);
const codeOf = async (response: Response): Promise<unknown> => {
  const body = (await response.json()) as { errors: [{ code: number }]; error: [{ code: number }] };
  expect(body.errors).toEqual(body.error);
  return [response.status, body.errors[0].code];
};

describe("authentication", () => {
  it.each([
    ["on", "a gateway token", "closed", GATEWAY_TOKEN, 200],
    ["on", "an API token with the Run permission", "closed", API_TOKEN, 200],
    ["on", "no token", "closed", null, 401],
    ["on", "a wrong token", "closed", "wrong", 401],
    ["on", "an API token without the Run permission", "closed", "read-only", 401],
    ["off", "no token", "open", null, 200],
    ["off", "a wrong token", "open", "wrong", 200],
  ])("%s with %s", async (_, __, id, token, status) => {
    const response = await gate.send(`${id}/openai/chat/completions`, { ...jsonInit(chat), token });
    expect(response.status).toBe(status);
    expect(gate.transport.requests.length).toBe(status === 200 ? 1 : 0);
    if (status === 401) expect(await codeOf(response)).toEqual([401, 2009]);
  });

  it("tells who has no valid token the header in both spellings", async () => {
    for (const token of [null, "wrong"]) {
      const init = { ...jsonInit(chat), token };
      const text = await (await gate.send("closed/openai/chat/completions", init)).text();
      expect(text).toContain("cf-aig-authorization: Bearer <GATEWAY_TOKEN>");
      expect(text).toContain("gw-aig-authorization");
    }
  });

  it("takes the token under the gw- prefix, which wins over cf-", async () => {
    const headers = {
      "gw-aig-authorization": `Bearer ${GATEWAY_TOKEN}`,
      "cf-aig-authorization": "Bearer wrong",
    };
    expect((await gate.send("closed/openai/x", jsonInit(chat, headers))).status).toBe(200);
    const reversed = {
      "cf-aig-authorization": `Bearer ${GATEWAY_TOKEN}`,
      "gw-aig-authorization": "Bearer wrong",
    };
    expect((await gate.send("closed/openai/x", jsonInit(chat, reversed))).status).toBe(401);
  });

  it("does not take the token from Authorization on a provider's own path", async () => {
    const headers = { authorization: `Bearer ${GATEWAY_TOKEN}` };
    expect((await gate.send("closed/openai/x", jsonInit(chat, headers))).status).toBe(401);
  });

  it("makes the gateway default for the first authenticated request only", async () => {
    const fresh = await gatewayUnderTest({ gateways: {} });
    const path = "default/openai/chat/completions";
    expect(await codeOf(await fresh.send(path, jsonInit(chat)))).toEqual([401, 2009]);
    expect((await fresh.manage("/gateways")).body.result).toEqual([]);
    expect((await fresh.send(path, { ...jsonInit(chat), token: API_TOKEN })).status).toBe(200);
    expect((await fresh.manage("/gateways/default")).body.result).toMatchObject({
      id: "default",
      authentication: true,
      collect_logs: true,
      cache_ttl: 0,
      is_default: true,
    });
    await fresh.close();
  });

  it.each(["nope", "x".repeat(65), "a%20b"])(
    "answers 400/2001 for the unknown gateway %s",
    async (id) => {
      const response = await gate.send(`${id}/openai/x`, { ...jsonInit(chat), token: API_TOKEN });
      expect(await codeOf(response)).toEqual([400, 2001]);
    },
  );

  it("leaves no log row of a refused request", async () => {
    const fresh = await gatewayUnderTest();
    await fresh.send("closed/openai/x", { ...jsonInit(chat), token: "wrong" });
    await fresh.send("closed/openai/y", { ...jsonInit(chat), token: GATEWAY_TOKEN });
    const rows = await fresh.logs("closed", 1);
    expect(rows.map((row) => row["path"])).toEqual(["y"]);
    await fresh.close();
  });
});

describe("what the provider gets", () => {
  it("is the caller's method, raw path, query and bytes", async () => {
    const body = '{ "model":"m" ,"n":1e0}';
    const path = "open/google-ai-studio/v1beta/models/g%2Fx:streamGenerateContent?alt=sse&q=%20+";
    await gate.send(path, { method: "PUT", body, headers: { "content-type": "application/json" } });
    const [request] = gate.transport.requests;
    expect(request?.method).toBe("PUT");
    expect(request?.url).toBe(
      "https://generativelanguage.googleapis.com/v1beta/models/g%2Fx:streamGenerateContent?alt=sse&q=%20+",
    );
    expect(gate.transport.bodies).toEqual([body]);
  });

  it("is chosen by the decoded segment, of which nothing else is decoded", async () => {
    await gate.send("open/%6fpenai/files/%c3%b6", jsonInit(chat));
    expect(gate.transport.requests[0]?.url).toBe("http://upstream.test/v1/files/%c3%b6");
    expect((await gate.send("open/%ff/x", jsonInit(chat))).status).toBe(400);
  });

  it("never holds a gateway token, wherever the caller put it", async () => {
    const headers = {
      authorization: `Bearer ${GATEWAY_TOKEN}`,
      "x-api-key": GATEWAY_TOKEN,
      "x-other": `bearer ${GATEWAY_TOKEN}`,
      "cf-aig-metadata": "{}",
    };
    const path = `closed/anthropic/v1/messages?key=${GATEWAY_TOKEN}&beta=true`;
    await gate.send(path, { ...jsonInit(chat, headers), token: GATEWAY_TOKEN });
    const [request] = gate.transport.requests;
    expect(JSON.stringify(request)).not.toContain(GATEWAY_TOKEN);
    expect(request?.url).toBe("https://api.anthropic.com/v1/messages?beta=true");
    expect(sent()["x-api-key"]).toBe("stored-anthropic");
  });

  it("carries the stored key in the native header when the caller sent no credential", async () => {
    await gate.send("open/openai/chat/completions", jsonInit(chat));
    expect(sent()["authorization"]).toBe("Bearer stored-key");
    expect(gate.transport.requests[0]?.url).toBe("http://upstream.test/v1/chat/completions");
    await gate.send("open/deepgram/v1/listen", jsonInit(chat));
    expect(sentHeaders(gate.transport.requests[1])["authorization"]).toBe("Token stored-deepgram");
  });

  it("carries the caller's own credential untouched, and then no stored key", async () => {
    await gate.send(
      "open/anthropic/v1/messages",
      jsonInit(chat, { authorization: "Bearer sk-mine" }),
    );
    expect(sent()["authorization"]).toBe("Bearer sk-mine");
    expect(sent()["x-api-key"]).toBeUndefined();
  });

  it("is a stream when the body is large or of another type", async () => {
    const big = `{"model":"big","text":"${"x".repeat(11 * 1024 * 1024)}"}`;
    await gate.send("open/openai/x", {
      body: big,
      headers: { "content-type": "application/json" },
    });
    expect(gate.transport.bodies[0]).toBe(big);
    expect(gate.transport.requests[0]?.body).toBeInstanceOf(ReadableStream);
    await gate.send("open/openai/x", {
      body: bytes("audio"),
      headers: { "content-type": "audio/wav" },
    });
    expect(gate.transport.bodies[1]).toBe("audio");
  });
});

describe("what the client gets", () => {
  it("is the provider's status, headers and bytes, also of an error", async () => {
    const reply = { error: { message: "slow down", weird: "é" } };
    gate.transport.behave = () =>
      jsonReply(reply, 429, [
        ["retry-after", "7"],
        ["x-ratelimit", "1"],
      ]);
    const response = await gate.send("open/openai/x", jsonInit(chat));
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("7");
    expect(await response.text()).toBe(JSON.stringify(reply));
  });

  it("has the gateway's facts under both prefixes", async () => {
    const response = await gate.send(
      "open/openai/x",
      jsonInit(chat, { "cf-aig-event-id": "mine" }),
    );
    for (const prefix of ["cf-aig-", "gw-aig-"]) {
      expect(response.headers.get(`${prefix}cache-status`)).toBe("MISS");
      expect(response.headers.get(`${prefix}event-id`)).toBe("mine");
      expect(response.headers.get(`${prefix}log-id`)).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
      expect(response.headers.get(`${prefix}request-id`)).toBe(
        response.headers.get(`${prefix}log-id`),
      );
    }
  });

  it("is 502/2005 when the provider cannot be reached", async () => {
    gate.transport.behave = () =>
      Promise.reject(new TransportError("unreachable", "connect ECONNREFUSED"));
    expect(await codeOf(await gate.send("open/openai/x", jsonInit(chat)))).toEqual([502, 2005]);
  });

  it("is 400/2008 for a provider that does not exist", async () => {
    expect(await codeOf(await gate.send("open/nope/x", jsonInit(chat)))).toEqual([400, 2008]);
  });

  it("has no body at 204 and survives a status that no response may have", async () => {
    gate.transport.behave = () => ({ status: 204, headers: [], body: new Uint8Array(0) });
    expect((await gate.send("open/openai/x", jsonInit(chat))).status).toBe(204);
    gate.transport.behave = () => ({ status: 999, headers: [], body: null });
    expect((await gate.send("open/openai/x", jsonInit(chat))).status).toBe(502);
  });

  it("is the stream as it comes, byte for byte", async () => {
    const whole = bytes('data: {"choices":[{"delta":{"content":"日本"}}]}\r\n\r\ndata: [DONE]\n\n');
    gate.transport.behave = () => streamReply([...whole].map((byte) => Uint8Array.of(byte)));
    const response = await gate.send("open/openai/x", jsonInit(chat));
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(whole);
  });

  it("breaks when the provider breaks off", async () => {
    gate.transport.behave = () => streamReply(["data: 1\n\n"], { ending: "break" });
    const response = await gate.send("open/openai/x", jsonInit(chat));
    await expect(response.text()).rejects.toThrow();
  });

  it("leaving early cancels the provider's stream", async () => {
    let cancelled = false;
    gate.transport.behave = () =>
      streamReply(["data: 1\n\n"], { ending: "hang", onCancel: () => (cancelled = true) });
    const response = await gate.send("open/openai/x", jsonInit(chat));
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    expect(cancelled).toBe(true);
  });

  it("asks the provider for nothing more while the client does not read", async () => {
    let asked = 0;
    gate.transport.behave = () => ({
      status: 200,
      headers: [["content-type", "text/event-stream"]],
      body: new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            asked++;
            controller.enqueue(new Uint8Array(1024));
          },
        },
        { highWaterMark: 0 },
      ),
    });
    const response = await gate.send("open/openai/x", jsonInit(chat));
    await gate.platform.system.sleep(20);
    expect(asked).toBeLessThanOrEqual(1);
    await response.body!.cancel();
  });
});

describe("an abort", () => {
  it("before the answer reaches the provider", async () => {
    const fresh = await gatewayUnderTest();
    const control = new AbortController();
    let reached = false;
    fresh.transport.behave = (request) =>
      new Promise((_, reject) => {
        request.signal?.addEventListener("abort", () => {
          reached = true;
          reject(new TransportError("aborted", "aborted"));
        });
        control.abort();
      });
    const url = "http://gateway.test/v1/acme/open/openai/x";
    const request = new Request(url, { method: "POST", ...jsonInit(chat), signal: control.signal });
    await Promise.resolve(fresh.app.fetch(request)).catch(() => undefined);
    expect(reached).toBe(true);
    const [row] = await fresh.logs("open", 1);
    expect(row).toMatchObject({ success: false });
    expect(row).not.toHaveProperty("status_code");
    await fresh.close();
  });

  it("in mid-stream leaves a row without success, with the tokens seen", async () => {
    const fresh = await gatewayUnderTest();
    const usage = 'data: {"usage":{"prompt_tokens":5,"completion_tokens":2}}\n\n';
    fresh.transport.behave = () => streamReply([usage], { ending: "hang" });
    const response = await fresh.send("open/openai/x", jsonInit(chat));
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    const [row] = await fresh.logs("open", 1);
    expect(row).toMatchObject({ success: false, status_code: 200, tokens_in: 5, tokens_out: 2 });
    await fresh.close();
  });
});

describe("the demo provider", () => {
  it("answers with the last user message, as JSON and as a stream", async () => {
    const answer = await gate.send("open/echo/chat/completions", jsonInit(chat));
    expect(await answer.json()).toMatchObject({
      model: "gpt-test",
      choices: [{ message: { role: "assistant", content: "hello there" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 2, completion_tokens: 2, total_tokens: 4 },
    });
    const stream = await gate.send(
      "open/echo/v1/chat/completions",
      jsonInit({ ...chat, stream: true }),
    );
    const text = await stream.text();
    expect(text).toMatch(/"content":"hello".*"content":" there".*data: \[DONE\]\n\n$/s);
    expect(gate.transport.requests).toEqual([]);
  });

  it("lists its model and refuses what it cannot do", async () => {
    expect(await (await gate.send("open/echo/models", { method: "GET" })).json()).toMatchObject({
      data: [{ id: "echo-demo" }],
    });
    expect((await gate.send("open/echo/chat/completions", jsonInit({ messages: [] }))).status).toBe(
      400,
    );
    expect((await gate.send("open/echo/nope", jsonInit({}))).status).toBe(404);
  });

  it("does not exist with demo: false", async () => {
    const fresh = await gatewayUnderTest({ demo: false });
    const response = await fresh.send("open/echo/chat/completions", jsonInit(chat));
    expect(await codeOf(response)).toEqual([400, 2008]);
    await fresh.close();
  });
});

describe("routes", () => {
  it("answers an unknown path in the gateway's shape", async () => {
    const response = await gate.app.fetch(new Request("http://gateway.test/v1/acme/open"));
    expect(response.status).toBeGreaterThanOrEqual(404);
    expect(await response.json()).toMatchObject({ success: false, name: "AiGatewayError" });
  });

  it("works below a prefix of a host app, raw path included", async () => {
    const { Hono } = await import("hono");
    const host = new Hono();
    host.route("/tenants/:tenant/llm", gate.app);
    const url = "http://host.test/tenants/a%20b/llm/v1/acme/open/openai/files%2Fx:go?y=1";
    expect((await host.fetch(new Request(url))).status).toBe(200);
    expect(gate.transport.requests[0]?.url).toBe("http://upstream.test/v1/files%2Fx:go?y=1");
  });
});
