import { describe, expect, it } from "vitest";
import { questionOf } from "../../../../../core/gateway/semantic-cache/question.ts";
import type { OutboundRequest } from "../../../../../core/ports.ts";
import { bytes } from "../../../../fakes/gateway-transport.ts";

const LIMITS = { maxTextLength: 100, maxMessages: 4 };
const CHAT = "https://api.example/v1/chat/completions";

function request(body: unknown, url: string = CHAT, method: string = "POST"): OutboundRequest {
  return {
    method,
    url,
    headers: [],
    body: bytes(typeof body === "string" ? body : JSON.stringify(body)),
  };
}

const text = (body: unknown, url?: string) => questionOf(request(body, url), LIMITS)?.text ?? null;
const rest = (body: unknown) =>
  new TextDecoder().decode(questionOf(request(body), LIMITS)?.rest ?? bytes("none"));
const user = (content: unknown) => ({ role: "user", content });

describe("questionOf()", () => {
  it.each([
    ["a chat", CHAT, { messages: [{ role: "system", content: "Be brief" }, user("Why?")] }],
    ["a chat with a part", CHAT, { messages: [user([{ type: "text", text: "Why?" }])] }],
    [
      "a message",
      "https://api.anthropic.com/v1/messages",
      {
        system: [{ type: "text", text: "Be brief" }],
        messages: [user([{ type: "text", text: "Why?", cache_control: { type: "ephemeral" } }])],
      },
    ],
    ["a response", "https://api.example/v1/responses", { input: "Why?" }],
    [
      "a response to a conversation",
      "https://api.example/v1/responses?x=1",
      {
        input: [
          user("a"),
          { role: "assistant", content: [{ type: "output_text", text: "b", annotations: [] }] },
          user([{ type: "input_text", text: "Why?" }]),
        ],
      },
    ],
    [
      "content to generate",
      "https://generativelanguage.googleapis.com/v1beta/models/gemini:streamGenerateContent?alt=sse",
      { contents: [{ parts: [{ text: "Why?" }] }] },
    ],
    ["a run", "https://api.example/ai/run/@cf/meta/llama", { messages: [user("Why?")] }],
    ["a chat with the demo", "echo:/chat/completions", { messages: [user("Why?")] }],
  ])("finds the last message of %s", (_, url, body) => expect(text(body, url)).toBe("Why?"));

  it.each([
    ["tools", { messages: [user("Why?")], tools: [] }],
    ["functions", { messages: [user("Why?")], functions: [] }],
    [
      "an image",
      {
        messages: [
          user([
            { type: "image_url", image_url: { url: "x" } },
            { type: "text", text: "Why?" },
          ]),
        ],
      },
    ],
    [
      "an image earlier",
      { messages: [user([{ type: "image_url", image_url: {} }]), user("Why?")] },
    ],
    ["a file within a part", { messages: [user([{ type: "text", text: "Why?", file: {} }])] }],
    [
      "a call of a tool",
      { messages: [{ role: "assistant", content: "a", tool_calls: [] }, user("Why?")] },
    ],
    ["a tool's result", { messages: [{ role: "tool", content: "a" }, user("Why?")] }],
    [
      "two texts in the last message",
      {
        messages: [
          user([
            { type: "text", text: "a" },
            { type: "text", text: "b" },
          ]),
        ],
      },
    ],
    [
      "an answer to be continued",
      { messages: [user("Why?"), { role: "assistant", content: "Because" }] },
    ],
    ["a system prompt at the end", { messages: [user("Why?"), { role: "system", content: "no" }] }],
    ["too many messages", { messages: ["a", "b", "c", "d", "Why?"].map(user) }],
    ["no message", { messages: [] }],
    ["no conversation", { prompt: "Why?" }],
    ["too long a text", { messages: [user("x".repeat(101))] }],
    ["too long a body", { messages: [user("Why?")], pad: "x".repeat(140_000) }],
    ["a stored conversation", { previous_response_id: "x", messages: [user("Why?")] }],
    ["a text that stands there twice", { user: "Why?", messages: [user("Why?")] }],
    ["a text that is a word of JSON too", { messages: [user("role")] }],
    ["broken JSON", '{"messages":['],
    ["other JSON", "[1]"],
    ["a text in other escapes", '{"messages":[{"role":"user","content":"\\u0057hy?"}]}'],
  ])("takes nothing with %s", (_, body) => expect(text(body)).toBeNull());

  it("takes nothing of other addresses, methods and bytes", () => {
    const body = { messages: [user("Why?")], input: "Why?" };
    for (const url of [
      "https://x.example/v1/embeddings",
      "https://x.example/v1/messages/count_tokens",
      // A universal step's endpoint may hold a line separator.
      `https://x.example/${"v1/chat/".repeat(200_000)}\u2028`,
    ])
      expect(text(body, url)).toBeNull();
    const long = `https://x.example${"/run/@".repeat(200_000)}\u2028`;
    expect(text({ messages: [user("Why?")] }, long)).toBe("Why?");
    expect(questionOf(request(body, CHAT, "PUT"), LIMITS)).toBeNull();
    expect(questionOf({ ...request(body), body: null }, LIMITS)).toBeNull();
    const invalid = new Uint8Array([
      ...bytes('{"messages":[{"role":"user","content":"a'),
      0xff,
      ...bytes('"}]}'),
    ]);
    expect(questionOf({ ...request(body), body: invalid }, LIMITS)).toBeNull();
  });

  it("leaves all bytes but the text where they are", () => {
    expect(rest('{"temperature":1.0, "messages":[{"role":"user","content":"Why?"}]}')).toBe(
      '{"temperature":1.0, "messages":[{"role":"user","content":\u0000}]}',
    );
    const python = '{"messages":[{"role":"user","content":"Gr\\u00fc\\u00dfe \\ud83c\\udf0d"}]}';
    expect(text(python)).toBe("Grüße 🌍");
    expect(rest(python)).toBe('{"messages":[{"role":"user","content":\u0000}]}');
  });

  it("is not deceived by doubled keys: the others stay in what must be the same", () => {
    const doubled = (first: string) =>
      `{"messages":[{"role":"user","content":"${first}"}],"messages":[{"role":"user","content":"Why?"}]}`;
    expect(text(doubled("a"))).toBe("Why?");
    expect(rest(doubled("a"))).not.toBe(rest(doubled("b")));
  });
});
