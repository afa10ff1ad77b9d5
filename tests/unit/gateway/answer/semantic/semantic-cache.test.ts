import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { GatewayOptions } from "../../../../../core/gateway/mod.ts";
import { fakeEmbedder } from "../../../../fakes/gateway-embedder.ts";
import {
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  requiredSettings,
} from "../../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../../fakes/gateway-transport.ts";
import {
  semanticCache,
  type SemanticCacheOptions,
} from "../../../../../core/gateway/semantic-cache/mod.ts";

const TTL = { "cf-aig-cache-ttl": "60" };
const A = "How do I reset my password?";
const B = "How can I reset the password";
/** `[cache status, similarity]` of an answer from another one's question. */
const NEAR = ["HIT", "1.0000"];
const MISS = ["MISS", null];

let gate: GatewayUnderTest;
let embedder = fakeEmbedder();
let warnings: unknown[] = [];

beforeEach(() => {
  embedder = fakeEmbedder();
  warnings = [];
});
afterEach(() => gate.close());

async function open(
  options: Partial<SemanticCacheOptions> = {},
  more: Partial<GatewayOptions> = {},
): Promise<void> {
  const cache = semanticCache({ embed: embedder.embed, ...options });
  // Of this test only: work that an earlier one has left behind may still warn.
  const own = warnings;
  gate = await gatewayUnderTest(
    { semanticCache: cache, ...more },
    { log: (level, message, fields) => void own.push([level, message, fields]) },
  );
  gate.transport.behave = (_, index) => jsonReply({ answer: index });
}

const body = (content: unknown, more: object = {}) => ({
  model: "m",
  ...more,
  messages: [{ role: "user", content }],
});

async function send(
  what: unknown,
  headers: Record<string, string> = {},
  path = "open/openai/chat/completions",
): Promise<Response> {
  return gate.send(path, jsonInit(what, { ...TTL, ...headers }));
}

/** `[cache status, similarity]` of an answer. */
async function ask(...request: Parameters<typeof send>): Promise<(string | null)[]> {
  const { headers, ...answer } = await send(...request).then(async (one) => ({
    headers: one.headers,
    text: await one.text(),
  }));
  expect(answer.text).not.toBe("");
  expect(headers.get("gw-aig-cache-similarity")).toBe(headers.get("cf-aig-cache-similarity"));
  return [headers.get("cf-aig-cache-status"), headers.get("cf-aig-cache-similarity")];
}

