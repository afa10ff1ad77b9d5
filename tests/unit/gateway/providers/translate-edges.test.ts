import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { sseEvents } from "../../../../core/http/sse.ts";
import { messagesFront } from "../../../../core/gateway/chat/formats/messages-reply.ts";
import { inLongBodyLane } from "../../../../core/http/json/long-body-lane.ts";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { bytes, jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest({
    providers: { "workers-ai": { baseUrl: "https://workers.test/ai", apiKey: "k" } },
  });
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.bodies.length = 0;
});

type Member = Readonly<Record<string, unknown>>;
const messages = [{ role: "user", content: "Hi" }];
/** A question in each format. */
const asking: Readonly<Record<string, object>> = {
  "chat/completions": { messages },
  messages: { messages, max_tokens: 64 },
  responses: { input: "Hi" },
};
const formats = Object.keys(asking);
const send = (format: string, more: object): Promise<Response> =>
  gate.send(`open/compat/${format}`, jsonInit({ ...asking[format], ...more }));
const sentBody = () => JSON.parse(gate.transport.bodies.at(-1) ?? "null") as unknown;
const lines = (events: readonly object[]) =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
const streaming = (events: readonly object[], last = "") => {
  gate.transport.behave = () => streamReply([...lines(events), last]);
};

async function eventsOf(response: Response): Promise<Member[]> {
  const events: Member[] = [];
  for await (const { data } of sseEvents(response.body!)) {
    if (data !== "[DONE]") events.push(JSON.parse(data) as Member);
  }
  return events;
}

/** What a stream says, whatever its format. */
async function said(response: Response): Promise<string> {
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const events = (await eventsOf(response)) as unknown as {
    type?: string;
    delta?: string | { text?: string };
    choices?: { delta: { content?: string } }[];
  }[];
  return events
    .map(({ type, delta, choices }) => {
      if (type === "response.output_text.delta") return delta as string;
      if (type !== undefined) return typeof delta === "object" ? (delta.text ?? "") : "";
      return choices?.[0]?.delta.content ?? "";
    })
    .join("");
}

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "c1",
  choices: [{ index: 0, delta, finish_reason }],
});

it("a long chat is translated word for word, and others go on in between", async () => {
  const sleep = vi.spyOn(gate.platform.system, "sleep");
  const turns = (): number => sleep.mock.calls.filter(([ms]) => ms === 0).length;
  gate.transport.behave = () => jsonReply({ choices: [] });
  const ask = async (content: string): Promise<number> => {
    const before = turns();
    const asked = { model: "perplexity-ai/sonar", messages: [{ role: "user", content }] };
    await (await send("messages", asked)).text();
    expect(JSON.stringify(sentBody()).includes(JSON.stringify(content))).toBe(true);
    return turns() - before;
  };
  const short = await ask("Hi");
  // A pair of surrogates is at each place at which the text may be cut.
  expect(await ask(`"\\${"😀".repeat(700_000)}`)).toBeGreaterThan(short + 8);
  sleep.mockRestore();
});

it("a long chat is read while no other long body is, and a short one at once", async () => {
  gate.transport.behave = () => jsonReply({ choices: [] });
  const ask = (content: string): Promise<Response> =>
    send("chat/completions", {
      model: "perplexity-ai/sonar",
      messages: [{ role: "user", content }],
    });
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const { signal } = new AbortController();
  const place = { system: gate.platform.system, owner: "", signal };
  const other = inLongBodyLane(place, () => promise);
  const asked = gate.transport.requests.length;
  const long = ask("x".repeat(2 * 1024 * 1024));
  await (await ask("Hi")).text();
  expect(gate.transport.requests.length - asked).toBe(1);
  resolve(undefined);
  await other;
  await (await long).text();
  expect(gate.transport.requests.length - asked).toBe(2);
});

