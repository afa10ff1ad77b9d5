import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseConfig } from "../../../../core/config/parse-config.ts";
import { gatewayParts } from "../../../../core/gateway/mod.ts";
import {
  API_TOKEN,
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  openToAll,
} from "../../../fakes/gateway-app.ts";
import { ask, native } from "../../../fakes/gateway-native-answers.ts";
import { jsonReply, sentHeaders, streamReply } from "../../../fakes/gateway-transport.ts";
import { virtualKeys } from "../../../fakes/virtual-keys.ts";

const addresses = {
  ollama: "http://127.0.0.1:11434",
  vllm: "http://127.0.0.1:8000",
  "llama-cpp": "http://127.0.0.1:8080",
  "lm-studio": "http://127.0.0.1:1234",
};
const spend_limits = { rules: [{ id: "all", limit: 0.0001, limitType: "cost", window: 86_400 }] };

let gate: GatewayUnderTest;
beforeEach(async () => {
  gate = await gatewayUnderTest({
    providers: { ollama: {}, vllm: { apiKey: "sk-vllm" }, "llama-cpp": {}, "lm-studio": {} },
    gateways: {
      open: openToAll,
      closed: { tokens: [GATEWAY_TOKEN] },
      strangers: { authentication: false },
      gpu: {
        ...openToAll,
        providers: { ollama: { baseUrl: "http://10.0.0.7:11434/v1", speaks: ["chat"] } },
      },
    },
  });
  gate.transport.behave = () => jsonReply(native.openai.reply);
});
afterEach(() => gate.close());

const urls = (): string[] => gate.transport.requests.map(({ url }) => url);
const chat = (path: string, model = "ollama/llama3.2") =>
  gate.send(path, jsonInit({ ...ask, input: "Hi", model }));

describe("a server of one's own", () => {
  it.each(Object.entries(addresses))("%s is asked at %s, without a key", async (slug, address) => {
    const answer = await chat("open/compat/chat/completions", `${slug}/llama3.2`);
    expect(answer.status).toBe(200);
    expect(urls()).toEqual([`${address}/v1/chat/completions`]);
    expect(gate.transport.bodies[0]).toContain('"model":"llama3.2"');
    const key = sentHeaders(gate.transport.requests[0])["authorization"];
    expect(key).toBe(slug === "vllm" ? "Bearer sk-vllm" : undefined);
  });

  it.each([
    ["ollama/chat/completions", "/v1/chat/completions"],
    ["ollama/v1/chat/completions", "/v1/chat/completions"],
    ["ollama/v1/embeddings", "/v1/embeddings"],
    ["ollama/api/chat", "/api/chat"],
  ])("takes %s at its own path", async (path, expected) => {
    await chat(`open/${path}`);
    expect(urls()).toEqual([addresses.ollama + expected]);
  });

  it("has another address at a gateway that says so", async () => {
    expect((await chat("gpu/compat/messages")).status).toBe(200);
    await chat("gpu/ollama/chat/completions");
    await chat("open/ollama/chat/completions");
    expect(urls()).toEqual([
      "http://10.0.0.7:11434/v1/chat/completions",
      "http://10.0.0.7:11434/v1/chat/completions",
      "http://127.0.0.1:11434/v1/chat/completions",
    ]);
  });

  it.each([["responses"], ["messages"]])("gets %s as chats where it lacks them", async (format) => {
    gate.transport.behave = ({ url }) =>
      url.endsWith(`/${format}`) ? jsonReply({}, 404) : jsonReply(native.openai.reply);
    const answer = await chat(`open/compat/${format}`);
    expect(JSON.stringify(await answer.json())).toContain("Hello");
    expect(urls().map((url) => new URL(url).pathname)).toEqual([
      `/v1/${format}`,
      "/v1/chat/completions",
    ]);
  });

  it("does not exist where the operator has not named it", async () => {
    const other = await gatewayUnderTest();
    const answer = await other.send("open/ollama/api/tags", { method: "GET" });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(await answer.json())).toContain("providers.ollama of the configuration");
    expect(other.transport.requests).toEqual([]);
    await other.close();
  });

  it("is not asked by strangers, even with a key", async () => {
    const bring = { authorization: "Bearer any" };
    for (const headers of [{}, bring]) {
      const answer = await gate.send("strangers/ollama/chat/completions", jsonInit(ask, headers));
      expect(answer.status).toBe(401);
      expect(JSON.stringify(await answer.json())).toContain('asks \\"ollama\\" only for requests');
    }
    expect(gate.transport.requests).toEqual([]);
  });

  it("makes inferences alone for virtual keys, whatever key they bring", async () => {
    const { key } = await virtualKeys(gate).make();
    const init = jsonInit({ model: "llama3.2" }, { authorization: "Bearer any" });
    const send = (path: string) => gate.send(`closed/ollama/${path}`, { ...init, token: key });
    expect((await send("api/delete")).status).toBe(403);
    expect((await send("api/chat")).status).toBe(200);
    expect(urls()).toEqual(["http://127.0.0.1:11434/api/chat"]);
  });

  it.each([
    ["..%2f..%2fadmin"],
    ["%2e%2e/admin"],
    ["v1/chat/completions/..%5cadmin"],
    ["/evil.example/v1/chat/completions"],
    ["@evil.example/v1/chat/completions"],
  ])("is never left by the path %s", async (path) => {
    await gate.send(`open/ollama/${path}`, jsonInit(ask, { host: "evil.example" }));
    for (const url of urls()) expect(new URL(url).origin).toBe(addresses.ollama);
  });
});

