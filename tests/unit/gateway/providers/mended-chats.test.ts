import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
  gate.transport.behave = () => jsonReply({});
});
afterAll(() => gate.close());

type Body = Record<string, unknown>;
const user = { role: "user", content: "Hi" };

/** Asks, and returns what the provider gets and what is said to have gone. */
async function asked(format: string, model: string, body: object): Promise<[Body, string | null]> {
  gate.transport.requests.length = 0;
  gate.transport.bodies.length = 0;
  const limit = format === "messages" ? { max_tokens: 64 } : {};
  const response = await gate.send(`open/compat/${format}`, jsonInit({ model, ...limit, ...body }));
  const text = await response.text();
  expect(gate.transport.bodies, text).toHaveLength(1);
  const sent = JSON.parse(gate.transport.bodies[0] ?? "null") as Body;
  return [sent, response.headers.get("cf-aig-dropped")];
}

const claude = "anthropic/claude-sonnet-4-5";
const gemini = "google-ai-studio/gemini-2.5-flash";
const grok = "grok/grok-4.5";

const text = (said: string) => ({ type: "text", text: said });
const turn = (role: string, ...content: object[]) => ({ role, content });

/** The same conversation in each format of a client. */
interface Formats {
  readonly "chat/completions": object;
  readonly messages: object;
  readonly responses: object;
}

async function eachFormat(
  model: string,
  formats: Partial<Formats>,
  check: (body: Body, dropped: string | null, format: string) => void,
): Promise<void> {
  for (const [format, body] of Object.entries(formats))
    check(...(await asked(format, model, body)), format);
}

describe("a text of blanks alone", () => {
  const parts = [text("\n"), text("Hi"), text(" ")];
  const formats: Formats = {
    "chat/completions": {
      messages: [
        { role: "system", content: " " },
        { role: "user", content: parts },
        { role: "assistant", content: "\n\n" },
        { role: "user", content: "And?" },
      ],
    },
    messages: {
      system: [text(" ")],
      messages: [
        { role: "user", content: parts },
        { role: "assistant", content: [text("\n\n")] },
        { role: "user", content: "And?" },
      ],
    },
    responses: {
      instructions: " ",
      input: [
        { role: "user", content: parts },
        { role: "assistant", content: "\n\n" },
        { role: "user", content: "And?" },
      ],
    },
  };

  it("does not reach Anthropic, which refuses it", async () => {
    const { messages: _, ...others } = formats;
    await eachFormat(claude, others, (body) => {
      expect(body).not.toHaveProperty("system");
      expect(body["messages"]).toEqual([turn("user", text("Hi"), text("And?"))]);
    });
  });

  it("does not reach Gemini", async () => {
    await eachFormat(gemini, formats, (body) => {
      expect(body).not.toHaveProperty("systemInstruction");
      expect(body["contents"]).toEqual([
        { role: "user", parts: [{ text: "Hi" }, { text: "And?" }] },
      ]);
    });
  });

  it("is no content of a tool's result", async () => {
    const call = { id: "t", type: "function", function: { name: "f", arguments: "{}" } };
    const [body] = await asked("chat/completions", claude, {
      messages: [
        user,
        { role: "assistant", tool_calls: [call] },
        { role: "tool", tool_call_id: "t", content: [text(" "), text("\n")] },
      ],
    });
    expect((body["messages"] as object[])[2]).toEqual(
      turn("user", { type: "tool_result", tool_use_id: "t", content: "" }),
    );
  });
});

