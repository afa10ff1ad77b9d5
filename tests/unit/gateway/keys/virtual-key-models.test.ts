import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
let key: string;

beforeEach(async () => {
  const named = [
    "openai",
    "anthropic",
    "openrouter",
    "replicate",
    "aws-bedrock",
    "groq",
    "custom-acme",
  ];
  const providers = Object.fromEntries(
    named.map((slug) => [
      slug,
      { apiKey: "sk", ...(slug === "custom-acme" ? { baseUrl: "https://llm.acme.test/v1" } : {}) },
    ]),
  );
  gate = await gatewayUnderTest({ providers });
  gate.transport.behave = () => jsonReply({});
  const settings = {
    name: "team",
    models: ["*/small*"],
    paths: ["POST openai/v1/x", "POST openai/v1/batches", "POST anthropic/v1/messages/batches"],
  };
  const { body } = await gate.manage("/virtual-keys", { method: "POST", ...jsonInit(settings) });
  key = (body.result as { key: string }).key;
});
afterEach(() => gate.close());

const send = async (path: string, init: RequestInit): Promise<number> =>
  (await gate.send(`closed/${path}`, { token: key, ...init })).status;
const raw = (body: string, type = "application/json"): RequestInit => ({
  body,
  headers: { "content-type": type, "content-length": String(body.length) },
});

const completions = "openai/v1/chat/completions";
const responses = "openai/v1/responses";
const messages = "anthropic/v1/messages";
const small = { ...chat, model: "small" };
const big = { model: "big" };

describe("the models of a virtual key", () => {
  it.each<[string, string, object]>([
    [
      "the input of a tool",
      messages,
      {
        ...small,
        messages: [
          { role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input: big }] },
        ],
      },
    ],
    [
      "an example in a schema",
      completions,
      {
        ...small,
        tools: [
          {
            type: "function",
            function: {
              name: "f",
              parameters: { properties: { model: { type: "string" } }, example: big },
            },
          },
        ],
      },
    ],
    [
      "a schema of a response's tool",
      responses,
      {
        model: "small",
        input: "x",
        tools: [
          { type: "function", name: "f", parameters: { properties: { car: { examples: [big] } } } },
        ],
      },
    ],
    ["metadata", completions, { ...small, metadata: big }],
    [
      "the words of a user",
      completions,
      { ...small, messages: [{ role: "user", content: JSON.stringify(big) }] },
    ],
    [
      "a structured output",
      completions,
      {
        ...small,
        response_format: { type: "json_schema", json_schema: { schema: { const: big } } },
      },
    ],
    [
      "the prediction of an embedding",
      "openai/v1/embeddings",
      { model: "small", input: ["model", "x"] },
    ],
    [
      "somebody's own member behind the model",
      completions,
      { messages: chat.messages, user: '"model":', model: "small" },
    ],
    [
      "Converse's tools",
      "aws-bedrock/bedrock-runtime/us-east-1/model/small/converse",
      {
        messages: [],
        toolConfig: { tools: [{ toolSpec: { inputSchema: { json: { default: big } } } }] },
      },
    ],
  ])("are not what %s says", async (_, path, body) => {
    expect(await send(path, jsonInit(body))).toBe(200);
  });

  it.each<[string, string, object]>([
    [
      "models to fall back on",
      "openrouter/v1/chat/completions",
      { ...small, models: ["small", "big"] },
    ],
    ["the only models", "openrouter/v1/chat/completions", { messages: [], models: ["big"] }],
    ["fallbacks", messages, { ...small, fallbacks: [{ model: "small" }, { model: "big" }] }],
    ["fallbacks by name", "custom-acme/chat/completions", { ...small, fallbacks: ["big"] }],
    [
      "fallbacks by whom they replace",
      "custom-acme/chat/completions",
      { ...small, fallbacks: [{ small: ["big"] }] },
    ],
    ["the provider's own fallbacks", messages, { ...small, fallbacks: "default" }],
    ["fallbacks in another letter case", messages, { ...small, Fallbacks: [{ MODEL: "big" }] }],
    ["a model in another letter case", completions, { ...small, MODEL: "big" }],
    ["a model by its id", completions, { ...small, model_id: "big" }],
    [
      "a tool's own model",
      responses,
      { model: "small", input: "x", tools: [{ type: "image_generation", model: "big" }] },
    ],
    [
      "an advisor",
      messages,
      { ...small, tools: [{ type: "advisor_20260301", name: "advisor", model: "big" }] },
    ],
    [
      "a plugin",
      "openrouter/v1/chat/completions",
      { ...small, plugins: [{ id: "fusion", analysis_models: ["big"] }] },
    ],
    [
      "the version of a prediction",
      "replicate/v1/predictions",
      { model: "small", version: "big/one:0", input: {} },
    ],
    [
      "what Converse hands on",
      "aws-bedrock/bedrock-runtime/us-east-1/model/small/converse",
      { additionalModelRequestFields: { fallbacks: [{ model: "big" }] } },
    ],
    ["no model in an object", completions, { messages: [], model: { id: "small" } }],
    ["a model beside an object", completions, { ...small, models: { any: "big" } }],
    [
      "a compat request's fallback",
      "compat/messages",
      { ...small, model: "anthropic/small", fallbacks: [big] },
    ],
    [
      "a batch's request",
      "anthropic/v1/messages/batches",
      { requests: [{ params: { ...small } }, { params: big }] },
    ],
    [
      "a batch's metadata",
      "openai/v1/batches",
      { input_file_id: "f", metadata: { model: "small" }, x: big },
    ],
    ["anything, where no format is known", "openai/v1/x", { ...small, metadata: big }],
  ])("are refused by %s", async (_, path, body) => {
    expect(await send(path, jsonInit(body))).toBe(403);
    expect(gate.transport.requests).toEqual([]);
  });

  it("do not pass for others by how a body is written", async () => {
    for (const init of [
      raw('{"model":"small","model":"big"}'),
      raw('{"model":"small","messages":[],"mod\\u0065l":"big"}'),
      raw('{"model":"small","fallbacks":[{"model":"big"}],"fallbacks":[]}'),
      raw('{"model":"small","\\u0066allbacks":[{"model":"big"}]}'),
      raw('{"model":"small"} {"model":"big"}'),
      raw('{"model":"small",}\n{"models":["big"]}'),
      raw('{"model":"small"}', "application/json; charset=utf-16"),
      raw('\0{\0"\0m', "text/plain"),
      raw('{"model":"big"}', "application/x-www-form-urlencoded"),
      raw("model=big", "application/x-www-form-urlencoded"),
      raw("", "application/json"),
      raw("[]"),
    ])
      expect([init.body, await send(completions, init)]).toEqual([init.body, 403]);
    expect(
      await send(completions, raw('{"model":"small"}', "application/json; charset=UTF-8")),
    ).toBe(200);
    const part = (name: string): string =>
      `--b\r\nContent-Disposition: form-data; name="${name}"; filename=""\r\n\r\nbig\r\n--b--\r\n`;
    for (const name of ["model", "Model", "model[]", "model_id"]) {
      const form = raw(part(name), "multipart/form-data; boundary=b");
      expect([name, await send("openai/v1/audio/transcriptions?model=small", form)]).toEqual([
        name,
        403,
      ]);
    }
    const long = { ...small, "fallback\u017f": [{ model: "big" }] };
    expect(await send(messages, jsonInit(long))).toBe(403);
    const escaped = '{"model":"small","fallback\\u017f":[{"model":"big"}]}';
    expect(await send(messages, raw(escaped))).toBe(403);
    expect(await send(`${completions}?model=big`, jsonInit(small))).toBe(403);
    expect(
      await send("openrouter/v1/chat/completions", jsonInit({ ...small, models: ["small-2"] })),
    ).toBe(200);
    expect(await send(messages, jsonInit({ ...small, fallbacks: [{ model: "small-2" }] }))).toBe(
      200,
    );
  });
});