describe("the models of a server of one's own", () => {
  const idsOf = async (gateway: string, token?: string): Promise<string[]> => {
    const more = token === undefined ? {} : { token };
    const list = await gate.send(`${gateway}/compat/models`, { method: "GET", ...more });
    const { data } = (await list.json()) as { data: { id: string }[] };
    return data.map(({ id }) => id).filter((id) => !id.startsWith("echo/"));
  };
  const listed = (...ids: unknown[]) =>
    jsonReply({ object: "list", data: ids.map((id) => ({ id })) });
  beforeEach(() => {
    gate.transport.behave = ({ url }) =>
      url.startsWith(addresses.ollama) ? listed("llama3.2", "qwen3:8b") : listed();
  });

  it("are those that it lists, asked once in ten seconds", async () => {
    expect(await idsOf("open")).toEqual(["ollama/llama3.2", "ollama/qwen3:8b"]);
    await idsOf("open");
    expect(urls().toSorted()).toEqual(
      Object.values(addresses)
        .map((address) => `${address}/v1/models`)
        .toSorted(),
    );
    const vllm = gate.transport.requests.find(({ url }) => url.startsWith(addresses.vllm));
    expect(sentHeaders(vllm)["authorization"]).toBe("Bearer sk-vllm");
  });

  it("are shown as far as a virtual key allows them, and to no stranger", async () => {
    const { key } = await virtualKeys(gate).make({ models: ["ollama/qwen*"] });
    expect(await idsOf("closed", key)).toEqual(["ollama/qwen3:8b"]);
    expect(await idsOf("strangers")).toEqual([]);
  });

  it("are bounded in number, length and characters", async () => {
    gate.transport.behave = ({ url }) =>
      url.startsWith(addresses.ollama)
        ? listed(
            7,
            null,
            "a b",
            "x".repeat(257),
            ...Array.from({ length: 900 }, (_, at) => `m${at}`),
          )
        : listed();
    const ids = await idsOf("open");
    expect(ids).toHaveLength(500);
    expect(ids[0]).toBe("ollama/m0");
  });

  it("are none where it refuses, and a fault of this program is not hidden", async () => {
    gate.transport.behave = ({ url }) => {
      if (url.startsWith(addresses.ollama)) throw new TypeError("not a transport error");
      return jsonReply({}, 500);
    };
    expect((await gate.send("open/compat/models", { method: "GET" })).status).toBe(500);
  });

  it("are none where it sends more than a megabyte", async () => {
    const big = JSON.stringify({ data: [{ id: "m" }], more: "x".repeat(1024 * 1024) });
    gate.transport.behave = ({ url }) => {
      if (url.startsWith(addresses.vllm)) return streamReply([big], { type: "application/json" });
      return url.startsWith(addresses["llama-cpp"]) ? jsonReply(JSON.parse(big)) : listed();
    };
    expect(await idsOf("open")).toEqual([]);
  });

  it("are none where it does not answer in time", async () => {
    const { system } = gate.platform;
    const sleep: typeof system.sleep = (ms, signal) => system.sleep(ms === 2000 ? 1 : ms, signal);
    const hasty = await gatewayUnderTest(
      { providers: { ollama: {} } },
      { system: { ...system, sleep } },
    );
    hasty.transport.behave = ({ signal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason as Error));
      });
    const list = await hasty.send("open/compat/models", { method: "GET" });
    expect(await list.text()).not.toContain("ollama");
    await hasty.close();
  });
});

