import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  chat as plainChat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { openaiStreams, streamedUsage, streamOf } from "../../../fakes/gateway-openai-stream.ts";
import { sentHeaders, streamReply } from "../../../fakes/gateway-transport.ts";

const chat = { ...plainChat, model: "gpt-4o", stream: true };
const unaskedText = streamOf(false).join("");
const askedText = streamOf(true).join("");
const asking = { ...chat, stream_options: { include_usage: true } };
const CHAT = "open/openai/chat/completions";
/** A million tokens of input and a hundred thousand of output. */
const COST = 3.5;

let gate: GatewayUnderTest;
beforeEach(async () => {
  gate = await gatewayUnderTest({
    providers: {
      "custom-lab": { baseUrl: "https://lab.example/v1", streamUsage: true },
      "custom-old": { baseUrl: "https://old.example/v1" },
    },
    prices: [
      { provider: "custom-lab", model: "*", input: 2.5, output: 10 },
      { provider: "custom-old", model: "*", input: 2.5, output: 10 },
    ],
  });
  gate.transport.behave = openaiStreams();
});
afterEach(() => gate.close());

const text = async (path: string, body: object, headers: Record<string, string> = {}) =>
  (await gate.send(path, jsonInit(body, headers))).text();
const sentBody = (index = 0): Record<string, unknown> =>
  JSON.parse(gate.transport.bodies[index] ?? "") as Record<string, unknown>;

describe("a stream whose client did not ask for its usage", () => {
  it.each([
    ["openai", "open/openai/chat/completions"],
    ["openai with v1", "open/openai/v1/chat/completions"],
    ["Azure", "open/azure-openai/res/gpt-4o/chat/completions?api-version=2024-10-21"],
    ["Azure's v1", "open/azure-openai/res/openai/v1/chat/completions"],
    ["a configured provider", "open/custom-lab/chat/completions"],
  ])("has its cost in the row, and the bytes of unasked ones: %s", async (_, path) => {
    expect(await text(path, chat)).toBe(unaskedText);
    expect(sentBody()["stream_options"]).toEqual({ include_usage: true });
    const [row] = await gate.logs("open", 1);
    expect(row).toMatchObject({
      tokens_in: streamedUsage.prompt_tokens,
      cost: COST,
      success: true,
    });
  });

  it("through compat and the universal endpoint as well", async () => {
    const unified = { ...chat, model: "openai/gpt-4o" };
    expect(await text("open/compat/chat/completions", unified)).toBe(unaskedText);
    const step = { provider: "openai", endpoint: "chat/completions", query: chat };
    expect(await text("open", [step])).toBe(unaskedText);
    const rows = await gate.logs("open", 2);
    expect(rows.map(({ cost }) => cost)).toEqual([COST, COST]);
  });

  it.each([1, 7, 64, 1000])("whatever the chunks of the network: %i bytes", async (size) => {
    gate.transport.behave = openaiStreams(size);
    expect(await text(CHAT, chat)).toBe(unaskedText);
    gate.transport.behave = openaiStreams(size);
    expect(await text(CHAT, asking)).toBe(askedText);
  });

  it("goes out with one more member and all other bytes as they came", async () => {
    const body = ` {"model" : "gpt-4o",\n "seed": 12345678901234567890, "stream":true } \n`;
    await gate.send(CHAT, { body, headers: { "content-type": "application/json" } });
    expect(gate.transport.bodies[0]).toBe(
      ` {"model" : "gpt-4o",\n "seed": 12345678901234567890, "stream":true ,"stream_options":{"include_usage":true}} \n`,
    );
    expect(sentHeaders(gate.transport.requests[0])["content-length"]).toBeUndefined();
  });

  it("keeps the client's other options, and a client's own no", async () => {
    const options = { include_obfuscation: false, include_usage: false };
    expect(await text(CHAT, { ...chat, stream_options: options })).toBe(
      streamOf(false, false).join(""),
    );
    expect(sentBody()["stream_options"]).toEqual({ ...options, include_usage: true });
    expect(await text(CHAT, { ...chat, stream_options: null })).toBe(unaskedText);
  });

  it("is found behind an escaped name", async () => {
    const body = String.raw`{"model":"gpt-4o","str\u0065am":true}`;
    const answer = await gate.send(CHAT, { body, headers: { "content-type": "application/json" } });
    expect(await answer.text()).toBe(unaskedText);
    expect(sentBody()["stream_options"]).toEqual({ include_usage: true });
  });

  it("is asked without the packing of its body", async () => {
    const packed = new Response(JSON.stringify(chat)).body?.pipeThrough(
      new CompressionStream("gzip"),
    );
    const body = new Uint8Array(await new Response(packed).arrayBuffer());
    const answer = await gate.send(CHAT, {
      body,
      headers: { "content-type": "application/json", "content-encoding": "gzip" },
    });
    expect(await answer.text()).toBe(unaskedText);
    expect(sentHeaders(gate.transport.requests[0])["content-encoding"]).toBeUndefined();
    expect(await gate.logs("open", 1)).toMatchObject([{ model: "gpt-4o", cost: COST }]);
  });

  it("breaks off where the provider's does", async () => {
    gate.transport.behave = () =>
      streamReply([streamOf(true)[0] ?? "", 'data: {"half'], { ending: "break" });
    const answer = await gate.send(CHAT, jsonInit(chat));
    const reader = answer.body?.getReader();
    let seen = "";
    const broke = await (async () => {
      for (;;) {
        const next = await reader?.read();
        if (next === undefined || next.done) return false;
        seen += new TextDecoder().decode(next.value);
      }
    })().catch(() => true);
    expect([broke, seen]).toEqual([true, `${streamOf(false)[0]}data: {"half`]);
    expect(await gate.logs("open", 1)).toMatchObject([{ success: false }]);
  });
});