describe("a schema of a tool that has no type", () => {
  const schema = { properties: { a: { type: "string" } } };
  const formats: Formats = {
    "chat/completions": {
      messages: [user],
      tools: [{ type: "function", function: { name: "f", parameters: schema } }],
    },
    messages: { messages: [user], tools: [{ name: "f", input_schema: schema }] },
    responses: { input: "Hi", tools: [{ type: "function", name: "f", parameters: schema }] },
  };
  const typed = { type: "object", ...schema };

  it("has one where it has to", async () => {
    const { messages, ...others } = formats;
    await eachFormat(claude, others, (body) => {
      expect(body["tools"]).toEqual([{ name: "f", input_schema: typed }]);
    });
    await eachFormat("openai/gpt-4.1", { messages }, (body) => {
      expect(body["tools"]).toEqual([
        { type: "function", function: { name: "f", parameters: typed } },
      ]);
    });
    await eachFormat(gemini, formats, (body) => {
      expect(body["tools"]).toEqual([
        { functionDeclarations: [{ name: "f", parametersJsonSchema: typed }] },
      ]);
    });
  });

  it("has properties, too, where it is empty", async () => {
    const [body] = await asked("messages", grok, {
      messages: [user],
      tools: [{ name: "f", input_schema: {} }],
    });
    const parameters = { type: "object", properties: {} };
    expect(body["tools"]).toEqual([{ type: "function", function: { name: "f", parameters } }]);
  });
});

describe("a stop sequence of blanks alone", () => {
  it("does not reach Anthropic, which refuses it, and is named", async () => {
    const [mixed, dropped] = await asked("chat/completions", claude, {
      messages: [user],
      stop: ["\n", "END"],
    });
    expect([mixed["stop_sequences"], dropped]).toEqual([["END"], "stop"]);
    const [blank] = await asked("chat/completions", claude, { messages: [user], stop: "\n\n" });
    expect(blank).not.toHaveProperty("stop_sequences");
  });

  it("reaches the others", async () => {
    const stop = { messages: [user], stop_sequences: ["\n"] };
    const [body, dropped] = await asked("messages", gemini, stop);
    expect(body["generationConfig"]).toMatchObject({ stopSequences: ["\n"] });
    expect(dropped).toBeNull();
  });
});

describe("an answer that the request begins", () => {
  it("does not end with a blank, which Anthropic refuses", async () => {
    const begun = { role: "assistant", content: "Sure: \n" };
    await eachFormat(
      claude,
      { "chat/completions": { messages: [user, begun] }, responses: { input: [user, begun] } },
      (body) => {
        expect((body["messages"] as object[])[1]).toEqual(turn("assistant", text("Sure:")));
      },
    );
  });

  it("keeps its blank in the middle of a conversation", async () => {
    const said = { role: "assistant", content: "Sure: " };
    const more = { role: "user", content: "And? " };
    const [body] = await asked("chat/completions", claude, { messages: [user, said, more] });
    expect((body["messages"] as object[]).slice(1)).toEqual([
      turn("assistant", text("Sure: ")),
      turn("user", text("And? ")),
    ]);
  });

  it("is none where it has no words", async () => {
    const [body, dropped] = await asked("chat/completions", "anthropic/claude-opus-5-5", {
      messages: [user, { role: "assistant", content: " " }],
    });
    expect([body["messages"], dropped]).toEqual([[turn("user", text("Hi"))], null]);
  });
});

describe("a text between the results of a round of tool calls", () => {
  const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
  const chat = {
    messages: [
      user,
      { role: "assistant", tool_calls: [call("a"), call("b")] },
      { role: "tool", tool_call_id: "a", content: "1" },
      { role: "user", content: "Wait" },
      { role: "tool", tool_call_id: "b", content: "2" },
    ],
  };
  const result = (id: string, content: string) => ({
    type: "tool_result",
    tool_use_id: id,
    content,
  });
  const use = (id: string) => ({ type: "tool_use", id, name: "f", input: {} });
  const messages = {
    messages: [
      user,
      turn("assistant", use("a"), use("b")),
      turn("user", result("a", "1"), text("Wait")),
      turn("user", result("b", "2")),
    ],
  };
  const made = (id: string) => ({
    type: "function_call",
    call_id: id,
    name: "f",
    arguments: "{}",
  });
  const output = (id: string, said: string) => ({
    type: "function_call_output",
    call_id: id,
    output: said,
  });
  const responses = {
    input: [
      user,
      made("a"),
      made("b"),
      output("a", "1"),
      { ...user, content: "Wait" },
      output("b", "2"),
    ],
  };

  it("stands behind them for Anthropic", async () => {
    await eachFormat(claude, { "chat/completions": chat, responses }, (body) => {
      expect((body["messages"] as object[])[2]).toEqual(
        turn("user", result("a", "1"), result("b", "2"), text("Wait")),
      );
    });
  });

  it("stands behind them in OpenAI's format", async () => {
    await eachFormat(grok, { messages }, (body) => {
      const roles = (body["messages"] as { role: string }[]).map(({ role }) => role);
      expect(roles).toEqual(["user", "assistant", "tool", "tool", "user"]);
    });
  });

  it("stands behind them for Gemini", async () => {
    await eachFormat(gemini, { "chat/completions": chat, messages, responses }, (body) => {
      const parts = (body["contents"] as { parts: object[] }[])[2]?.parts ?? [];
      expect(parts.map((part) => Object.keys(part)[0])).toEqual([
        "functionResponse",
        "functionResponse",
        "text",
      ]);
    });
  });
});

