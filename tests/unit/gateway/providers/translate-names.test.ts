import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest } from "../../../fakes/gateway-app.ts";
import { anyEventsOf, askIn, chatChunk, streamEvents } from "../../../fakes/gateway-formats.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());

const server = `mcp__${"a-long-server-".repeat(5)}`;
const own = [`${server}_first`, `${server}_second`, "fs.read", "fs_read", "1c_reload"];
const start = server.slice(0, 62);
const taken = [`${start}_0`, `${start}_1`, "fs_read", "fs_read_3", "_1c_reload"];
const tools = own.map((name) => ({ name, input_schema: { type: "object" } }));
const calls = (names: readonly string[]) =>
  names.map((name, index) => ({
    index,
    id: `t${index}`,
    function: { name, arguments: "{}" },
  }));

const sentBody = (): unknown => JSON.parse(gate.transport.bodies.at(-1) ?? "null");
const namesOf = (blocks: readonly object[]) =>
  (blocks as readonly { name: string }[]).map(({ name }) => name);

describe("tools whose names a provider refuses", () => {
  const model = "mistral/m";
  const ask = (more: object): Promise<Response> =>
    askIn(gate, "messages", { model, tools, ...more });

  it("have others there, also in the choice and the history, and their own at the client", async () => {
    const message = { tool_calls: calls(taken) };
    gate.transport.behave = () =>
      jsonReply({ choices: [{ message, finish_reason: "tool_calls" }] });
    const used = own.map((name, at) => ({ type: "tool_use", id: `t${at}`, name, input: {} }));
    const answer = await ask({
      tool_choice: { type: "tool", name: own[1] },
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: used },
        { role: "user", content: used.map(({ id }) => ({ type: "tool_result", tool_use_id: id })) },
      ],
    });
    const { content } = (await answer.json()) as { content: object[] };
    expect(namesOf(content)).toEqual(own);
    expect(sentBody()).toMatchObject({
      tools: taken.map((name) => ({ function: { name } })),
      tool_choice: { function: { name: taken[1] } },
      messages: [
        {},
        { tool_calls: taken.map((name) => ({ function: { name } })) },
        {},
        {},
        {},
        {},
        {},
      ],
    });
    expect(taken.every((name) => /^[a-z_][\w-]{0,63}$/i.test(name))).toBe(true);
  });

  it("have their own in a stream, also a name that comes late", async () => {
    const [first, ...others] = calls(taken);
    const late = { ...first, function: { arguments: "" } };
    streamEvents(
      gate,
      [
        chatChunk({ tool_calls: [late] }),
        chatChunk({ tool_calls: [first] }),
        chatChunk({ tool_calls: others }, "tool_calls"),
      ],
      "data: [DONE]\n\n",
    );
    const events = await anyEventsOf(await ask({ stream: true }));
    const begun = events.flatMap(({ content_block: block }) =>
      block === undefined ? [] : [block],
    );
    expect(namesOf(begun as object[])).toEqual(own);
  });

  it("are found where Gemini puts its own word in front", async () => {
    const parts = ["default_api:_1c_reload", "default_api.fs_read", "default_api:other"].map(
      (name) => ({
        functionCall: { name, args: {} },
      }),
    );
    gate.transport.behave = () =>
      jsonReply({ candidates: [{ content: { parts }, finishReason: "STOP" }] });
    const named = ["1c_reload", "fs_read"].map((name) => ({ name, input_schema: {} }));
    const answer = await ask({ model: "google-ai-studio/gemini-3-pro", tools: named });
    const { content } = (await answer.json()) as { content: object[] };
    expect(namesOf(content)).toEqual(["1c_reload", "fs_read", "default_api:other"]);
  });
});
