import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { bytes, jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

const BASE = "https://workers.test/ai";
let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest({
    providers: { "workers-ai": { baseUrl: BASE, apiKey: "k" } },
  });
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.bodies.length = 0;
});

const model = "@cf/meta/llama-test";
const messages = [{ role: "user", content: "hi" }];
const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const completion = {
  choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
  usage,
};
const send = (path: string, body: object, event = crypto.randomUUID()): Promise<Response> =>
  gate.send(`open/${path}`, jsonInit(body, { "cf-aig-event-id": event }));
const sentBody = () => JSON.parse(gate.transport.bodies.at(-1) ?? "null") as unknown;
const sentUrl = () => gate.transport.requests.at(-1)?.url;

describe("a chat for Workers AI", () => {
  it.each([
    ["workers-ai/chat/completions", model],
    ["workers-ai/v1/chat/completions", model],
    ["compat/chat/completions", `workers-ai/${model}`],
  ])("goes from %s to its OpenAI-compatible endpoint as it is", async (path, named) => {
    gate.transport.behave = () => jsonReply(completion);
    const asked = { messages, stop: ["END"], tool_choice: "required", top_k: 3 };
    const event = crypto.randomUUID();
    const answer = await send(path, { ...asked, model: named }, event);
    expect([answer.status, await answer.json()]).toEqual([200, completion]);
    expect(sentUrl()).toBe(`${BASE}/v1/chat/completions`);
    expect(sentBody()).toEqual({ ...asked, model });
    const [row] = await gate.rowsOf("open", event, 1);
    expect(row).toMatchObject({ provider: "workers-ai", model, tokens_in: 7, tokens_out: 3 });
  });

  it("goes below a base URL that ends in v1, too", async () => {
    const other = await gatewayUnderTest({
      providers: { "workers-ai": { baseUrl: `${BASE}/v1` } },
    });
    for (const path of ["chat/completions", "v1/chat/completions"])
      await other.send(`open/workers-ai/${path}`, jsonInit({ model, messages }));
    const urls = other.transport.requests.map(({ url }) => url);
    expect(urls).toEqual(Array(2).fill(`${BASE}/v1/chat/completions`));
    await other.close();
  });

  it.each(["messages", "responses"])("is made of a request in the format %s", async (format) => {
    gate.transport.behave = () => jsonReply(completion);
    const asked = format === "messages" ? { messages, max_tokens: 9 } : { input: "hi" };
    const answer = await send(`compat/${format}`, { ...asked, model: `workers-ai/${model}` });
    expect([answer.status, await answer.text()]).toEqual([
      200,
      expect.stringContaining(`"text":"Hello"`),
    ]);
    expect(sentUrl()).toBe(`${BASE}/v1/chat/completions`);
    expect(sentBody()).toMatchObject({ model, messages });
  });

  it("whose answer is an error in the API's envelope fails with the provider's words", async () => {
    const error = {
      result: null,
      success: false,
      errors: [{ code: 5007, message: "No such model" }],
    };
    gate.transport.behave = () => jsonReply(error, 404);
    const asked = { model: `workers-ai/${model}`, messages, max_tokens: 9 };
    const answer = await send("compat/messages", asked);
    expect([answer.status, await answer.json()]).toMatchObject([
      404,
      { error: { message: "No such model" } },
    ]);
  });
});

describe("a request to Workers AI's own path of a model", () => {
  const native = { result: { response: "Hello", usage }, success: true, errors: [], messages: [] };

  it.each([`run/${model}`, model])(
    "%s goes there as it is, and so comes its answer",
    async (rest) => {
      gate.transport.behave = () => jsonReply(native);
      const event = crypto.randomUUID();
      const answer = await send(`workers-ai/${rest}`, { messages }, event);
      expect(await answer.json()).toEqual(native);
      expect(sentUrl()).toBe(`${BASE}/${rest}`);
      expect(sentBody()).toEqual({ messages });
      const [row] = await gate.rowsOf("open", event, 1);
      expect(row).toMatchObject({ provider: "workers-ai", model, tokens_in: 7, tokens_out: 3 });
    },
  );

  it("streams as it is, and its usage is counted", async () => {
    const events = ['data: {"response":"Hello"}\n\n', `data: ${JSON.stringify({ usage })}\n\n`];
    gate.transport.behave = () => streamReply([...events, "data: [DONE]\n\n"]);
    const event = crypto.randomUUID();
    const answer = await send(`workers-ai/run/${model}`, { messages, stream: true }, event);
    expect(await answer.text()).toBe([...events, "data: [DONE]\n\n"].join(""));
    const [row] = await gate.rowsOf("open", event, 1);
    expect(row).toMatchObject({ success: true, tokens_in: 7, tokens_out: 3 });
  });

  it("takes sounds and pictures as they are", async () => {
    gate.transport.behave = () => jsonReply(native);
    const init = { method: "POST", body: bytes("RIFF"), headers: { "content-type": "audio/wav" } };
    expect((await gate.send(`open/workers-ai/run/@cf/openai/whisper`, init)).status).toBe(200);
    expect(gate.transport.bodies).toEqual(["RIFF"]);
  });
});