describe("other requests", () => {
  it.each([
    ["a client that asks itself", CHAT, asking],
    ["no stream", CHAT, { ...chat, stream: false }],
    ["a provider that tells by itself", "open/groq/chat/completions", chat],
    ["a provider that is not known to tell", "open/custom-old/chat/completions", chat],
    ["another endpoint", "open/openai/v1/responses", chat],
    [
      "an old version of Azure",
      "open/azure-openai/res/d/chat/completions?api-version=2024-06-01",
      chat,
    ],
    [
      "Azure's own search",
      "open/azure-openai/res/d/chat/completions?api-version=2024-10-21",
      { ...chat, data_sources: [] },
    ],
    [
      "a stream that is asked for elsewhere",
      CHAT,
      { ...chat, stream: undefined, x: { stream: true } },
    ],
  ])("go out as they came: %s", async (_, path, body) => {
    const answer = await text(path, body);
    expect(gate.transport.bodies[0]).toBe(JSON.stringify(body));
    if (body === asking) expect(answer).toBe(askedText);
  });

  it("go out as they came where nobody wants the usage, or the gateway says so", async () => {
    await text(CHAT, chat, { "cf-aig-collect-log": "false" });
    await gate.create("quiet", { authentication: false, stream_usage: false });
    await text("quiet/openai/chat/completions", chat);
    for (const body of gate.transport.bodies) expect(body).toBe(JSON.stringify(chat));
    const shown = await gate.manage("/gateways/quiet");
    expect(shown.body.result).toMatchObject({ stream_usage: false });
  });

  it("get errors as they are", async () => {
    gate.transport.behave = () => ({
      status: 400,
      headers: [["content-type", "text/event-stream"]],
      body: new TextEncoder().encode('data: {"choices":[],"usage":{}}\n\n'),
    });
    expect(await text(CHAT, chat)).toBe('data: {"choices":[],"usage":{}}\n\n');
  });
});

describe("a kept stream", () => {
  it("is for each client as it asked", async () => {
    await gate.create("kept", { authentication: false, cache_ttl: 300 });
    const path = "kept/openai/chat/completions";
    expect(await text(path, chat)).toBe(unaskedText);
    const again = await gate.send(path, jsonInit(chat));
    expect(again.headers.get("cf-aig-cache-status")).toBe("HIT");
    expect(await again.text()).toBe(unaskedText);
    expect(await text(path, asking)).toBe(askedText);
    const all = await Promise.all(
      Array.from({ length: 6 }, (_, n) => text(path, { ...(n % 2 === 0 ? chat : asking), n: 1 })),
    );
    expect(all).toEqual(
      Array.from({ length: 6 }, (_, n) => (n % 2 === 0 ? unaskedText : askedText)),
    );
  });
});

describe("a spend limit", () => {
  const rules = [{ limit: 1, limitType: "cost", window: 86_400 }];

  it("counts streams whose clients did not ask, without a log too", async () => {
    await gate.create("own", {
      authentication: false,
      collect_logs: false,
      spend_limits: { rules },
    });
    const path = "own/openai/chat/completions";
    expect(await text(path, chat)).toBe(unaskedText);
    const statuses: number[] = [];
    // A cost is entered just behind its answer.
    while (statuses.at(-1) !== 429) {
      const answer = await gate.send(path, jsonInit(chat));
      await answer.text();
      statuses.push(answer.status);
    }
    expect(statuses.length).toBeLessThan(5);
  });

  it("of a virtual key counts them too, where nobody else wants to know", async () => {
    await gate.create("own", { collect_logs: false });
    const limits = [{ limitType: "tokens", limit: 100, window: 86_400 }];
    const made = await gate.manage("/virtual-keys", {
      method: "POST",
      ...jsonInit({ name: "team", limits }),
    });
    const { key } = made.body.result as { key: string };
    const token = { "cf-aig-authorization": `Bearer ${key}` };
    expect(await text("own/openai/chat/completions", chat, token)).toBe(unaskedText);
    expect(sentBody()["stream_options"]).toEqual({ include_usage: true });
  });

  it("refuses streams that tell nobody what they use, and takes those that are asked", async () => {
    await gate.create("own", {
      authentication: false,
      spend_limits: { rules },
      stream_usage: false,
    });
    for (const path of ["own/openai/chat/completions", "own/custom-old/chat/completions"]) {
      const answer = await gate.send(path, jsonInit(chat));
      expect([answer.status, await answer.text()]).toEqual([
        400,
        expect.stringContaining("does not tell its usage"),
      ]);
    }
    expect(gate.transport.requests).toHaveLength(0);
    expect(await text("own/custom-old/chat/completions", asking)).toBe(askedText);
  });
});