describe("a free provider", () => {
  const limited = (): Promise<void> => gate.create("own", { spend_limits });
  const row = async (): Promise<Record<string, unknown> | undefined> =>
    (await gate.logs("own", 1))[0];

  it.each([
    ["compat/chat/completions", { model: "ollama/llama3.2", messages: [] }],
    ["compat/chat/completions", { model: "ollama/llama3.2", messages: [], stream: true }],
    ["ollama/api/chat", { messages: [] }],
    ["ollama/v1/audio/speech", { model: "tts", input: "Hi" }],
    ["ollama/api/unheard-of", { name: "x" }],
  ])("passes a spend limit with %s", async (path, body) => {
    await limited();
    for (let at = 0; at < 3; at++)
      expect((await gate.send(`own/${path}`, jsonInit(body))).status).toBe(200);
    expect(await row()).toMatchObject({ provider: "ollama", cost: 0 });
  });

  it("is refused by one where it is said not to be free", async () => {
    const priced = await gatewayUnderTest({ providers: { ollama: { free: false } } });
    await priced.create("own", { spend_limits });
    const init = jsonInit({ model: "ollama/llama3.2", messages: [] });
    expect((await priced.send("own/compat/chat/completions", init)).status).toBe(400);
    await priced.close();
  });

  it("may be a custom one, and is charged for a model with a price", async () => {
    const lab = { "custom-lab": { baseUrl: "https://lab.example/v1", free: true } };
    const prices = [{ provider: "custom-lab", model: "dear", input: 1000, output: 1000 }];
    const priced = await gatewayUnderTest({ providers: lab, prices });
    priced.transport.behave = () => jsonReply(native.openai.reply);
    await priced.create("own", { spend_limits });
    const send = (model: string) =>
      priced.send(
        "own/compat/chat/completions",
        jsonInit({ ...ask, model: `custom-lab/${model}` }),
      );
    expect((await send("cheap")).status).toBe(200);
    expect((await send("dear")).status).toBe(429);
    await priced.create("unlimited");
    const body = jsonInit({ ...ask, model: "custom-lab/dear" });
    await priced.send("unlimited/compat/chat/completions", body);
    expect((await priced.logs("unlimited", 1))[0]?.["cost"]).toBeCloseTo(0.016, 9);
    await priced.close();
  });

  it("passes the budget of a virtual key", async () => {
    const { key } = await virtualKeys(gate).make({
      limits: [{ limit: 0.0001, limitType: "cost", window: 86_400 }],
    });
    for (let at = 0; at < 3; at++) {
      const init = { ...jsonInit({ ...ask, model: "ollama/llama3.2" }), token: key };
      expect((await gate.send("closed/compat/chat/completions", init)).status).toBe(200);
    }
  });

  it("has its use estimated where it tells none, which its row says", async () => {
    await gate.create("own");
    const text = "word ".repeat(40);
    gate.transport.behave = () =>
      streamReply([`{"message":{"content":"${text}"},"done":false}\n`, '{"done":true}\n'], {
        type: "application/x-ndjson",
      });
    const body = { model: "llama3.2", messages: [{ role: "user", content: text }] };
    await (await gate.send("own/ollama/api/chat", jsonInit(body))).text();
    const tokens_in = Math.floor(JSON.stringify(body).length / 4);
    expect(await row()).toMatchObject({
      note: "usage: an estimate",
      tokens_in,
      tokens_out: 50,
      cost: 0,
    });
  });

  it("keeps the use that it tells", async () => {
    await gate.create("own");
    await (await chat("own/compat/chat/completions")).text();
    expect(await row()).toMatchObject({ note: null, tokens_in: 10, tokens_out: 6 });
  });
});

describe("the options of servers of one's own", () => {
  it.each([
    [{ openai: { free: true } }, /"openai" has prices/],
    [{ openai: { speaks: ["chat"] } }, /"openai" is built in/],
    [{ "lm-studo": {} }, /did you mean "lm-studio"/],
  ])("are refused for %j", async (providers, message) => {
    expect(() => parseConfig({ gateway: { providers } }, () => undefined)).toThrow(message);
    const { platform } = gate;
    // `as`: a program without types could say so, too.
    const options = { providers: providers as Record<string, object> };
    expect(() => gatewayParts({ platform, auth: "off", ...options })).toThrow(message);
    const gateways = { own: options };
    expect(() => gatewayParts({ platform, auth: "off", gateways })).toThrow(message);
  });

  it("are read from the file, for all gateways and for one", () => {
    const file = {
      gateway: {
        providers: { ollama: {}, vllm: { free: false } },
        gateways: { own: { providers: { ollama: { baseUrl: "http://gpu:11434" } } } },
      },
    };
    expect(() => parseConfig(file, () => undefined)).not.toThrow();
    const wrong = { gateways: { own: { providers: { ollama: { free: true } } } } };
    expect(() => parseConfig({ gateway: wrong }, () => undefined)).toThrow(/free/);
  });
});

it("needs a token of the gateway that wants one", async () => {
  expect((await chat("closed/compat/chat/completions")).status).toBe(401);
  const init = { ...jsonInit({ ...ask, model: "ollama/llama3.2" }), token: API_TOKEN };
  expect((await gate.send("closed/compat/chat/completions", init)).status).toBe(200);
});