describe("a stream of OpenAI's format", () => {
  const model = "perplexity-ai/sonar";

  it.each(["messages", "responses"])(
    "that ends after its reason without [DONE] is whole, as %s",
    async (format) => {
      streaming([chunk({ content: "Hel" }), chunk({ content: "lo" }, "stop")]);
      expect(await said(await send(format, { model, stream: true }))).toBe("Hello");
      streaming([chunk({ content: "Hel" }), chunk({ content: "lo" })]);
      await expect((await send(format, { model, stream: true })).text()).rejects.toThrow();
    },
  );

  it("gives a call's arguments as text, also where the provider gives an object", async () => {
    const call = { id: "t1", function: { name: "f", arguments: { city: "Bern" } } };
    gate.transport.behave = () => jsonReply({ choices: [{ message: { tool_calls: [call] } }] });
    const { output } = (await (await send("responses", { model })).json()) as { output: object[] };
    expect(output).toMatchObject([{ name: "f", arguments: '{"city":"Bern"}' }]);
  });
});

describe("usage in an answer of OpenAI's format", () => {
  it.each([
    // xAI: thoughts are beside the output, as the total tells.
    [
      {
        prompt_tokens: 32,
        completion_tokens: 9,
        total_tokens: 135,
        completion_tokens_details: { reasoning_tokens: 94 },
      },
      103,
    ],
    // OpenAI: within.
    [
      {
        prompt_tokens: 32,
        completion_tokens: 103,
        total_tokens: 135,
        completion_tokens_details: { reasoning_tokens: 94 },
      },
      103,
    ],
    // Perplexity's deep research: in no sum at all.
    [
      {
        prompt_tokens: 32,
        completion_tokens: 9,
        total_tokens: 41,
        citation_tokens: 7,
        reasoning_tokens: 94,
      },
      103,
    ],
  ])("has all output tokens, thoughts included: %j", async (usage, output) => {
    gate.transport.behave = () => jsonReply({ choices: [{ message: { content: "Hi" } }], usage });
    const answer = await send("messages", { model: "grok/grok-4" });
    expect(await answer.json()).toMatchObject({
      usage: {
        input_tokens: 32,
        output_tokens: output,
        output_tokens_details: { thinking_tokens: 94 },
      },
    });
  });
});

describe("an answer that is none", () => {
  it.each(formats)("is not made up of an error page, in %s", async (format) => {
    for (const body of ["<html>Busy</html>", '{"candidates": [', "7", "[]"]) {
      gate.transport.behave = () => ({
        status: 200,
        headers: [["content-type", "text/html"]],
        body: bytes(body),
      });
      const response = await send(format, { model: "google-ai-studio/gemini-x" });
      expect([response.status, await response.json()]).toMatchObject([502, { internalCode: 2005 }]);
    }
  });

  it.each([
    ["google-ai-studio/g", { error: { message: "Busy" } }, "Busy"],
    ["workers-ai/@cf/m", { success: false, errors: [{ code: 1, message: "Busy" }] }, "Busy"],
    ["workers-ai/@cf/m", { success: false, errors: [] }, "The provider answered 200"],
  ])("is an error, whatever its status: %s %j", async (model, body, message) => {
    gate.transport.behave = () => jsonReply(body);
    // A chat for Workers AI is answered as it is.
    for (const format of model.startsWith("workers-ai") ? formats.slice(1) : formats) {
      const response = await send(format, { model });
      expect([response.status, await response.json()]).toMatchObject([502, { error: { message } }]);
    }
  });

  it("keeps the provider's words where these are no JSON", async () => {
    gate.transport.behave = () => ({ status: 503, headers: [], body: bytes("Come back later") });
    const response = await send("messages", { model: "openai/gpt-x" });
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { error: { type: "api_error", message: "Come back later" } },
    ]);
  });
});

