import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { sseEvents } from "../../../../core/http/sse.ts";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { bytes, jsonReply, sentHeaders, streamReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest({ providers: { "google-ai-studio": { apiKey: "stored-google" } } });
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.bodies.length = 0;
});

const tools = [
  {
    type: "function",
    function: {
      name: "weather",
      description: "d",
      parameters: { type: "object", properties: { city: { type: "string" } } },
    },
  },
];
const conversation = [
  { role: "system", content: "Be brief." },
  {
    role: "user",
    content: [
      { type: "text", text: "Look" },
      { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } },
    ],
  },
  {
    role: "assistant",
    content: null,
    tool_calls: [
      { id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Bern"}' } },
    ],
  },
  { role: "tool", tool_call_id: "c1", content: "sunny" },
  { role: "user", content: "And now?" },
];
const request = {
  model: "m-1",
  messages: conversation,
  tools,
  tool_choice: "required",
  temperature: 1.5,
  max_completion_tokens: 50,
  stop: "END",
};
const send = (provider: string, body: unknown, headers: Record<string, string> = {}) =>
  gate.send(`open/${provider}/chat/completions`, jsonInit(body, headers));
const sentBody = () => JSON.parse(gate.transport.bodies.at(-1) ?? "null") as unknown;

/** The chunks of an OpenAI stream, and whether it ended properly. */
async function chunksOf(response: Response) {
  const chunks: Record<string, never>[] = [];
  let done = false;
  for await (const { data } of sseEvents(response.body!)) {
    if (data === "[DONE]") done = true;
    else chunks.push(JSON.parse(data) as Record<string, never>);
  }
  const choices = chunks.flatMap(
    (chunk) => (chunk["choices"] ?? []) as { delta: Delta; finish_reason: string | null }[],
  );
  return {
    done,
    chunks,
    text: choices.map(({ delta }) => delta.content ?? "").join(""),
    calls: choices.flatMap(({ delta }) => delta.tool_calls ?? []),
    finish: choices.findLast(({ finish_reason }) => finish_reason !== null)?.finish_reason,
  };
}
interface Delta {
  content?: string;
  tool_calls?: { index: number; id?: string; function: { name?: string; arguments: string } }[];
}

