import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  API_TOKEN,
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders } from "../../../fakes/gateway-transport.ts";
import { storeKeys, virtualKeys } from "../../../fakes/virtual-keys.ts";

let gate: GatewayUnderTest;
beforeEach(async () => {
  gate = await gatewayUnderTest({
    providers: {
      anthropic: { apiKey: "sk-ant" },
      "google-ai-studio": { apiKey: "sk-google" },
      "custom-chat": { baseUrl: "http://127.0.0.1:11434/v1", speaks: ["chat"] },
    },
  });
});
afterEach(() => gate.close());

const ask = {
  system: "Be brief.",
  messages: [{ role: "user", content: "Hello" }],
  tools: [{ name: "add", input_schema: { type: "object" } }],
};
const count = (model: string, more: object = {}, path = "open/compat/v1/messages/count_tokens") =>
  gate.send(path, jsonInit({ ...ask, model, ...more }));
const sent = () => JSON.parse(gate.transport.bodies[0] ?? "null") as Record<string, unknown>;

describe("counting the tokens of a message", () => {
  it.each(["compat/v1", "compat"])("passes to Anthropic from %s", async (front) => {
    gate.transport.behave = () => jsonReply({ input_tokens: 21 });
    const path = `open/${front}/messages/count_tokens?beta=true`;
    const response = await count("anthropic/claude-opus-5-5", {}, path);
    expect(await response.json()).toEqual({ input_tokens: 21 });
    expect(response.headers.get("cf-aig-estimated")).toBeNull();
    const [request] = gate.transport.requests;
    expect(request?.url).toBe("https://api.anthropic.com/v1/messages/count_tokens?beta=true");
    expect(sent()).toEqual({ ...ask, model: "claude-opus-5-5" });
    const headers = sentHeaders(request);
    expect([headers["x-api-key"], headers["anthropic-version"]]).toEqual(["sk-ant", "2023-06-01"]);
  });

  it("asks Gemini for its own count", async () => {
    gate.transport.behave = () => jsonReply({ totalTokens: 31 });
    const response = await count("google-ai-studio/gemini-3-pro");
    expect([response.status, await response.json()]).toEqual([200, { input_tokens: 31 }]);
    expect(response.headers.get("cf-aig-estimated")).toBeNull();
    expect(gate.transport.requests[0]?.url).toBe(
      "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:countTokens",
    );
    const { generateContentRequest } = sent();
    expect(Object.keys(sent())).toEqual(["generateContentRequest"]);
    expect(generateContentRequest).toMatchObject({
      model: "models/gemini-3-pro",
      contents: [{ role: "user", parts: [{ text: "Hello" }] }],
      systemInstruction: { parts: [{ text: "Be brief." }] },
      tools: [{ functionDeclarations: [{ name: "add" }] }],
    });
    expect(generateContentRequest).not.toHaveProperty("generationConfig");
  });

  it("gives Gemini's errors in Anthropic's format, and takes no other answer for a count", async () => {
    gate.transport.behave = () => jsonReply({ error: { code: 429, message: "slow" } }, 429);
    const refused = await count("google-ai-studio/gemini-3-pro");
    expect([refused.status, await refused.json()]).toEqual([
      429,
      { type: "error", error: { type: "rate_limit_error", message: "slow" } },
    ]);
    gate.transport.behave = () => jsonReply({ candidates: [] });
    expect((await count("google-ai-studio/gemini-3-pro")).status).toBe(502);
  });

  it.each([
    ["openai/gpt-5.6", "openai"],
    ["groq/llama-4", "groq"],
    ["custom-chat/llama", "custom-chat"],
    ["echo/echo-demo", "echo"],
    ["dynamic/route-of-nobody", "dynamic"],
    ["cloudflare/auto", "auto"],
  ])("estimates for %s, says so, and asks nobody", async (model, provider) => {
    const event = `estimate-${provider}`;
    const init = jsonInit({ ...ask, model }, { "cf-aig-event-id": event });
    const response = await gate.send("open/compat/v1/messages/count_tokens", init);
    expect(response.status).toBe(200);
    const { input_tokens: tokens } = (await response.json()) as { input_tokens: number };
    expect(tokens).toBeGreaterThan(20);
    expect(tokens).toBeLessThan(60);
    expect(response.headers.get("cf-aig-estimated")).toBe("input_tokens");
    expect(response.headers.get("gw-aig-estimated")).toBe("input_tokens");
    expect(gate.transport.requests).toEqual([]);
    const [row] = await gate.rowsOf("open", event, 1);
    expect(row).toMatchObject({ provider, success: true, note: "input_tokens: an estimate" });
  });

  it("grows with the text, and takes a picture for what it is, not for its letters", async () => {
    const tokensOf = async (content: unknown): Promise<number> => {
      const response = await count("openai/gpt-5.6", { messages: [{ role: "user", content }] });
      return ((await response.json()) as { input_tokens: number }).input_tokens;
    };
    const short = await tokensOf("word ".repeat(100));
    expect((await tokensOf("word ".repeat(900))) - short).toBe(1000);
    const source = { type: "base64", media_type: "image/png", data: "A".repeat(400_000) };
    expect(await tokensOf([{ type: "image", source }])).toBeLessThan(1200);
  });

  it("is there on the REST inference API", async () => {
    const authorization = `Bearer ${API_TOKEN}`;
    const body = jsonInit({ ...ask, model: "openai/gpt-5.6" }, { authorization });
    const response = await gate.manageRaw("/../ai/v1/messages/count_tokens", {
      method: "POST",
      ...body,
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("cf-aig-estimated")).toBe("input_tokens");
  });

  it("refuses what is no message, and models of nobody", async () => {
    for (const body of [{}, { messages: [] }, { messages: "Hello" }]) {
      const init = jsonInit({ model: "openai/gpt-5.6", ...body });
      const response = await gate.send("open/compat/v1/messages/count_tokens", init);
      expect(response.status).toBe(400);
    }
    expect((await count("nobody/model")).status).toBe(400);
    expect((await count("deepgram/nova")).status).toBe(400);
  });
});

describe("counting with a virtual key", () => {
  const closed = "closed/compat/v1/messages/count_tokens";
  const withKey = (key: string, model: string, path = closed): Promise<Response> =>
    gate.send(path, jsonInit({ ...ask, model }, { authorization: `Bearer ${key}` }));

  it("is for the models of the key alone; a route checks those that it asks", async () => {
    const { key } = await virtualKeys(gate).make({ models: ["openai/*"] });
    expect((await withKey(key, "openai/gpt-5.6")).status).toBe(200);
    expect((await withKey(key, "groq/llama-4")).status).toBe(403);
    expect((await withKey(key, "anthropic/claude-opus-5-5")).status).toBe(403);
    expect((await withKey(key, "dynamic/any")).status).toBe(200);
  });

  it("counts as a request, and uses no tokens and no money", async () => {
    await storeKeys(gate, "closed", ["anthropic"]);
    const { make, used } = virtualKeys(gate);
    const limits = [
      { limitType: "requests", limit: 3, window: 3600 },
      { limitType: "tokens", limit: 10 },
      { limitType: "cost", limit: 0.001 },
    ];
    const { key, id } = await make({ limits });
    gate.transport.behave = () => jsonReply({ input_tokens: 21 });
    expect((await withKey(key, "openai/gpt-5.6")).status).toBe(200);
    expect((await withKey(key, "custom-chat/llama")).status).toBe(200);
    const native = "closed/anthropic/v1/messages/count_tokens";
    expect((await withKey(key, "claude-opus-5-5", native)).status).toBe(200);
    expect((await withKey(key, "openai/gpt-5.6")).status).toBe(429);
    await gate.logs("closed", 3);
    expect(await used(id)).toEqual([3, 0, 0]);
  });

  it("asks for the token of a gateway that has one", async () => {
    const init = jsonInit({ ...ask, model: "openai/gpt-5.6" });
    expect((await gate.send(closed, init)).status).toBe(401);
    expect((await withKey(GATEWAY_TOKEN, "openai/gpt-5.6")).status).toBe(200);
  });
});
