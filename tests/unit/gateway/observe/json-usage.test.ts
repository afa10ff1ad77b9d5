import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonUsage } from "../../../../core/gateway/metering/usage/json-usage.ts";
import { addUsage } from "../../../../core/gateway/providers/usage.ts";
import { noUsage } from "../../../../core/gateway/chat/usage.ts";

const usage = {
  prompt_tokens: 7,
  completion_tokens: 5,
  prompt_tokens_details: { cached_tokens: 3 },
};
const known = { tokensIn: 7, tokensOut: 5, cachedIn: 3, cacheWriteIn: 0 };

describe("jsonUsage()", () => {
  it.each([
    ["as the last member", { id: "x", usage }],
    ["before members with plain values", { usage, object: "chat.completion", n: 1, x: null }],
    ["before other objects", { usage, choices: [{ usage: { prompt_tokens: 1 } }] }],
    ["inside a response", { response: { usage }, type: "response.completed" }],
  ])("finds usage %s", (_, body) => {
    expect(jsonUsage(JSON.stringify(body))).toEqual(known);
    expect(jsonUsage(JSON.stringify(body, null, 2))).toEqual(known);
  });

  it("finds what Cohere's first API, its embeddings and Replicate count", () => {
    const meta = {
      api_version: { version: "1" },
      billed_units: { input_tokens: 4, output_tokens: 5 },
      tokens: { input_tokens: 7, output_tokens: 5 },
    };
    const report = { ...noUsage, tokensIn: 7, tokensOut: 5 };
    const chat = { text: `say "billed_units"`, meta };
    expect(jsonUsage(JSON.stringify(chat))).toEqual(report);
    expect(jsonUsage(JSON.stringify(chat, null, 2))).toEqual(report);
    expect(jsonUsage(JSON.stringify({ meta, text: [{ meta: 1 }] }))).toEqual(report);
    const lines = [
      { event_type: "text-generation", text: "Hi" },
      { event_type: "stream-end", response: { text: "Hi", meta }, finish_reason: "COMPLETE" },
    ].map((line) => JSON.stringify(line));
    expect(jsonUsage(`${lines.join("\n")}\n`)).toEqual(report);
    expect(jsonUsage(lines.join("\n").slice(0, -1))).toEqual(noUsage);
    const embedded = { embeddings: [[1, 2]], meta: { billed_units: { input_tokens: 3 } } };
    expect(jsonUsage(JSON.stringify(embedded))).toEqual({ ...noUsage, tokensIn: 3 });
    const metrics = { predict_time: 1, input_token_count: 8, output_token_count: 9 };
    expect(jsonUsage(JSON.stringify({ output: "x", metrics, logs: "" }))).toEqual({
      ...noUsage,
      tokensIn: 8,
      tokensOut: 9,
    });
    for (const none of [{ meta: { billed_units: 1 } }, { text: "", a: { meta } }, { metrics: [] }])
      expect(jsonUsage(JSON.stringify(none))).toEqual(noUsage);
  });

  it("does not take text or inner objects for usage", () => {
    for (const body of [
      { text: `"usage": ${JSON.stringify(usage)}` },
      { choices: [{ usage }] },
      { choices: { usage }, id: "x" },
      ["usage", usage],
      { usage: "none" },
      { a: "usage", b: usage },
    ]) {
      expect(jsonUsage(JSON.stringify(body)), JSON.stringify(body)).toEqual(noUsage);
    }
  });

  it("takes the last report of a list of Gemini's answers, also of one that is cut off", () => {
    const answer = (promptTokenCount: number, text: string) => ({
      candidates: [{ content: { parts: [{ text }] } }],
      usageMetadata: { promptTokenCount, candidatesTokenCount: 2 },
    });
    const quoted = `}"usageMetadata":{"promptTokenCount":9}{`;
    const list = JSON.stringify([answer(4, "a"), answer(5, quoted), { a: [answer(6, "b")] }]);
    const report = (tokensIn: number) => ({ ...noUsage, tokensIn, tokensOut: 2 });
    for (const indent of [0, 2])
      expect(jsonUsage(JSON.stringify(JSON.parse(list), null, indent))).toEqual(report(5));
    expect(jsonUsage(list.slice(0, list.indexOf("},{")))).toEqual(noUsage);
    expect(jsonUsage(list.slice(0, list.indexOf("},{") + 10))).toEqual(report(4));
    for (const none of [[[answer(1, "x")]], [1, answer(1, "x")], ["{", answer(1, "x")]])
      expect(jsonUsage(JSON.stringify(none))).toEqual(noUsage);
  });

  it("knows nothing of text that is cut off or no JSON", () => {
    const whole = JSON.stringify({ id: "x", usage, tier: "a" });
    for (let length = 0; length < whole.length; length++)
      expect(jsonUsage(whole.slice(0, length))).toEqual(noUsage);
  });

  it("reads a usage report without end once, with the whole answer", () => {
    const padding = Array.from({ length: 4000 }, (_, i) => [`k${i}`, { i }]);
    const endless = { ...Object.fromEntries(padding), ...usage };
    expect(jsonUsage(JSON.stringify({ id: "x", usage: endless }))).toEqual(known);
    expect(jsonUsage(`{"usage":{"a":"${"{".repeat(10_000_000)}`)).toEqual(noUsage);
  });

  it("does not parse a whole answer that would hold up the process", () => {
    const report = '"usage":{"prompt_tokens":1,"completion_tokens":2}';
    const more = `"more":[${"[],".repeat(200_000)}1]`;
    expect(jsonUsage(`{${report},${more}}`)).toEqual(noUsage);
    // At the end it is found for itself.
    expect(jsonUsage(`{${more},${report}}`)).toMatchObject({ tokensIn: 1, tokensOut: 2 });
  });

  it("finds what parsing the whole answer finds", () => {
    const key = fc.constantFrom("usage", "usageMetadata", "message", "id", 'a"b', "tokens");
    const leaf = fc.oneof(
      fc.constantFrom<unknown>(usage, { promptTokenCount: 4 }, '"usage":{}', "}", '\\"usage":'),
      fc.jsonValue(),
    );
    const body = fc.dictionary(key, fc.oneof(leaf, fc.dictionary(key, leaf)), {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(body, fc.constantFrom(undefined, 1), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(jsonUsage(text), text).toEqual(addUsage(noUsage, JSON.parse(text)));
      }),
      { numRuns: 400 },
    );
  });
});