describe("the semantic cache", () => {
  it("answers a question that was asked in other words, and says so in the answer and the log", async () => {
    await open();
    const first = await (await send(body(A))).text();
    const answer = await send(body(B), { "cf-aig-event-id": "near" });
    expect([
      answer.headers.get("cf-aig-cache-status"),
      answer.headers.get("cf-aig-cache-similarity"),
    ]).toEqual(NEAR);
    expect(await answer.text()).toBe(first);
    expect(gate.transport.requests).toHaveLength(1);
    expect(await gate.rowsOf("open", "near", 1)).toMatchObject([
      { cached: true, cost: 0, success: true },
    ]);
  });

  it("asks the embedder once for each request that the exact cache cannot answer", async () => {
    await open();
    await ask(body(A));
    expect(await ask(body(A))).toEqual(["HIT", null]);
    expect(embedder.texts).toEqual([A]);
    await ask(body(B));
    await ask(body(B));
    expect(embedder.texts).toEqual([A, B, B]);
  });

  it("asks no embedder where the cache is off, skipped or keyed by the caller, or the request refuses", async () => {
    await open();
    await ask(body(A), { "cf-aig-cache-ttl": "0" });
    await ask(body(A), { "cf-aig-skip-cache": "true" });
    await ask(body(A), { "cf-aig-cache-key": "mine" });
    await ask(body(A), { "cf-aig-semantic-cache": "false" });
    expect(embedder.texts).toEqual([]);
    // It is kept, but not known for what it asks.
    expect(await ask(body(B))).toEqual(MISS);
    expect(await ask(body(A), { "gw-aig-semantic-cache": "false" })).toEqual(["HIT", null]);
    const bad = await send(body(A), { "cf-aig-semantic-cache": "perhaps" });
    expect(bad.status).toBe(400);
    await bad.text();
  });

  it("takes all but the text to be the same", async () => {
    await open();
    await ask(body(A));
    const system = {
      messages: [
        { role: "system", content: "Be rude" },
        { role: "user", content: B },
      ],
    };
    const others = [
      await ask(body(B, { model: "n" })),
      await ask(body(B, { temperature: 1 })),
      await ask(body(B, { stream: true })),
      await ask(body(B, { user: "somebody else" })),
      await ask({ model: "m", ...system }),
      await ask({ messages: [{ role: "user", content: B }], model: "m" }),
      await ask(body(B), { authorization: "Bearer other" }),
      await ask(body(B), { "x-api-key": "other" }),
      await ask(body(B), { "openai-beta": "other" }),
      await ask(body(B), {}, "open/openai/v2/chat/completions"),
      await ask(body(B), {}, "open/openai/chat/completions?key=other"),
      await ask(body(B), {}, "open/groq/chat/completions"),
    ];
    expect(others).toEqual(others.map(() => MISS));
    expect(await ask(body(B))).toEqual(NEAR);
  });

  it("keeps gateways apart, and leaves answers behind that a change of settings invalidates", async () => {
    await open();
    const settings = { ...requiredSettings, cache_invalidate_on_update: true, cache_ttl: 60 };
    await gate.create("other", settings);
    await ask(body(A));
    const path = "other/openai/chat/completions";
    expect(await ask(body(B), {}, path)).toEqual(MISS);
    expect(await ask(body(A), {}, path)).toEqual(NEAR);
    const init = { method: "PUT", ...jsonInit({ ...settings, cache_ttl: 120 }) };
    expect((await gate.manage("/gateways/other", init)).status).toBe(200);
    expect(await ask(body(B), {}, path)).toEqual(MISS);
  });

  it("leaves the answers of a deleted gateway behind, whose name another one has", async () => {
    await open();
    const path = "again/openai/chat/completions";
    await gate.create("again", { cache_ttl: 60 });
    await ask(body(A), {}, path);
    expect(await ask(body(B), {}, path)).toEqual(NEAR);
    expect((await gate.manage("/gateways/again", { method: "DELETE" })).status).toBe(200);
    await gate.platform.system.sleep(2);
    await gate.create("again", { cache_ttl: 60 });
    expect(await ask(body(B), {}, path)).toEqual(MISS);
  });

  it("shows no gateway token to the embedder", async () => {
    await open();
    const path = "closed/openai/chat/completions";
    const headers = { "cf-aig-authorization": `Bearer ${GATEWAY_TOKEN}` };
    expect((await send(body(`Is ${GATEWAY_TOKEN} good?`), headers, path)).status).toBe(400);
    expect(embedder.texts).toEqual([]);
  });

  it("hands no likeness on: an answer is found from its own question only", async () => {
    await open();
    const angles: Record<string, number> = { "a sofa": 0, "a couch": 0.2, "a bench": 0.4 };
    embedder.behave = (text) => [Math.cos(angles[text] ?? 0), Math.sin(angles[text] ?? 0)];
    await ask(body("a sofa"));
    expect((await ask(body("a couch")))[0]).toBe("HIT");
    expect(await ask(body("a bench"))).toEqual(MISS);
    expect((await ask(body("a couch")))[0]).toBe("HIT");
  });

  it("forgets a question with its answer", async () => {
    const one = JSON.stringify({ filler: "x".repeat(3000) });
    await open({}, { cacheBytes: 6000 });
    gate.transport.behave = () => jsonReply({ filler: "x".repeat(3000) });
    expect(one.length).toBeLessThan(6000);
    await ask(body(A));
    expect(await ask(body(B))).toEqual(NEAR);
    await ask(body("What is a volcano?"));
    expect(await ask(body(B))).toEqual(MISS);
  });

  it("finds no answer that was a failure or broke off", async () => {
    await open();
    gate.transport.behave = () => jsonReply({ error: {} }, 500);
    await ask(body(A));
    gate.transport.behave = () => streamReply(["data: 1\n\n"], { ending: "break" });
    await (await send(body(A))).text().catch(() => undefined);
    gate.transport.behave = () => jsonReply({ ok: true });
    expect(await ask(body(B))).toEqual(MISS);
    expect(await ask(body(A))).toEqual(NEAR);
  });

  it("knows at most maxEntries questions, the last used ones", async () => {
    await open({ maxEntries: 2 });
    const [volcano, galaxy] = ["What is a volcano?", "What is a galaxy?"];
    await ask(body(A));
    await ask(body(volcano));
    expect(await ask(body(B))).toEqual(NEAR);
    await ask(body(galaxy));
    expect(await ask(body("what's a volcano"))).toEqual(MISS);
  });

  it("replays a stream as a stream of the same bytes", async () => {
    await open();
    const chunks = ["data: 1\n\n", "data: 2\n\n", "data: [DONE]\n\n"];
    gate.transport.behave = () => streamReply(chunks);
    await (await send(body(A, { stream: true }))).text();
    const answer = await send(body(B, { stream: true }));
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    expect(answer.headers.get("cf-aig-cache-similarity")).toBe("1.0000");
    const seen: string[] = [];
    const decoder = new TextDecoder();
    for await (const chunk of answer.body ?? []) seen.push(decoder.decode(chunk));
    expect(seen.join("")).toBe(chunks.join(""));
    expect(gate.transport.requests).toHaveLength(1);
  });

  it("identical requests at the same time still ask the provider once", async () => {
    await open();
    const statuses = await Promise.all(Array.from({ length: 12 }, () => ask(body(A))));
    expect(gate.transport.requests).toHaveLength(1);
    expect(statuses.filter(([status]) => status === "MISS")).toHaveLength(1);
    expect(embedder.texts.length).toBeLessThanOrEqual(8);
    expect(await ask(body(B))).toEqual(NEAR);
  });

  it("works for a translated request, in the format of each", async () => {
    await open();
    gate.transport.behave = () =>
      jsonReply({
        id: "1",
        type: "message",
        role: "assistant",
        model: "claude",
        content: [{ type: "text", text: "So." }],
        stop_reason: "end_turn",
        usage: { input_tokens: 1, output_tokens: 1 },
      });
    const path = "open/anthropic/chat/completions";
    await ask(body(A), {}, path);
    const answer = await send(body(B), {}, path);
    expect(answer.headers.get("cf-aig-cache-similarity")).toBe("1.0000");
    expect(await answer.json()).toMatchObject({ choices: [{ message: { content: "So." } }] });
  });

  it("works for the steps of a universal request, each with its own word", async () => {
    await open();
    const steps = (content: string, headers: object) => [
      { provider: "openai", endpoint: "chat/completions", headers, query: body(content) },
    ];
    await ask(steps(A, {}), {}, "open");
    expect(await ask(steps(B, {}), {}, "open")).toEqual(NEAR);
    const refusing = { "cf-aig-semantic-cache": "false" };
    expect(await ask(steps(B, refusing), {}, "open")).toEqual(MISS);
  });

  it("is off for gateways with checks: the embedder sees no text before them", async () => {
    await open();
    const dlp = { enabled: true, action: "BLOCK", profiles: ["email"] };
    await gate.create("checked", { cache_ttl: 60, collect_logs: false, dlp });
    const path = "checked/openai/chat/completions";
    await ask(body(A), {}, path);
    expect(await ask(body(B), {}, path)).toEqual(MISS);
    expect(embedder.texts).toEqual([]);
  });
});

