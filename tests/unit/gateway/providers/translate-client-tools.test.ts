import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";
import { eventsOf } from "../../../fakes/gateway-native-answers.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());

type Body = Record<string, unknown>;

const send = (format: string, body: object): Promise<Response> =>
  gate.send(`open/compat/${format}`, jsonInit({ model: "mistral/m", ...body }));
const sent = (): Body => JSON.parse(gate.transport.bodies.at(-1) ?? "null") as Body;
const sentNames = (): string[] =>
  ((sent()["tools"] ?? []) as { function: { name: string } }[]).map((one) => one.function.name);
const call = (name: string, args: object = {}) => ({
  id: "c1",
  type: "function",
  function: { name, arguments: JSON.stringify(args) },
});
/** Lets the model call a tool. */
const calling = (name: string, args?: object): void => {
  const message = { role: "assistant", content: null, tool_calls: [call(name, args)] };
  gate.transport.behave = () => jsonReply({ choices: [{ message, finish_reason: "tool_calls" }] });
};
const parameters = { type: "object", properties: { q: { type: "string" } } };

describe("tools of a response in a namespace", () => {
  const tools = [
    { type: "function", name: "list", parameters },
    {
      type: "namespace",
      name: "crm",
      description: "Customers",
      tools: [
        { type: "function", name: "list", parameters },
        { type: "custom", name: "note" },
      ],
    },
  ];

  it("have its name in front for the model, and as a member for the client", async () => {
    calling("crm__list", { q: "x" });
    const { output } = (await (await send("responses", { input: "Hi", tools })).json()) as {
      output: object[];
    };
    expect(sentNames()).toEqual(["list", "crm__list", "crm__note"]);
    const item = { type: "function_call", namespace: "crm", name: "list", arguments: '{"q":"x"}' };
    expect(output).toMatchObject([item]);
    const result = { type: "function_call_output", call_id: "c1", output: "none" };
    await send("responses", { input: [{ role: "user", content: "Hi" }, ...output, result], tools });
    expect(sent()["messages"]).toMatchObject([
      {},
      { tool_calls: [{ function: { name: "crm__list" } }] },
      { role: "tool", content: "none" },
    ]);
  });

  it("may be custom ones", async () => {
    calling("crm__note", { input: "Hello" });
    const { output } = (await (await send("responses", { input: "Hi", tools })).json()) as {
      output: object[];
    };
    const item = { type: "custom_tool_call", namespace: "crm", name: "note", input: "Hello" };
    expect(output).toMatchObject([item]);
    await send("responses", { input: [{ role: "user", content: "Hi" }, ...output], tools });
    expect(sent()["messages"]).toMatchObject([
      {},
      { tool_calls: [{ function: { name: "crm__note", arguments: '{"input":"Hello"}' } }] },
    ]);
  });

  it("keep names that providers take", async () => {
    const long = [{ type: "namespace", name: "n".repeat(60), tools: [tools[0]] }];
    const taken = `${"n".repeat(60)}___0`;
    calling(taken);
    const answer = await send("responses", { input: "Hi", tools: long });
    expect(sentNames()).toEqual([taken]);
    expect(await answer.json()).toMatchObject({ output: [{ name: "list" }] });
  });

  it("are streamed with the names that the client knows", async () => {
    const delta = { tool_calls: [{ index: 0, ...call("crm__list", { q: "x" }) }] };
    const chunks = [{ choices: [{ delta }] }, { choices: [{ finish_reason: "tool_calls" }] }];
    const lines = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
    gate.transport.behave = () => streamReply([...lines, "data: [DONE]\n\n"]);
    const events = await eventsOf(await send("responses", { input: "Hi", tools, stream: true }));
    const text = JSON.stringify(events.filter(({ type }) => type !== "response.completed"));
    expect(text).toContain('"namespace":"crm"');
    expect(text).not.toContain('"name":"crm__list"');
  });
});