describe("a conversation without a user's turn", () => {
  it("of instructions alone has the last of them as the user's", async () => {
    const system = [
      { role: "system", content: "Be brief." },
      { role: "system", content: "Say hello." },
    ];
    const formats = { "chat/completions": { messages: system }, responses: { input: system } };
    await eachFormat(claude, formats, (body) => {
      expect(body["system"]).toBe("Be brief.");
      expect(body["messages"]).toEqual([turn("user", text("Say hello."))]);
    });
    await eachFormat(gemini, formats, (body) => {
      expect(body["systemInstruction"]).toEqual({ parts: [{ text: "Be brief." }] });
      expect(body["contents"]).toEqual([{ role: "user", parts: [{ text: "Say hello." }] }]);
    });
  });

  it("that the model begins has one before it", async () => {
    const messages = [{ role: "assistant", content: "Hello!" }, user];
    const formats = { "chat/completions": { messages }, responses: { input: messages } };
    await eachFormat(claude, formats, (body) => {
      const roles = (body["messages"] as { role: string }[]).map(({ role }) => role);
      expect(roles).toEqual(["user", "assistant", "user"]);
    });
    await eachFormat(gemini, { ...formats, messages: { messages } }, (body) => {
      const roles = (body["contents"] as { role: string }[]).map(({ role }) => role);
      expect(roles).toEqual(["user", "model", "user"]);
    });
  });
});

describe("arguments of an old call that are no JSON object", () => {
  const broken = '{"city": "Be';
  const messages = [
    user,
    {
      role: "assistant",
      tool_calls: [{ id: "t", type: "function", function: { name: "f", arguments: broken } }],
    },
    { role: "tool", tool_call_id: "t", content: "bad arguments" },
  ];
  const input = [
    user,
    { type: "function_call", call_id: "t", name: "f", arguments: broken },
    { type: "function_call_output", call_id: "t", output: "bad arguments" },
  ];
  const formats = { "chat/completions": { messages }, responses: { input } };

  it("go on as a text", async () => {
    await eachFormat(claude, formats, (body) => {
      expect((body["messages"] as object[])[1]).toMatchObject({
        content: [{ type: "tool_use", input: { arguments: broken } }],
      });
    });
    await eachFormat(gemini, formats, (body) => {
      expect((body["contents"] as object[])[1]).toMatchObject({
        parts: [{ functionCall: { args: { arguments: broken } } }],
      });
    });
  });
});

describe("a system message that comes again", () => {
  const system = { role: "system", content: "Be brief." };
  const again = [system, user, system];

  it("is sent once", async () => {
    const formats: Formats = {
      "chat/completions": { messages: again },
      messages: { system: "Be brief.", messages: again },
      responses: { instructions: "Be brief.", input: again },
    };
    const { messages, ...others } = formats;
    await eachFormat(claude, others, (body) => {
      expect(body["system"]).toBe("Be brief.");
    });
    await eachFormat(gemini, formats, (body) => {
      expect(body["systemInstruction"]).toEqual({ parts: [{ text: "Be brief." }] });
    });
    await eachFormat(grok, { messages }, (body) => {
      expect(body["messages"]).toEqual([system, user]);
    });
  });
});
