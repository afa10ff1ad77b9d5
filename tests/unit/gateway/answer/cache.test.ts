import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createAiBinding } from "../../../../core/gateway/mod.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  requiredSettings,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
let serial = 0;

beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.bodies.length = 0;
  gate.transport.behave = (_, index) => jsonReply({ answer: index });
});

/** A body that no other test sends. */
const fresh = () => ({ ...chat, user: `test-${serial++}` });
const TTL = { "cf-aig-cache-ttl": "60" };
const ask = async (
  body: unknown,
  headers: Record<string, string> = TTL,
  path = "open/openai/x",
) => {
  const response = await gate.send(path, jsonInit(body, headers));
  return [response.headers.get("cf-aig-cache-status"), await response.text()];
};

describe("the cache", () => {
  it("answers the same request again, at no cost", async () => {
    const body = fresh();
    const first = await ask(body);
    expect(first[0]).toBe("MISS");
    expect(await ask(body, { ...TTL, "cf-aig-event-id": "cached-row" })).toEqual(["HIT", first[1]]);
    expect(gate.transport.requests.length).toBe(1);
    const rows = await gate.rowsOf("open", "cached-row", 1);
    expect(rows).toMatchObject([{ cached: true, cost: 0, success: true }]);
  });

  it("is off without a TTL, with skip-cache, and with a TTL of 0", async () => {
    const body = fresh();
    await ask(body, {});
    await ask(body, { ...TTL, "cf-aig-skip-cache": "true" });
    await ask(body, { "cf-aig-cache-ttl": "0", "cf-aig-cache-key": "k" });
    expect((await ask(body))[0]).toBe("MISS");
  });

  it("keeps no failure that a provider reports with a status of success", async () => {
    const failures = [
      () => jsonReply({ error: { message: "overloaded" } }),
      () => jsonReply({ success: false, errors: [{ code: 1 }] }),
      () => jsonReply([{ candidates: [] }, { error: { code: 503 } }]),
      () =>
        streamReply(["\0\0", ":exception-type\u0007\0\u0013throttlingException"], {
          type: "application/vnd.amazon.eventstream",
        }),
      () => streamReply(["data: {}\n\n", 'event: error\ndata: {"type":"error","error":{}}\n\n']),
      () => streamReply(['data: {"error":{"message":"lost"}}\n\n', "data: [DONE]\n\n"]),
      () => streamReply(['data: {"type":"response.failed","response":{"error":{}}}\r\n\r\n']),
    ];
    for (const fails of failures) {
      const body = fresh();
      gate.transport.behave = fails;
      expect((await ask(body))[0]).toBe("MISS");
      gate.transport.behave = () => jsonReply({ id: "1", error: null, said: '"error"' });
      expect((await ask(body))[0]).toBe("MISS");
      expect((await ask(body))[0]).toBe("HIT");
    }
  });

  it("keeps no answer that cannot be translated to its end", async () => {
    const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
    const begin = event({ type: "message_start", message: { id: "m", usage: {} } });
    const stop = { type: "message_delta", delta: { stop_reason: "end_turn" } };
    const end = [event(stop), event({ type: "message_stop" })];
    const path = "open/anthropic/chat/completions";
    const body = { ...fresh(), max_tokens: 5, stream: true };
    gate.transport.behave = () => streamReply([begin]);
    await expect(ask(body, TTL, path)).rejects.toThrow();
    gate.transport.behave = () => jsonReply("no object");
    expect((await gate.send(path, jsonInit(body, TTL))).status).toBe(502);
    gate.transport.behave = () => streamReply([begin, ...end]);
    const first = await ask(body, TTL, path);
    expect([first[0], first[1]?.endsWith("data: [DONE]\n\n")]).toEqual(["MISS", true]);
    expect((await ask(body, TTL, path))[0]).toBe("HIT");
  });

  it("tells credentials, bodies, paths, providers and gateways apart", async () => {
    const body = fresh();
    await ask(body);
    const others = [
      await ask(body, { ...TTL, authorization: "Bearer other" }),
      await ask(body, { ...TTL, "x-api-key": "other" }),
      await ask({ ...body, temperature: 1 }),
      await ask(body, TTL, "open/openai/y"),
      await ask(body, TTL, "open/openai/x?key=other"),
      await ask(body, TTL, "open/groq/x"),
    ];
    expect(others.map(([status]) => status)).toEqual(others.map(() => "MISS"));
  });

  it("tells apart what the body is, and which part, form and version of an answer is wanted", async () => {
    const body = fresh();
    await ask(body);
    const forms: readonly (readonly [string, string])[] = [
      ["content-type", "application/json; charset=utf-8"],
      ["range", "bytes=0-1"],
      ["if-none-match", '"x"'],
      ["accept-language", "de"],
      ["anthropic-version", "2023-06-01"],
      ["openai-beta", "assistants=v2"],
    ];
    const others = await Promise.all(
      forms.map(([key, value]) => ask(body, { ...TTL, [key]: value })),
    );
    expect(others.map(([status]) => status)).toEqual(forms.map(() => "MISS"));
    const same = await ask(body, {
      ...TTL,
      "x-stainless-runtime-version": "v1",
      "x-request-id": "1",
    });
    expect(same[0]).toBe("HIT");
  });

  it("tells apart whatever else is sent and could change an answer", async () => {
    const body = fresh();
    await ask(body);
    const names = ["x-region", "x-user-id", "x-session", "x-deployment", "x-anything", "baggage"];
    const others = await Promise.all(names.map((name) => ask(body, { ...TTL, [name]: "a" })));
    expect(others.map(([status]) => status)).toEqual(names.map(() => "MISS"));
    expect(await ask(body, { ...TTL, "x-region": "b" })).not.toEqual(others[0]);
    expect(await ask(body, { ...TTL, "x-region": "a" })).toEqual(["HIT", others[0]?.[1]]);
  });

  it("tells apart what is sent under the caller's own key too, and while an answer is under way", async () => {
    const key = { "cf-aig-cache-key": `mine-${serial++}` };
    const [a, b] = await Promise.all(
      ["a", "b"].map((tenant) => ask(fresh(), { ...key, "x-region": tenant })),
    );
    expect([a?.[0], b?.[0]]).toEqual(["MISS", "MISS"]);
    expect(a?.[1]).not.toBe(b?.[1]);
  });

  it("takes names of requests, traces and clients for harmless, of clients at known providers only", async () => {
    const body = fresh();
    const custom = "custom-own/x";
    const own = await gatewayUnderTest({
      providers: { "custom-own": { baseUrl: "http://own.test" } },
    });
    const status = async (headers: object, path: string): Promise<unknown> => {
      const init = jsonInit(body, { ...TTL, ...headers });
      return (await own.send(`open/${path}`, init)).headers.get("cf-aig-cache-status");
    };
    try {
      for (const path of ["openai/x", custom]) expect(await status({}, path)).toBe("MISS");
      const perRequest = { traceparent: "00-1", "x-b3-traceid": "1", "idempotency-key": "1" };
      for (const path of ["openai/x", custom]) expect(await status(perRequest, path)).toBe("HIT");
      const client = { "user-agent": "a", "x-stainless-lang": "js", "x-fern-language": "js" };
      expect([await status(client, "openai/x"), await status(client, custom)]).toEqual([
        "HIT",
        "MISS",
      ]);
    } finally {
      await own.close();
    }
  });

  it("leaves out what the gateway's settings name, but no credential and nothing of the body", async () => {
    const write = (names: readonly string[]) =>
      gate.manage("/gateways", {
        method: "POST",
        ...jsonInit({
          id: "ignores",
          ...requiredSettings,
          cache_ttl: 300,
          cache_ignore_headers: names,
        }),
      });
    for (const name of [
      "Authorization",
      "x-api-key",
      "cookie",
      "x-team-token",
      "Accept-Encoding",
    ]) {
      const { status, body } = await write([name]);
      expect([status, body.errors[0]?.message]).toEqual([
        400,
        expect.stringContaining(name.toLowerCase()),
      ]);
    }
    expect((await write(["no name"])).status).toBe(400);
    const { body: made } = await write(["X-Build", "x-page"]);
    expect(made.result).toMatchObject({ cache_ignore_headers: ["x-build", "x-page"] });
    const body = fresh();
    const path = "ignores/openai/x";
    await ask(body, { "x-build": "1" }, path);
    expect((await ask(body, { "x-build": "2", "x-page": "p" }, path))[0]).toBe("HIT");
    expect((await ask(body, { "x-build": "1", "x-region": "t" }, path))[0]).toBe("MISS");
  });

  it("answers no deletion or change, and no other method by the caller's key", async () => {
    const key = { ...TTL, "cf-aig-cache-key": `mine-${serial++}` };
    const status = async (method: string): Promise<string | null> => {
      const answer = await gate.send("open/openai/files/1", { method, headers: key });
      return answer.headers.get("cf-aig-cache-status");
    };
    for (const method of ["DELETE", "PUT", "PATCH"])
      expect([await status(method), await status(method)]).toEqual(["MISS", "MISS"]);
    expect([await status("HEAD"), await status("GET"), await status("GET")]).toEqual([
      "MISS",
      "MISS",
      "HIT",
    ]);
  });

  it("takes the caller's key in place of body and path, never across credentials", async () => {
    const key = { "cf-aig-cache-key": `mine-${serial++}` };
    await ask(fresh(), key);
    expect((await ask(fresh(), key))[0]).toBe("HIT");
    expect((await ask(fresh(), { ...key, authorization: "Bearer other" }))[0]).toBe("MISS");
  });

  it("by the caller's key brings no stream to who asked for one JSON, nor the other way round", async () => {
    const key = { "cf-aig-cache-key": `mine-${serial++}` };
    const status = async (body: object, path?: string): Promise<unknown> =>
      (await ask({ ...fresh(), ...body }, key, path))[0];
    expect([await status({ stream: true }), await status({ stream: true })]).toEqual([
      "MISS",
      "HIT",
    ]);
    expect([await status({ stream: false }), await status({})]).toEqual(["MISS", "HIT"]);
    const gemini = "open/google-ai-studio/v1beta/models/m";
    const asked = [":generateContent", ":streamGenerateContent", ":streamGenerateContent"];
    const found = [];
    for (const method of asked) found.push(await status({}, `${gemini}${method}`));
    expect(found).toEqual(["MISS", "MISS", "HIT"]);
  });

  it("replays a stream as a stream of the same bytes", async () => {
    const chunks = ["data: 1\n\n", "data: 2\n\n", "data: [DONE]\n\n"];
    gate.transport.behave = () => streamReply(chunks);
    const body = fresh();
    await ask(body);
    const again = await gate.send("open/openai/x", jsonInit(body, TTL));
    expect(again.headers.get("content-type")).toBe("text/event-stream");
    const reader = again.body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe(chunks.join(""));
    await reader.cancel();
    expect(await ask(body)).toEqual(["HIT", chunks.join("")]);
    expect(gate.transport.requests.length).toBe(1);
  });

  it("asks the provider once for identical requests at the same time", async () => {
    gate.transport.behave = async (_, index) => {
      await gate.platform.system.sleep(20);
      return jsonReply({ answer: index });
    };
    const body = fresh();
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(body)));
    expect(new Set(answers.map(([, text]) => text)).size).toBe(1);
    expect(gate.transport.requests.length).toBe(1);
  });

  it("keeps no failure, no broken and no abandoned stream, and no cookie", async () => {
    const body = fresh();
    gate.transport.behave = () => jsonReply({ no: 1 }, 500);
    await ask(body);
    gate.transport.behave = () => streamReply(["data: 1\n\n"], { ending: "break" });
    await expect(ask(body)).rejects.toThrow();
    gate.transport.behave = () => streamReply(["data: 1\n\n", "data: 2\n\n"]);
    const left = await gate.send("open/openai/x", jsonInit(body, TTL));
    await left.body!.cancel();
    gate.transport.behave = () => jsonReply({ yes: 1 }, 200, [["set-cookie", "a=1"]]);
    expect((await ask(body))[0]).toBe("MISS");
    const hit = await gate.send("open/openai/x", jsonInit(body, TTL));
    expect([hit.headers.get("cf-aig-cache-status"), hit.headers.getSetCookie()]).toEqual([
      "HIT",
      [],
    ]);
  });

  it("forgets everything of a gateway whose settings change, when asked to", async () => {
    const settings = { ...requiredSettings, cache_invalidate_on_update: true, cache_ttl: 300 };
    await gate.create("cached", settings);
    const body = fresh();
    await ask(body, {}, "cached/openai/x");
    expect((await ask(body, {}, "cached/openai/x"))[0]).toBe("HIT");
    await gate.manage("/gateways/cached", {
      method: "PUT",
      ...jsonInit({ ...settings, cache_ttl: 400 }),
    });
    expect((await ask(body, {}, "cached/openai/x"))[0]).toBe("MISS");
  });

  it("keeps what it has through an update that does not ask for that, and brings nothing back", async () => {
    const settings = { ...requiredSettings, cache_invalidate_on_update: false, cache_ttl: 300 };
    const update = (changes: object) =>
      gate.manage("/gateways/kept", { method: "PUT", ...jsonInit({ ...settings, ...changes }) });
    await gate.create("kept", settings);
    const body = fresh();
    gate.transport.behave = () => jsonReply({ answer: "old" });
    await ask(body, {}, "kept/openai/x");
    await update({ cache_invalidate_on_update: true });
    gate.transport.behave = () => jsonReply({ answer: "new" });
    expect((await ask(body, {}, "kept/openai/x"))[0]).toBe("MISS");
    const { body: shown } = await update({});
    expect(shown.result).not.toHaveProperty("cache_since");
    const response = await gate.send("kept/openai/x", jsonInit(body));
    expect(response.headers.get("cf-aig-cache-status")).toBe("HIT");
    expect(await response.json()).toEqual({ answer: "new" });
  });
});

describe("createAiBinding()", () => {
  it("runs the steps of ai-gateway-provider without a network or a token", async () => {
    const binding = createAiBinding({
      platform: gate.platform,
      accountId: "acme",
      gateway: "default",
    });
    const steps = [
      {
        provider: "openai",
        endpoint: "v1/chat/completions",
        headers: { "cf-aig-metadata": '{"a":1}' },
        query: chat,
      },
    ];
    const response = await binding.run(steps);
    expect([response.status, response.headers.get("cf-aig-step")]).toEqual([200, "0"]);
    expect(gate.transport.requests[0]?.url).toBe("https://api.openai.com/v1/chat/completions");
    const [row] = await gate.logs("default", 1);
    expect(row).toMatchObject({ metadata: '{"a":1}' });
    const bad = await binding.run({});
    expect([bad.status, await bad.json()]).toMatchObject([400, { success: false }]);
    const unknown = createAiBinding({
      platform: gate.platform,
      accountId: "acme",
      gateway: "none",
    });
    expect((await unknown.run(steps)).status).toBe(400);
  });
});
