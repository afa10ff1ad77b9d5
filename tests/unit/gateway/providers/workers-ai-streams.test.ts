import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { stopText } from "../../../../core/gateway/chat/stop.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
let serial = 0;
beforeAll(async () => {
  gate = await gatewayUnderTest({
    providers: { "workers-ai": { baseUrl: "https://workers.test/ai", apiKey: "k" } },
  });
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.bodies.length = 0;
  serial++;
});

const model = "@cf/meta/llama-test";
const messages = [{ role: "user", content: "hi" }];
const send = (body: object, path = "workers-ai/chat/completions"): Promise<Response> =>
  gate.send(
    `open/${path}`,
    jsonInit({ model, messages, ...body }, { "cf-aig-event-id": `event-${serial}` }),
  );
const rows = () => gate.rowsOf("open", `event-${serial}`, 1);
const sentBody = () => JSON.parse(gate.transport.bodies.at(-1) ?? "null") as unknown;

/** The chunks of an OpenAI stream without what all of them have, and whether it ended properly. */
async function streamed(events: readonly unknown[], body: object = {}) {
  const lines = events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
  gate.transport.behave = () => streamReply([...lines, "data: [DONE]\n\n"]);
  const text = await (await send({ stream: true, ...body })).text();
  const data = text.split("\n\n").flatMap((event) => (event === "" ? [] : [event.slice(6)]));
  expect(data.at(-1)).toBe("[DONE]");
  return data.slice(0, -1).map((one) => {
    const { choices, usage } = JSON.parse(one) as { choices: object[]; usage?: object };
    return usage === undefined ? choices[0] : { usage };
  });
}

describe("a stream of Workers AI", () => {
  it("becomes OpenAI's, with the usage when it is asked for", async () => {
    const events = [
      { response: "Hel", p: "ab" },
      { response: "lo" },
      { response: "", usage: { prompt_tokens: 5, completion_tokens: 2 } },
    ];
    const chunks = await streamed(events, { stream_options: { include_usage: true } });
    expect(sentBody()).toEqual({ messages, stream: true });
    expect(chunks).toMatchObject([
      { delta: { role: "assistant", content: "Hel" }, finish_reason: null },
      { delta: { content: "lo" } },
      { delta: {}, finish_reason: "stop" },
      { usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } },
    ]);
    const [row] = await rows();
    expect(row).toMatchObject({ tokens_in: 5, tokens_out: 2, success: true });
  });

  it("brings tool calls, whole or in pieces", async () => {
    const whole = await streamed([
      { response: "", tool_calls: [{ name: "weather", arguments: { city: "Bern" } }] },
    ]);
    expect(whole).toMatchObject([
      {
        delta: {
          tool_calls: [{ index: 0, function: { name: "weather", arguments: '{"city":"Bern"}' } }],
        },
      },
      { finish_reason: "tool_calls" },
    ]);
    const piece = (call: object) => ({ response: null, tool_calls: [call] });
    const pieces = await streamed([
      piece({ id: "c1", index: 0, type: "function", function: { name: "weather", arguments: "" } }),
      piece({ id: null, index: 0, type: null, function: { name: null, arguments: "{}" } }),
    ]);
    expect(pieces).toMatchObject([
      { delta: { tool_calls: [{ id: "c1", index: 0, function: { name: "weather" } }] } },
      { delta: { tool_calls: [{ index: 0, function: { arguments: "{}" } }] } },
      { finish_reason: "tool_calls" },
    ]);
  });

  it("in OpenAI's shape keeps its reason", async () => {
    const chunk = (delta: object, finish_reason: string | null) => ({
      id: "c",
      choices: [{ index: 0, delta, finish_reason }],
    });
    expect(await streamed([chunk({ content: "Hi" }, null), chunk({}, "length")])).toMatchObject([
      { delta: { content: "Hi" } },
      { finish_reason: "length" },
    ]);
  });

  it("breaks when it is cut off, and when it reports an error", async () => {
    gate.transport.behave = () => streamReply(['data: {"response":"Hel"}\n\n']);
    await expect((await send({ stream: true })).text()).rejects.toThrow();
    gate.transport.behave = () => streamReply(['data: {"errors":[{"message":"Overloaded"}]}\n\n']);
    await expect((await send({ stream: true })).text()).rejects.toThrow();
  });
});

describe("a translated stream", () => {
  it("breaks beyond 32 MiB, as what it has told is kept for its end", async () => {
    const event = `data: {"response":"${"x".repeat(7 * 1024 * 1024)}"}\n\n`;
    const tell = async (count: number) => {
      gate.transport.behave = () =>
        streamReply([...Array.from({ length: count }, () => event), "data: [DONE]\n\n"]);
      const { body } = await send({ stream: true });
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

describe("a stop sequence, which Workers AI has none of", () => {
  const usage = { prompt_tokens: 5, completion_tokens: 9 };
  const stop = ["END", "\nQ:"];

  it("ends a whole answer, whose usage stays", async () => {
    gate.transport.behave = () =>
      jsonReply({ response: "One\nQ: two END", tool_calls: [{ name: "clock" }], usage });
    expect(await (await send({ stop })).json()).toMatchObject({
      choices: [{ message: { content: "One" }, finish_reason: "stop" }],
      usage,
    });
    expect(sentBody()).toEqual({ messages });
    const [row] = await rows();
    expect(row).toMatchObject({ success: true, tokens_out: 9 });
  });

  it("ends a stream wherever the chunks end, and the rest is still counted", async () => {
    const pieces = ["One E", "N", "ough\n", "Q", ": two", " three"];
    const events = [...pieces.map((response) => ({ response })), { response: "", usage }];
    const chunks = await streamed(events, { stop, stream_options: { include_usage: true } });
    const said = chunks.map((chunk) => (chunk as { delta?: { content?: string } }).delta?.content);
    expect(said.join("")).toBe("One ENough");
    expect(chunks.at(-2)).toMatchObject({ finish_reason: "stop" });
    expect(chunks.at(-1)).toMatchObject({ usage });
    const [row] = await rows();
    expect(row).toMatchObject({ success: true, tokens_out: 9 });
  });

  it("that only seemed to begin is told at the end", async () => {
    const chunks = await streamed([{ response: "One EN" }], { stop });
    const said = chunks.map((chunk) => (chunk as { delta?: { content?: string } }).delta?.content);
    expect(said.join("")).toBe("One EN");
  });

  it("cuts as text does, whatever the chunks (property)", () => {
    const letters = fc.array(fc.constantFrom("a", "b"), { maxLength: 12 });
    fc.assert(
      fc.property(letters, fc.array(letters, { maxLength: 3 }), fc.nat(4), (all, given, size) => {
        const text = all.join("");
        const stops = given.map((one) => one.join("")).filter((one) => one !== "");
        const watch = stopText(stops);
        let told = "";
        for (let at = 0; at < text.length; at += size + 1) {
          told += watch.push(text.slice(at, at + size + 1));
        }
        told += watch.stopped ? "" : watch.rest();
        const ends = stops.map((one) => text.indexOf(one)).filter((at) => at !== -1);
        // Between two that begin in different chunks, the one that is complete first ends the text.
        if (ends.length === 0) expect(told).toBe(text);
        else {
          expect(text.startsWith(told)).toBe(true);
          expect(stops.some((one) => text.startsWith(one, told.length))).toBe(true);
          expect(stops.some((one) => told.includes(one))).toBe(false);
        }
      }),
    );
  });
});