describe("a stream that was asked for", () => {
  it.each(formats)("comes from a model that answers at once, as %s", async (format) => {
    gate.transport.behave = () =>
      jsonReply({
        candidates: [
          {
            content: { parts: [{ text: "Hello" }, { functionCall: { name: "clock", args: {} } }] },
            finishReason: "STOP",
          },
        ],
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2 },
      });
    const asked = { model: "google-ai-studio/gemini-x", stream: true };
    expect(await said(await send(format, asked))).toBe("Hello");
    const text = await (await send(format, asked)).text();
    expect(text).toContain('"name":"clock"');
    expect(text.trimEnd()).toMatch(/(?:\[DONE\]|"message_stop"\}|"type":"response.completed".*)$/);
  });

  it.each([0, 1])("ends at its provider when it is cancelled after %i reads", async (reads) => {
    const silent = Promise.withResolvers<void>();
    let pulls = 0;
    let cancelled = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (pulls++ === 0)
            return controller.enqueue(
              bytes(`data: ${JSON.stringify(chunk({ content: "Hel" }))}\n\n`),
            );
          silent.resolve();
          return new Promise<void>(() => undefined);
        },
        cancel: () => void cancelled++,
      },
      { highWaterMark: 0 },
    );
    gate.transport.behave = () => ({ ...streamReply([]), body });
    const answer = await send("messages", { model: "openai/gpt-x", stream: true });
    const reader = answer.body!.getReader();
    for (let i = 0; i < reads; i++) await reader.read();
    if (reads > 0) {
      void reader.read();
      await silent.promise;
    }
    await reader.cancel();
    expect(cancelled).toBe(1);
  });
});

describe("a hidden thought", () => {
  it("is a block of its own in a stream of messages", () => {
    const chat = { model: "m", messages: [] };
    const writer = messagesFront.stream({ chat, given: {}, id: "1", created: 0 });
    const told = [
      writer.add({ delta: { thought: "Hm" } }),
      writer.add({ delta: { reasoning: { text: "", hidden: "DATA" } } }),
    ].join("");
    expect(told).toContain('"index":1,"content_block":{"type":"redacted_thinking","data":"DATA"}');
    expect(told.match(/content_block_stop/g)).toHaveLength(4);
  });
});

describe("Gemini", () => {
  const model = "google-ai-studio/gemini-3-pro";
  const call = (id: string | undefined, city: string) => ({
    functionCall: { ...(id === undefined ? {} : { id }), name: "weather", args: { city } },
  });
  const candidate = (parts: object[], more: object = {}) => ({
    responseId: "g1",
    candidates: [{ content: { parts }, ...more }],
  });

  it("tells its usage in any event of a stream", async () => {
    const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 4 };
    streaming([
      { ...candidate([{ text: "Hello" }]), usageMetadata },
      candidate([], { finishReason: "STOP" }),
    ]);
    const events = await eventsOf(await send("messages", { model, stream: true }));
    expect(events.at(-2)).toMatchObject({ usage: { input_tokens: 10, output_tokens: 4 } });
  });

  it("keeps the ids of its calls, and gives others to those without, streamed or not", async () => {
    const parts = [call("own", "Bern"), call(undefined, "Basel")];
    const ids = ["own", "call_g1_1"];
    gate.transport.behave = () => jsonReply(candidate(parts, { finishReason: "STOP" }));
    const { content } = (await (await send("messages", { model })).json()) as {
      content: { id: string }[];
    };
    expect(content.map(({ id }) => id)).toEqual(ids);
    streaming([candidate(parts.slice(0, 1)), candidate(parts.slice(1), { finishReason: "STOP" })]);
    const events = await eventsOf(await send("messages", { model, stream: true }));
    const begun = events.filter((event) => event["type"] === "content_block_start");
    expect(begun.map((event) => (event["content_block"] as { id: string }).id)).toEqual(ids);
  });

  it("shows no thoughts to who wants none, and knows a name that no URL can hold", async () => {
    gate.transport.behave = () => jsonReply(candidate([{ text: "Hello" }]));
    const thinking = { type: "adaptive", display: "omitted" };
    await send("messages", { model: `${model}\ud800`, thinking });
    expect(sentBody()).toMatchObject({ generationConfig: { maxOutputTokens: 64 } });
    expect(gate.transport.bodies.at(-1)).not.toContain("includeThoughts");
    expect(gate.transport.requests[0]?.url).toContain("/models/gemini-3-pro%EF%BF%BD:generate");
  });

  it("learns which of two calls of a function a result is for", async () => {
    gate.transport.behave = () => jsonReply(candidate([{ text: "Hello" }]));
    const use = (id: string, city: string) => ({
      type: "tool_use",
      id,
      name: "weather",
      input: { city },
    });
    const result = (id: string, text: string) => ({
      type: "tool_result",
      tool_use_id: id,
      content: text,
    });
    await send("messages", {
      model,
      messages: [
        ...messages,
        { role: "assistant", content: [use("a", "Bern"), use("b", "Basel")] },
        { role: "user", content: [result("b", "rain"), result("a", "sun")] },
      ],
    });
    expect(sentBody()).toMatchObject({
      contents: [
        {},
        { parts: [{ functionCall: { id: "a" } }, { functionCall: { id: "b" } }] },
        {
          parts: [
            { functionResponse: { id: "b", name: "weather", response: { result: "rain" } } },
            { functionResponse: { id: "a", name: "weather", response: { result: "sun" } } },
          ],
        },
      ],
    });
  });
});