describe("the embedder", () => {
  it.each<[string, () => unknown]>([
    ["fails", () => Promise.reject(new TypeError("down"))],
    [
      "throws",
      () => {
        throw new TypeError("down");
      },
    ],
    ["answers nothing", () => undefined],
    ["answers an empty vector", () => []],
    ["answers no vector", () => "vector"],
    ["answers NaN", () => [Number.NaN, 1]],
    ["answers infinity", () => new Float32Array([Number.POSITIVE_INFINITY, 1])],
    ["answers texts", () => ["a", "b"]],
    ["answers zeros", () => [0, 0]],
    ["answers a vector without end", () => new Float32Array(8193).fill(1)],
  ])("that %s makes a plain miss, and one warning that holds no text", async (_, behave) => {
    await open();
    embedder.behave = behave;
    for (const text of [A, B]) expect(await ask(body(text))).toEqual(MISS);
    expect(await ask(body(B))).toEqual(["HIT", null]);
    expect(warnings).toHaveLength(1);
    expect(JSON.stringify(warnings)).not.toMatch(/password|down/);
  });

  it("that answers vectors of another length is not compared with", async () => {
    await open();
    await ask(body(A));
    embedder.behave = () => [3, 4, 5];
    expect(await ask(body(B))).toEqual(MISS);
    expect(await ask(body("how do I reset the password"))).toEqual(NEAR);
  });

  it("that finds two texts less alike than the threshold decides so", async () => {
    await open({ threshold: 0.9 });
    const at = (cosine: number) => () => [cosine, Math.sqrt(1 - cosine ** 2)];
    embedder.behave = at(1);
    await ask(body(A));
    embedder.behave = at(0.899);
    expect(await ask(body(B))).toEqual(MISS);
    embedder.behave = at(-1);
    expect(await ask(body("how do I reset the password"))).toEqual(MISS);
  });

  it("that is slow is not waited for, and is told to stop", async () => {
    await open({ timeoutMs: 20 });
    embedder.behave = () => new Promise(() => undefined);
    for (let n = 0; n < 10; n++) expect(await ask(body(A, { n }))).toEqual(MISS);
    expect(embedder.signals.map(({ aborted }) => aborted)).toEqual(Array(8).fill(true));
    expect(warnings).toHaveLength(1);
  });

  it("is told when the client leaves, and no provider is asked then", async () => {
    await open({ timeoutMs: 60_000 });
    const client = new AbortController();
    embedder.behave = (_, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        client.abort();
      });
    const answer = await gate
      .send("open/openai/chat/completions", { ...jsonInit(body(A), TTL), signal: client.signal })
      .catch(() => null);
    await answer?.text();
    expect(embedder.signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(gate.transport.requests).toEqual([]);
    expect(warnings).toEqual([]);
  });
});

it("a number or a negation makes another question, however alike the vectors", async () => {
  await open();
  await ask(body("Is it safe with 5 users?"));
  expect(await ask(body("Is it safe with 50 users?"))).toEqual(MISS);
  expect(await ask(body("Is it not safe with 5 users?"))).toEqual(MISS);
  expect(await ask(body("Would 5 users be safe?"))).toEqual(NEAR);
});

it.each([
  { threshold: Number.NaN },
  { threshold: 1.5 },
  { maxEntries: 0 },
  { maxEntries: 20_000 },
  { maxTextLength: 0 },
  { maxTextLength: 10_001 },
  { maxMessages: 0 },
  { timeoutMs: 0 },
])("refuses the options %o", async (options) => {
  await expect(open(options)).rejects.toThrow("semanticCache.");
  gate = await gatewayUnderTest();
});
