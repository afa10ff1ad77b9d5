import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";
import { ask } from "../../../fakes/gateway-native-answers.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());

const asked = (format: string, model: string, more: object = {}): Promise<Response> =>
  gate.send(`open/compat/${format}`, jsonInit({ ...ask, input: "Hi", model, ...more }));
const data = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;

type Told = { error: { type: string; code?: string; message: string } };

/** The error in each format that is translated for this model: type of a message, code of OpenAI's formats. */
async function kinds(model: string, error: object, status: number): Promise<string[]> {
  const found: string[] = [];
  for (const format of ["messages", "chat/completions", "responses"]) {
    if (format === "chat/completions" && !/^(?:anthropic|google)/.test(model)) continue;
    if (format === "messages" && model.startsWith("anthropic")) continue;
    gate.transport.behave = () => jsonReply(error, status);
    const response = await asked(format, model);
    const { error: told } = (await response.json()) as Told;
    found.push(`${response.status} ${told.code ?? told.type}`);
  }
  return found;
}

const anthropic = (type: string, message = "m"): object => ({
  type: "error",
  error: { type, message },
});
const google = (status: string, message = "m"): object => ({ error: { status, message } });
const openai = (code: string | null, message = "m"): object => ({
  error: { type: "invalid_request_error", code, message },
});

describe("the kind of a provider's error", () => {
  const claude = "anthropic/claude-x";
  const gemini = "google-ai-studio/gemini-x";
  const mistral = "mistral/m";
  const long = "prompt is too long: 200001 tokens > 200000 maximum";
  const count = "The input token count (1196265) exceeds the maximum number of tokens allowed";
  const window = "This model's maximum context length is 8192 tokens";
  it.each([
    [claude, anthropic("overloaded_error"), 529, ["529 server_is_overloaded"]],
    [claude, anthropic("rate_limit_error"), 429, ["429 rate_limit_exceeded"]],
    [claude, anthropic("invalid_request_error", long), 400, ["400 context_length_exceeded"]],
    [claude, anthropic("billing_error"), 402, ["402 insufficient_quota"]],
    [claude, anthropic("authentication_error"), 401, ["401 invalid_api_key"]],
    [gemini, google("UNAVAILABLE"), 503, ["503 overloaded_error", "503 server_is_overloaded"]],
    [gemini, google("INVALID_ARGUMENT", count), 400, ["400 context_length_exceeded"]],
    [mistral, openai("context_length_exceeded"), 400, ["400 context_length_exceeded"]],
    [mistral, openai(null, window), 400, ["400 context_length_exceeded"]],
    [mistral, openai("content_filter"), 400, ["400 content_filter"]],
    [mistral, openai("model_not_found"), 404, ["404 not_found_error", "404 model_not_found"]],
    [mistral, openai("rate_limit_exceeded", `${window}?`), 429, ["429 rate_limit_error"]],
    [mistral, { error: { code: 429, message: "m" } }, 200, ["429 rate_limit_error"]],
    [mistral, { error: { code: "constructor", message: "m" } }, 400, ["400 invalid_request_error"]],
  ])("of %s is kept: %j %i", async (model, error, status, expected) => {
    expect(await kinds(model, error, status)).toEqual(expect.arrayContaining(expected));
  });

  it("says that a conversation is too long in the words by which clients shorten it", async () => {
    gate.transport.behave = () => jsonReply(openai("context_length_exceeded", "Too much"), 400);
    const message = (await (await asked("messages", mistral)).json()) as Told;
    expect(message.error.message).toBe("prompt is too long: Too much");
    gate.transport.behave = () => jsonReply(anthropic("invalid_request_error", long), 400);
    const chat = (await (await asked("chat/completions", claude)).json()) as Told;
    expect(chat.error.message).toBe(`This model's maximum context length is exceeded: ${long}`);
    gate.transport.behave = () => jsonReply(openai(null, window), 400);
    const same = (await (await asked("responses", mistral)).json()) as Told;
    expect(same.error.message).toBe(window);
  });

  it("comes with the time to wait, from the header or Google's body", async () => {
    const details = [{ "@type": "RetryInfo", retryDelay: "33.2s" }];
    const limited = { error: { status: "RESOURCE_EXHAUSTED", message: "m", details } };
    gate.transport.behave = () => jsonReply(limited, 429);
    expect((await asked("messages", gemini)).headers.get("retry-after")).toBe("34");
    gate.transport.behave = () => jsonReply(limited, 429, [["retry-after", "5"]]);
    expect((await asked("messages", gemini)).headers.get("retry-after")).toBe("5");
    const odd = { error: { ...limited.error, details: [{ retryDelay: "soon\r\n" }] } };
    gate.transport.behave = () => jsonReply(odd, 429);
    expect((await asked("messages", gemini)).headers.get("retry-after")).toBeNull();
  });
});