describe("anthropic/chat/completions", () => {
  it("becomes a Messages request", async () => {
    gate.transport.behave = () => jsonReply({});
    await send("anthropic", request, { authorization: "Bearer sk-ant" });
    expect(gate.transport.requests[0]?.url).toBe("https://api.anthropic.com/v1/messages");
    const headers = sentHeaders(gate.transport.requests[0]);
    expect(headers).toMatchObject({ "x-api-key": "sk-ant", "anthropic-version": "2023-06-01" });
    expect(headers["authorization"]).toBeUndefined();
    expect(sentBody()).toEqual({
      model: "m-1",
      max_tokens: 50,
      system: "Be brief.",
      temperature: 1,
      stop_sequences: ["END"],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Look" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "QUJD" } },
          ],
        },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "c1", name: "weather", input: { city: "Bern" } }],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c1", content: "sunny" },
            { type: "text", text: "And now?" },
          ],
        },
      ],
      tools: [{ name: "weather", description: "d", input_schema: tools[0]?.function.parameters }],
      tool_choice: { type: "any" },
    });
  });

  it("answers as a chat completion", async () => {
    gate.transport.behave = () =>
      jsonReply(
        {
          id: "msg_1",
          model: "claude-x",
          content: [
            { type: "text", text: "Hi" },
            { type: "tool_use", id: "t1", name: "weather", input: { city: "Bern" } },
          ],
          stop_reason: "tool_use",
          usage: {
            input_tokens: 10,
            cache_read_input_tokens: 4,
            cache_creation_input_tokens: 1,
            output_tokens: 6,
          },
        },
        200,
        [
          ["request-id", "r1"],
          ["content-length", "1"],
        ],
      );
    const response = await send("anthropic", request);
    expect(response.headers.get("request-id")).toBe("r1");
    expect(await response.json()).toMatchObject({
      id: "msg_1",
      object: "chat.completion",
      model: "claude-x",
      choices: [
        {
          message: {
            role: "assistant",
            content: "Hi",
            tool_calls: [
              {
                id: "t1",
                type: "function",
                function: { name: "weather", arguments: '{"city":"Bern"}' },
              },
            ],
          },
          finish_reason: "tool_calls",
        },
      ],
      usage: {
        prompt_tokens: 15,
        completion_tokens: 6,
        total_tokens: 21,
        prompt_tokens_details: { cached_tokens: 4 },
      },
    });
  });

  const event = (data: { type: string }) =>
    `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  const native = [
    {
      type: "message_start",
      message: { id: "msg_2", model: "claude-x", usage: { input_tokens: 7, output_tokens: 1 } },
    },
    { type: "ping" },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Grüße " } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "🌍" } },
    {
      type: "content_block_start",
      index: 1,
      content_block: { type: "tool_use", id: "t1", name: "weather", input: {} },
    },
    {
      type: "content_block_delta",
      index: 1,
      delta: { type: "input_json_delta", partial_json: '{"ci' },
    },
    {
      type: "content_block_delta",
      index: 1,
      delta: { type: "input_json_delta", partial_json: 'ty":"Bern"}' },
    },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 20 } },
    { type: "message_stop" },
  ];

  it("streams as chat completion chunks, whatever the chunk boundaries", async () => {
    const whole = bytes(native.map(event).join(""));
    gate.transport.behave = () => streamReply([...whole].map((byte) => Uint8Array.of(byte)));
    const body = { ...request, stream: true, stream_options: { include_usage: true } };
    const { done, chunks, text, calls, finish } = await chunksOf(
      await send("anthropic", body, { "cf-aig-event-id": "anthropic-stream" }),
    );
    expect([done, text, finish]).toEqual([true, "Grüße 🌍", "tool_calls"]);
    expect(calls[0]).toMatchObject({ index: 0, id: "t1", function: { name: "weather" } });
    expect(calls.map((call) => call.function.arguments).join("")).toBe('{"city":"Bern"}');
    expect(chunks.at(-1)).toMatchObject({
      id: "msg_2",
      choices: [],
      usage: { prompt_tokens: 7, completion_tokens: 20 },
    });
    const rows = await gate.rowsOf("open", "anthropic-stream", 1);
    expect(rows).toMatchObject([{ success: true, tokens_in: 7, tokens_out: 20 }]);
  });

  it("breaks when the provider stops before message_stop or reports an error", async () => {
    gate.transport.behave = () => streamReply(native.slice(0, 6).map(event));
    await expect((await send("anthropic", { ...request, stream: true })).text()).rejects.toThrow();
    gate.transport.behave = () =>
      streamReply([event({ type: "error", error: { message: "Overloaded" } } as never)]);
    await expect((await send("anthropic", { ...request, stream: true })).text()).rejects.toThrow();
  });

  it("gives a provider's error in OpenAI's shape, with its status", async () => {
    gate.transport.behave = () =>
      jsonReply({ type: "error", error: { type: "x", message: "bad key" } }, 401);
    const response = await send("anthropic", request);
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { error: { message: "bad key" } },
    ]);
  });

  it.each([
    [{ n: 2 }, /n above 1/],
    [{ logprobs: true }, /logprobs/],
    [{ messages: [] }, /messages/],
    [{ top_logprobs: 2 }, /top_logprobs/],
    [
      { messages: [{ role: "user", content: [{ type: "input_audio" }] }] },
      /content\.0\.input_audio/,
    ],
    [{ messages: [{ role: "user", content: [{ type: "video" }] }] }, /content\.0\.type/],
    [
      { messages: [{ role: "user", content: [{ type: "file", file: { file_id: "f" } }] }] },
      /file without file_data/,
    ],
  ])("refuses what cannot be translated: %j", async (more, message) => {
    const response = await send("anthropic", { ...request, ...more });
    const body = (await response.json()) as { error: [{ code: number; message: string }] };
    expect([response.status, body.error[0].code]).toEqual([400, 2019]);
    expect(body.error[0].message).toMatch(message);
    expect(gate.transport.requests).toEqual([]);
  });
});

describe("google-ai-studio/chat/completions", () => {
  it("becomes a generateContent request", async () => {
    gate.transport.behave = () => jsonReply({});
    await send("google-ai-studio", { ...request, response_format: { type: "json_object" } });
    expect(gate.transport.requests[0]?.url).toBe(
      "https://generativelanguage.googleapis.com/v1beta/models/m-1:generateContent",
    );
    expect(sentHeaders(gate.transport.requests[0])["x-goog-api-key"]).toBe("stored-google");
    expect(sentBody()).toEqual({
      systemInstruction: { parts: [{ text: "Be brief." }] },
      contents: [
        {
          role: "user",
          parts: [{ text: "Look" }, { inlineData: { mimeType: "image/png", data: "QUJD" } }],
        },
        {
          role: "model",
          parts: [{ functionCall: { id: "c1", name: "weather", args: { city: "Bern" } } }],
        },
        {
          role: "user",
          parts: [
            { functionResponse: { id: "c1", name: "weather", response: { result: "sunny" } } },
            { text: "And now?" },
          ],
        },
      ],
      generationConfig: {
        temperature: 1.5,
        maxOutputTokens: 50,
        stopSequences: ["END"],
        responseMimeType: "application/json",
      },
      tools: [
        {
          functionDeclarations: [
            {
              name: "weather",
              description: "d",
              parametersJsonSchema: tools[0]?.function.parameters,
            },
          ],
        },
      ],
      toolConfig: { functionCallingConfig: { mode: "ANY" } },
    });
  });

  const part = (parts: unknown[], more = {}) => ({
    responseId: "g1",
    modelVersion: "gemini-x",
    candidates: [{ content: { role: "model", parts }, ...more }],
    usageMetadata: {
      promptTokenCount: 5,
      candidatesTokenCount: 3,
      thoughtsTokenCount: 2,
      cachedContentTokenCount: 1,
    },
  });

  it("answers as a chat completion, thoughts left out of the text and counted as output", async () => {
    const parts = [{ text: "hm", thought: true }, { text: "Hello" }];
    gate.transport.behave = () => jsonReply(part(parts, { finishReason: "MAX_TOKENS" }));
    expect(await (await send("google-ai-studio", request)).json()).toMatchObject({
      id: "g1",
      model: "gemini-x",
      choices: [{ message: { content: "Hello" }, finish_reason: "length" }],
      usage: {
        prompt_tokens: 5,
        completion_tokens: 5,
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    });
  });

  it("hands tool calls over with their signatures, which come back", async () => {
    const call = {
      functionCall: { name: "weather", args: { city: "Bern" } },
      thoughtSignature: "SIG",
    };
    gate.transport.behave = () => jsonReply(part([call], { finishReason: "STOP" }));
    const answer = (await (await send("google-ai-studio", request)).json()) as {
      choices: [{ message: { content: null }; finish_reason: string }];
    };
    expect(answer.choices[0].finish_reason).toBe("tool_calls");
    await send("google-ai-studio", {
      ...request,
      messages: [{ role: "user", content: "x" }, answer.choices[0].message],
    });
    expect(sentBody()).toMatchObject({ contents: [{}, { role: "model", parts: [call] }] });
  });

  it("streams as chat completion chunks", async () => {
    const events = [
      part([{ text: "Hel" }]),
      part([{ text: "lo" }]),
      part([], { finishReason: "STOP" }),
    ];
    gate.transport.behave = () =>
      streamReply(events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`));
    const { done, text, finish } = await chunksOf(
      await send("google-ai-studio", { ...request, stream: true }),
    );
    expect([done, text, finish]).toEqual([true, "Hello", "stop"]);
    expect(gate.transport.requests[0]?.url).toContain(":streamGenerateContent?alt=sse");
    gate.transport.behave = () =>
      streamReply(events.slice(0, 2).map((event) => `data: ${JSON.stringify(event)}\n\n`));
    await expect(
      (await send("google-ai-studio", { ...request, stream: true })).text(),
    ).rejects.toThrow();
  });

  it("says when a prompt was blocked", async () => {
    gate.transport.behave = () => jsonReply({ promptFeedback: { blockReason: "SAFETY" } });
    expect(await (await send("google-ai-studio", request)).json()).toMatchObject({
      choices: [{ message: { content: "" }, finish_reason: "content_filter" }],
    });
  });
});
