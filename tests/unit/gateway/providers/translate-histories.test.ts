import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.bodies.length = 0;
});

const send = async (format: string, body: object): Promise<unknown> => {
  gate.transport.behave = () =>
    format === "responses"
      ? jsonReply({ content: [{ type: "text", text: "Ok" }], stop_reason: "end_turn" })
      : jsonReply({ choices: [{ message: { content: "Ok" }, finish_reason: "stop" }] });
  const response = await gate.send(`open/compat/${format}`, jsonInit(body));
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  return JSON.parse(gate.transport.bodies.at(-1) ?? "null") as unknown;
};
const message = (messages: readonly object[], more: object = {}): Promise<unknown> =>
  send("messages", { model: "openai/gpt-4.1", max_tokens: 9, messages, ...more });
const user = (content: unknown): object => ({ role: "user", content });
const assistant = (content: unknown): object => ({ role: "assistant", content });

describe("a conversation that began with Anthropic and goes on with another provider", () => {
  it("leaves out what Anthropic ran itself, and keeps the words about it", async () => {
    const found = { type: "web_search_result", url: "https://a.example", encrypted_content: "E" };
    const own = [
      { type: "server_tool_use", id: "s1", name: "web_search", input: { query: "q" } },
      { type: "web_search_tool_result", tool_use_id: "s1", content: [found] },
      { type: "bash_code_execution_tool_result", tool_use_id: "s2", content: {} },
      { type: "mcp_tool_use", id: "m1", name: "n", server_name: "s", input: {} },
      { type: "mcp_tool_result", tool_use_id: "m1", content: [{ type: "text", text: "r" }] },
      { type: "fallback", from: { model: "a" }, to: { model: "b" } },
    ];
    const said = [{ type: "text", text: "I look." }, ...own, { type: "text", text: " Found." }];
    expect(await message([user("Hi"), assistant(said), user("Go on")])).toMatchObject({
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "I look. Found." },
        { role: "user", content: "Go on" },
      ],
    });
  });

  it("begins with the last summary of a compaction", async () => {
    const summary = (content: string | null): object => ({ type: "compaction", content });
    const sent = await message([
      user("Long ago"),
      assistant([summary("First summary"), { type: "text", text: "An answer" }]),
      user("Later"),
      assistant([
        { type: "text", text: "Before" },
        summary("Second summary"),
        { type: "text", text: " and after" },
      ]),
      user("Go on"),
      // A compaction that failed changes nothing.
      assistant([summary(null), { type: "text", text: "An end" }]),
      user("Now"),
    ]);
    expect(sent).toMatchObject({
      messages: [
        { role: "assistant", content: "Second summary and after" },
        { role: "user", content: "Go on" },
        { role: "assistant", content: "An end" },
        { role: "user", content: "Now" },
      ],
    });
  });

  it("has results of the client's own search, and documents of blocks, as texts", async () => {
    const result = {
      type: "search_result",
      source: "https://a.example",
      title: "Title",
      content: [
        { type: "text", text: "One" },
        { type: "text", text: "Two" },
      ],
      citations: { enabled: true },
    };
    const listed = { type: "content", content: [{ type: "text", text: "Three" }] };
    const use = { type: "tool_use", id: "t1", name: "search", input: {} };
    const sent = await message([
      user([
        result,
        { type: "document", source: listed },
        { type: "document", source: { type: "content", content: "Four" } },
      ]),
      assistant([use]),
      user([{ type: "tool_result", tool_use_id: "t1", content: [result] }]),
    ]);
    const text = "Title\nhttps://a.example\n\nOne\n\nTwo";
    expect(sent).toMatchObject({
      messages: [
        { role: "user", content: `${text}ThreeFour` },
        { role: "assistant" },
        { role: "tool", content: text },
      ],
    });
  });
});

describe("a response's conversation that began with OpenAI and goes on with another provider", () => {
  const model = "anthropic/claude-sonnet-4-5";

  it("leaves out what OpenAI ran itself", async () => {
    const own = [
      { type: "web_search_call", id: "w1", action: { type: "search", query: "q" } },
      { type: "file_search_call", id: "f1", queries: ["q"], results: null },
      { type: "code_interpreter_call", id: "c1", code: "1", container_id: "c", outputs: [] },
      { type: "mcp_list_tools", id: "l1", server_label: "s", tools: [] },
      { type: "mcp_call", id: "m1", server_label: "s", name: "n", arguments: "{}", output: "o" },
    ];
    const input = [user("Hi"), ...own, assistant("Found."), user("Go on")];
    expect(await send("responses", { model, input })).toMatchObject({
      messages: [
        { role: "user", content: [{ text: "Hi" }] },
        { role: "assistant", content: [{ text: "Found." }] },
        { role: "user", content: [{ text: "Go on" }] },
      ],
    });
  });

  it("has the settings of the last update in the conversation", async () => {
    const format = { type: "json_schema", name: "a", schema: { type: "object" } };
    const update = (more: object): object => ({ type: "configuration_update", ...more });
    const input = [
      update({ reasoning: { effort: "low" }, text: { format } }),
      user("Hi"),
      update({ reasoning: { effort: "high" } }),
    ];
    const asked = { model: "google-ai-studio/gemini-3-pro-preview", reasoning: { effort: "low" } };
    gate.transport.behave = () =>
      jsonReply({ candidates: [{ content: { parts: [{ text: "{}" }] }, finishReason: "STOP" }] });
    const init = jsonInit({ ...asked, input, text: { format: { type: "text" } } });
    const response = await gate.send("open/compat/responses", init);
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    expect(JSON.parse(gate.transport.bodies.at(-1) ?? "null")).toMatchObject({
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
      generationConfig: {
        responseJsonSchema: { type: "object" },
        thinkingConfig: { thinkingLevel: "high" },
      },
    });
  });
});