describe("further tools of a response", () => {
  const search = { type: "tool_search", execution: "client", description: "Finds", parameters };
  const found = { type: "function", name: "weather", parameters };

  it("are searched by a function, whose call is an item of its own", async () => {
    calling("tool_search", { q: "rain" });
    const ask = { role: "user", content: "Hi" };
    const first = await send("responses", { input: [ask], tools: [search] });
    expect(sentNames()).toEqual(["tool_search"]);
    const { output } = (await first.json()) as { output: object[] };
    const item = { type: "tool_search_call", call_id: "c1", execution: "client" };
    expect(output).toMatchObject([{ ...item, arguments: { q: "rain" } }]);
    calling("weather");
    const told = { type: "tool_search_output", call_id: "c1", status: "completed", tools: [found] };
    const next = await send("responses", { input: [ask, ...output, told], tools: [search] });
    expect(sentNames()).toEqual(["tool_search", "weather"]);
    expect(sent()["messages"]).toMatchObject([
      {},
      { tool_calls: [{ function: { name: "tool_search", arguments: '{"q":"rain"}' } }] },
      { role: "tool", tool_call_id: "c1", content: "Now there are: weather" },
    ]);
    expect(await next.json()).toMatchObject({ output: [{ name: "weather" }] });
  });

  it("come in the input", async () => {
    calling("weather");
    const input = [
      { type: "additional_tools", role: "developer", tools: [found] },
      { role: "user", content: "Hi" },
    ];
    expect((await send("responses", { input })).status).toBe(200);
    expect(sentNames()).toEqual(["weather"]);
    expect(sent()["messages"]).toEqual([{ role: "user", content: "Hi" }]);
  });

  it("do not make up a search of the server, nor its results", async () => {
    const server = { ...search, execution: "server" };
    const refused = await send("responses", { input: "Hi", tools: [server] });
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining("tools.0.execution"),
    ]);
    calling("x");
    const input = [
      { type: "web_search_call", id: "ws", status: "completed" },
      { role: "user", content: "Hi" },
    ];
    await send("responses", { input });
    expect(sent()["messages"]).toEqual([{ role: "user", content: "Hi" }]);
  });

  it.each(["web_search", "image_generation", "mcp", "file_search", "code_interpreter"])(
    "are refused by name where the provider would have to run them: %s",
    async (type) => {
      const before = gate.transport.requests.length;
      const response = await send("responses", { input: "Hi", tools: [found, { type }] });
      expect(response.status).toBe(400);
      expect(await response.text()).toContain(`tools: \\"${type}\\"`);
      expect(gate.transport.requests).toHaveLength(before);
    },
  );
});

describe("deferred tools of a message", () => {
  const tool = (name: string, more: object = {}) => ({ name, input_schema: parameters, ...more });
  const tools = [tool("ToolSearch"), tool("WebFetch", { defer_loading: true })];
  const use = { type: "tool_use", id: "t1", name: "ToolSearch", input: {} };
  const reference = { type: "tool_reference", tool_name: "WebFetch" };
  const result = { type: "tool_result", tool_use_id: "t1", content: [reference] };
  const ask = { role: "user", content: "Hi" };
  const body = { max_tokens: 9, tools };

  it("are there once a result has loaded them", async () => {
    calling("ToolSearch");
    await send("messages", { ...body, messages: [ask] });
    expect(sentNames()).toEqual(["ToolSearch"]);
    const round = [ask, { role: "assistant", content: [use] }, { role: "user", content: [result] }];
    await send("messages", { ...body, messages: round });
    expect(sentNames()).toEqual(["ToolSearch", "WebFetch"]);
    expect(JSON.stringify(sent())).toContain("The tool WebFetch is loaded.");
  });
});

describe("what a client says of the keeping of a conversation", () => {
  it.each([
    ["messages", { max_tokens: 9, messages: [{ role: "user", content: "Hi" }] }],
    ["responses", { input: "Hi" }],
  ])("is left out of %s for other providers, and named", async (format, body) => {
    calling("x");
    const edits = { edits: [{ type: "clear_thinking_20251015", keep: "all" }] };
    const response = await send(format, { ...body, context_management: edits });
    expect(response.status).toBe(200);
    expect(response.headers.get("cf-aig-dropped")).toBe("context_management");
    expect(sent()).not.toHaveProperty("context_management");
    expect(sent()).not.toHaveProperty("left_out");
  });

  it.each([
    ["auto", "truncation"],
    ["disabled", null],
  ])("is left out of a response that asks for the truncation %s", async (truncation, dropped) => {
    calling("x");
    const response = await send("responses", { input: "Hi", truncation });
    expect([response.status, response.headers.get("cf-aig-dropped")]).toEqual([200, dropped]);
    expect(sent()).not.toHaveProperty("truncation");
  });
});

describe("system messages in the middle of a conversation", () => {
  const messages = [
    { role: "user", content: "Hi" },
    { role: "system", content: "Later words." },
  ];
  const body = { max_tokens: 9, system: "First words.", messages };

  it("are one at the beginning, which is all that many templates take", async () => {
    calling("x");
    await send("messages", body);
    expect(sent()["messages"]).toEqual([
      { role: "system", content: "First words.\n\nLater words." },
      { role: "user", content: "Hi" },
    ]);
  });

  it("stay where they are for OpenAI", async () => {
    await send("messages", { ...body, model: "openai/gpt-x" });
    expect(sent()["messages"]).toMatchObject([
      { role: "system" },
      { role: "user" },
      { role: "system", content: "Later words." },
    ]);
  });
});
