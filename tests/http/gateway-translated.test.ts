import { expect, it } from "vitest";
import { byEvent, logs, seen, send } from "../fakes/gateway-sent.ts";

const call = (id: string, args: string): object => ({
  id,
  type: "function",
  function: { name: "f", arguments: args },
});

/** What a client sends that knows nothing of the model's refusals, after a round that went wrong. */
const asked = {
  model: "anthropic/claude-opus-5-5",
  temperature: 0.5,
  stop: ["\n"],
  tools: [{ type: "function", function: { name: "f", parameters: {} } }],
  tool_choice: "required",
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hi" },
    { role: "assistant", content: "\n", tool_calls: [call("a", '{"x": 1'), call("b", "{}")] },
    { role: "tool", tool_call_id: "a", content: "No JSON" },
    { role: "user", content: "Wait" },
    { role: "tool", tool_call_id: "b", content: "2" },
    { role: "system", content: "Be brief." },
  ],
};

it.each([false, true])("a model gets what it takes (stream: %s)", async (stream) => {
  const { id, response } = send({
    mode: "native",
    path: "compat/chat/completions",
    body: JSON.stringify({ ...asked, stream }),
    headers: { authorization: "Bearer sk-own" },
  });
  const answer = await response;
  expect(await answer.text()).toContain("The tool said");
  expect(answer.status).toBe(200);
  const dropped = "temperature, tool_choice, stop";
  expect(answer.headers.get("cf-aig-dropped")).toBe(dropped);
  const [sent] = await seen(id);
  expect(JSON.parse(sent?.body ?? "null")).toEqual({
    model: "claude-opus-5-5",
    max_tokens: 4096,
    system: "Be brief.",
    messages: [
      { role: "user", content: [{ type: "text", text: "Hi" }] },
      {
        role: "assistant",
        content: [
          { type: "tool_use", id: "a", name: "f", input: { arguments: '{"x": 1' } },
          { type: "tool_use", id: "b", name: "f", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: "No JSON" },
          { type: "tool_result", tool_use_id: "b", content: "2" },
          { type: "text", text: "Wait" },
        ],
      },
    ],
    tools: [{ name: "f", input_schema: { type: "object", properties: {} } }],
    tool_choice: { type: "auto" },
    ...(stream ? { stream: true } : {}),
  });
  const event = answer.headers.get("cf-aig-event-id") ?? "";
  expect(await logs("open", byEvent(event), 1)).toMatchObject([{ dropped }]);
});