describe("Anthropic", () => {
  const model = "anthropic/claude-x";

  it("gets the calls of another provider by ids that it takes", async () => {
    gate.transport.behave = () => jsonReply({ content: [] });
    const id = "functions.weather:0";
    const made = { id, type: "function", function: { name: "weather", arguments: "{}" } };
    await send("chat/completions", {
      model,
      messages: [
        ...messages,
        { role: "assistant", content: null, tool_calls: [made] },
        { role: "tool", tool_call_id: id, content: "sun" },
      ],
    });
    expect(sentBody()).toMatchObject({
      messages: [
        {},
        { content: [{ type: "tool_use", id: "functions_weather_0" }] },
        { content: [{ type: "tool_result", tool_use_id: "functions_weather_0" }] },
      ],
    });
  });

  it("gets no file that is neither an address nor a data: URL", async () => {
    const file = { type: "file", file: { file_data: "JVBERi0xLjQ=" } };
    const content = [{ role: "user", content: [file] }];
    const response = await send("chat/completions", { model, messages: content });
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining("neither a data: nor an http(s) URL"),
    ]);
  });
});

describe("a response that was cut", () => {
  it("has one unfinished item, the last one; its texts have the members that clients expect", async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1 };
    const call = { index: 0, id: "t1", function: { name: "f", arguments: '{"a' } };
    streaming(
      [
        chunk({ content: "Hel" }),
        chunk({ tool_calls: [call] }),
        chunk({}, "length"),
        { choices: [], usage },
      ],
      "data: [DONE]\n\n",
    );
    const events = await eventsOf(await send("responses", { model: "mistral/m", stream: true }));
    expect(events.at(-1)).toMatchObject({
      type: "response.incomplete",
      response: { output: [{ status: "completed" }, { status: "incomplete" }] },
    });
    const text = events.find(({ type }) => type === "response.output_text.delta");
    expect(text).toMatchObject({ delta: "Hel", content_index: 0, output_index: 0, logprobs: [] });
  });
});

describe("a translated stream", () => {
  it("breaks beyond 32 MiB, as what it has told is kept for its end", async () => {
    const content = "x".repeat(7 * 1024 * 1024);
    const event = `data: ${JSON.stringify(chunk({ content }))}\n\n`;
    const tell = async (count: number) => {
      gate.transport.behave = () =>
        streamReply([...Array.from({ length: count }, () => event), "data: [DONE]\n\n"]);
      const { body } = await send("messages", { model: "openai/gpt-x", stream: true });
      let size = 0;
      for (const reader = body!.getReader(); ;) {
        const { done, value } = await reader.read();
        if (done) return size;
        size += value.length;
      }
    };
    expect(await tell(4)).toBeGreaterThan(28 * 1024 * 1024);
    await expect(tell(5)).rejects.toThrow();
  });
});