describe("a long form of a virtual key with models", () => {
  const sound = "openai/v1/audio/transcriptions";
  const part = (more: string, body: string): string =>
    `--b\r\nContent-Disposition: form-data; ${more}\r\n\r\n${body}\r\n`;
  const file = (bytes: number): string => part('name="file"; filename="a.wav"', "x".repeat(bytes));
  const model = (name: string): string => part('name="model"', name);
  const form = (body: string): RequestInit =>
    raw(`${body}--b--\r\n`, "multipart/form-data; boundary=b");
  const chunked = (body: string): RequestInit & { readonly duplex: "half" } => ({
    body: new Blob([`${body}--b--\r\n`]).stream(),
    headers: { "content-type": "multipart/form-data; boundary=b" },
    duplex: "half",
  });
  const mebi = 1024 * 1024;

  it("names its model before or behind a file of 25 MiB, of known length or not", async () => {
    for (const body of [model("small") + file(2 * mebi), file(25 * mebi) + model("small")]) {
      expect(await send(sound, form(body))).toBe(200);
      expect(await send(sound, chunked(body))).toBe(200);
      expect(gate.transport.bodies.at(-1)?.length).toBe(body.length + 7);
    }
  });

  it("names no other one behind its file", async () => {
    for (const body of [
      file(2 * mebi) + model("big"),
      model("small") + file(2 * mebi) + model("big"),
    ])
      expect(await send(sound, form(body))).toBe(403);
  });

  it("is told how long it may be", async () => {
    const body = form(model("small") + file(26 * mebi));
    const response = await gate.send(`closed/${sound}`, { token: key, ...body });
    expect(response.status).toBe(403);
    expect(await response.text()).toContain("a form up to 26 MiB");
  });
});