/** Everything that a stream says before it breaks. */
async function textUntilBreak(response: Response): Promise<string> {
  const reader = response.body!.getReader();
  let text = "";
  for (;;) {
    const next = await reader.read().catch(() => null);
    if (next === null) return text;
    expect(next.done).toBe(false);
    text += new TextDecoder().decode(next.value);
  }
}

describe("an error in mid-stream", () => {
  const begun = { choices: [{ index: 0, delta: { content: "Hel" } }] };
  const start = { type: "message_start", message: { id: "m", usage: {} } };
  it.each([
    [
      "messages",
      "mistral/m",
      [begun, { error: { code: 503, message: "m", type: "overloaded" } }],
      '"type":"overloaded_error"',
    ],
    [
      "messages",
      "mistral/m",
      [begun, { error: { code: 429, message: "m" } }],
      '"type":"rate_limit_error"',
    ],
    ["messages", "mistral/m", [begun, { error: "odd" }], '"type":"api_error","message":"odd"'],
    [
      "chat/completions",
      "anthropic/c",
      [start, anthropic("overloaded_error")],
      '"code":"server_is_overloaded"',
    ],
    [
      "responses",
      "anthropic/c",
      [start, anthropic("overloaded_error")],
      '"error":{"code":"server_is_overloaded","message":"m"}',
    ],
    [
      "responses",
      "anthropic/c",
      [start, anthropic("rate_limit_error")],
      '"type":"error","sequence_number":2,"code":"rate_limit_exceeded"',
    ],
    ["responses", "google-ai-studio/g", [google("UNAVAILABLE")], '"code":"server_is_overloaded"'],
    [
      "messages",
      "google-ai-studio/g",
      [
        {
          candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed: f(" }],
        },
      ],
      '"type":"api_error","message":"Malformed: f("',
    ],
    [
      "messages",
      "mistral/m",
      [
        {
          choices: [
            {
              index: 0,
              delta: { tool_calls: [{ index: 0, id: "a", function: { arguments: "{" } }] },
            },
          ],
        },
        { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
      ],
      '"message":"The provider sent a tool call without a name"',
    ],
  ])("keeps its kind, in %s of %s: %j", async (format, model, events, expected) => {
    gate.transport.behave = () => streamReply(events.map(data));
    const text = await textUntilBreak(await asked(format, model, { stream: true }));
    expect(text).toContain(expected);
    expect(text).not.toContain("[DONE]");
    expect(text).not.toContain("message_stop");
    expect(text).not.toContain("response.completed");
  });
});

describe("a call that Gemini did not write as one", () => {
  it("is an error, which clients try again, and not an empty answer", async () => {
    const candidates = [{ finishReason: "MALFORMED_FUNCTION_CALL" }];
    gate.transport.behave = () => jsonReply({ candidates });
    const response = await asked("chat/completions", "google-ai-studio/gemini-x");
    expect([response.status, await response.json()]).toMatchObject([
      502,
      { error: { type: "server_error", message: "The model made a malformed tool call" } },
    ]);
  });
});
