import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  withoutLongTexts,
  type UsageScanner,
  usageScanner,
} from "../../../../core/gateway/metering/usage/sse-usage.ts";
import {
  textBlocks,
  type TextBlocks,
} from "../../../../core/gateway/metering/usage/text-blocks.ts";
import { addUsage, usageOf } from "../../../../core/gateway/providers/usage.ts";
import { noUsage, type TokenUsage } from "../../../../core/gateway/chat/usage.ts";

const usage = (
  tokensIn: number | null,
  tokensOut: number | null,
  cachedIn = 0,
  cacheWriteIn = 0,
): TokenUsage => ({
  tokensIn,
  tokensOut,
  cachedIn,
  cacheWriteIn,
});

/** A scanner of bytes, which sees their text in blocks of this size. */
function byteScanner(size?: number): Pick<TextBlocks, "push"> & Pick<UsageScanner, "usage"> {
  const scanner = usageScanner();
  const { push, end } = textBlocks((piece) => scanner.push(piece), size);
  return {
    push,
    usage() {
      end();
      return scanner.usage();
    },
  };
}

/** Scans a stream cut at these places, each piece as it comes. */
function scan(stream: Uint8Array, cuts: readonly number[] = [], size?: number): TokenUsage {
  const scanner = byteScanner(size);
  let at = 0;
  for (const cut of [...cuts.map((one) => one % (stream.length + 1)), stream.length].toSorted(
    (a, b) => a - b,
  )) {
    scanner.push(stream.slice(at, cut));
    at = cut;
  }
  return scanner.usage();
}

const text = (value: string): Uint8Array => new TextEncoder().encode(value);

const openai = [
  ': comment "usage": {"prompt_tokens": 999}',
  "",
  'data: {"choices":[{"delta":{"content":"é日本🎉 \\"usage\\":{\\"prompt_tokens\\":7}"}}]}',
  "",
  'data:{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":11,"completion_tokens":1}}',
  "",
  "id: 7",
  "event: usage",
  'data: {"choices":[],',
  'data: "usage":{"prompt_tokens":11,"completion_tokens":22,"prompt_tokens_details":{"cached_tokens":4}}}',
  "",
  "data: [DONE]",
  "",
  "",
];

describe("usageScanner()", () => {
  it.each(["\n", "\r\n", "\r"])(
    "finds the same usage whatever the chunks, with line ends %j",
    (end) => {
      const stream = text(openai.join(end));
      fc.assert(
        fc.property(fc.array(fc.nat(), { maxLength: 12 }), (cuts) => {
          for (const size of [1, 7, 100, undefined])
            expect(scan(stream, cuts, size)).toEqual(usage(11, 22, 4));
        }),
      );
      expect(scan(stream, [...stream.keys()])).toEqual(usage(11, 22, 4));
    },
  );

  it("adds up Anthropic's message_start and message_delta", () => {
    const stream = [
      "event: message_start",
      'data: {"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":3,"output_tokens":1}}}',
      "",
      "event: message_delta",
      'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":42}}',
      "",
      "",
    ].join("\n");
    expect(scan(text(stream))).toEqual(usage(18, 42, 5, 3));
  });

  it("takes the last of Gemini's cumulative reports, thoughts included", () => {
    const stream = [
      'data: {"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":1}}',
      "",
      'data: {"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":9,"thoughtsTokenCount":4,"cachedContentTokenCount":2}}',
      "",
    ].join("\r\n");
    expect(scan(text(stream))).toEqual({ ...usage(5, 13, 2), reasoningOut: 4 });
  });

  it("keeps what was seen of a stream that breaks off", () => {
    expect(
      scan(text('data: {"usage":{"prompt_tokens":3,"completion_tokens":1}}\n\ndata: {"usa')),
    ).toEqual(usage(3, 1));
  });

  it("gives up on an endless line without keeping it", () => {
    const scanner = byteScanner();
    const chunk = new Uint8Array(256 * 1024).fill(97);
    for (let i = 0; i < 64; i++) scanner.push(chunk);
    scanner.push(text('\n\ndata: {"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'));
    expect(scanner.usage()).toEqual(usage(1, 2));
  });

  it("counts what an event says and nothing that it quotes, wherever the chunks end", () => {
    const report = { prompt_tokens: 7, completion_tokens: 5 };
    const word = fc.constantFrom("usage", "usageMetadata", "message", "response", "a", '"usage');
    const leaf = fc.oneof(
      fc.constantFrom<unknown>(
        report,
        { promptTokenCount: 4 },
        JSON.stringify({ usage: report }),
        `"usage":${JSON.stringify(report)}`,
        "\\",
        '\\"',
        "ü🌍",
      ),
      fc.jsonValue({ maxDepth: 2 }),
    );
    const member = fc.tuple(word, fc.oneof(leaf, fc.dictionary(word, leaf), fc.array(leaf)));
    // As text, so that a key can come twice.
    const message = fc
      .array(member, { maxLength: 4 })
      .map((all) => `{${all.map((one) => one.map((x) => JSON.stringify(x)).join(":")).join()}}`);
    const end = fc.constantFrom("\n", "\r\n", "\r");
    fc.assert(
      fc.property(fc.array(message, { maxLength: 4 }), end, (messages, eol) => {
        const stream = text(messages.map((one) => `data: ${one}${eol}${eol}`).join(""));
        const wanted = messages.reduce((sum, one) => addUsage(sum, JSON.parse(one)), noUsage);
        for (const size of [1, 2, 3, stream.length]) {
          const cuts = Array.from({ length: Math.ceil(stream.length / size) }, (_, i) => i * size);
          expect(scan(stream, cuts)).toEqual(wanted);
          expect(scan(stream, [], size)).toEqual(wanted);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("keeps an event that comes byte by byte in little more than its bytes", () => {
    const scanner = byteScanner();
    const long = `data: {"pad":"${"a".repeat(900_000)}","usage":{"prompt_tokens":1,"completion_tokens":2}}`;
    for (const byte of text(long)) scanner.push(Uint8Array.of(byte));
    expect(scanner.usage()).toEqual(usage(1, 2));
  });

  it("finds the report behind a picture of many megabytes, however it comes", () => {
    const picture = "iVBORw0KGgo/+".repeat(300_000);
    const report = { input_tokens: 11, output_tokens: 1056 };
    const done = { type: "response.completed", response: { output: [{ result: picture }] } };
    for (const event of [
      { type: "image_generation.completed", b64_json: picture, usage: report },
      { ...done, response: { ...done.response, usage: report } },
      { data: picture, usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 1056 } },
    ]) {
      const stream = text(`data: {"a":1}\n\ndata: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`);
      expect(scan(stream)).toEqual(usage(11, 1056));
      const cuts = Array.from({ length: 80 }, (_, i) => i * 50_001);
      expect(scan(stream, cuts)).toEqual(usage(11, 1056));
    }
  });

  it("never throws, whatever the bytes", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 }), (chunks) => {
        const scanner = byteScanner(16);
        for (const chunk of chunks) scanner.push(chunk);
        scanner.usage();
      }),
    );
  });
});

describe("withoutLongTexts()", () => {
  const texts = fc.array(fc.constantFrom("\\", '"', "a", "{", "ü", "\n"), { maxLength: 12 });

  it("leaves out what is in long texts, whatever they hold and wherever the JSON is cut", () => {
    fc.assert(
      fc.property(fc.array(texts, { maxLength: 5 }), fc.nat(), (lists, at) => {
        const values = lists.map((list) => list.join(""));
        const json = JSON.stringify(values);
        const wanted = JSON.stringify(
          values.map((value) => (JSON.stringify(value).length - 1 > 4 ? "" : value)),
        );
        expect(withoutLongTexts(json, 4)).toBe(wanted);
        const cut = at % (json.length + 1);
        const parts = withoutLongTexts(json.slice(0, cut), 4) + json.slice(cut);
        expect(withoutLongTexts(parts, 0).length).toBe(withoutLongTexts(json, 0).length);
      }),
    );
  });
});

describe("addUsage()", () => {
  it.each([
    ["what Bedrock's Converse names in its own way", { inputTokens: 3, outputTokens: 4 }, [3, 4]],
    [
      "its cached tokens beside them",
      { inputTokens: 3, outputTokens: 4, cacheReadInputTokens: 5, cacheWriteInputTokens: 6 },
      [14, 4, 5, 6],
    ],
    [
      "DeepSeek's cached tokens, also without details",
      { prompt_tokens: 9, completion_tokens: 4, prompt_cache_hit_tokens: 5 },
      [9, 4, 5],
    ],
  ] as const)("counts %s", (_, report, [tokensIn, tokensOut, cachedIn, cacheWriteIn]) => {
    const wanted = usage(tokensIn, tokensOut, cachedIn, cacheWriteIn);
    expect(addUsage(noUsage, { output: {}, usage: report })).toEqual(wanted);
  });

  it("keeps Anthropic's cached tokens when a later report leaves them out", () => {
    const first = { input_tokens: 10, cache_read_input_tokens: 5, cache_creation_input_tokens: 3 };
    const started = addUsage(noUsage, { message: { usage: { ...first, output_tokens: 1 } } });
    for (const cached of [{}, { cache_read_input_tokens: null }]) {
      const report = { input_tokens: 10, output_tokens: 42, ...cached };
      expect(addUsage(started, { usage: report })).toEqual(usage(18, 42, 5, 3));
    }
  });

  it.each([-1, 0.5, 1e12, 1e308, "7", null, [7], { n: 7 }])("takes %j for no count", (count) => {
    expect(addUsage(noUsage, { usage: { prompt_tokens: count, completion_tokens: 2 } })).toEqual({
      ...noUsage,
      tokensOut: 2,
    });
  });

  it.each([
    ["OpenAI chat", { usage: { prompt_tokens: 1, completion_tokens: 2 } }, usage(1, 2)],
    ["OpenAI responses", { usage: { input_tokens: 1, output_tokens: 2 } }, usage(1, 2)],
    [
      "response.completed",
      { type: "response.completed", response: { usage: { input_tokens: 1, output_tokens: 2 } } },
      usage(1, 2),
    ],
    ["Workers AI", { result: { usage: { prompt_tokens: 1, completion_tokens: 2 } } }, usage(1, 2)],
    ["Groq", { x_groq: { usage: { prompt_tokens: 1, completion_tokens: 2 } } }, usage(1, 2)],
    [
      "Cohere",
      {
        usage: { billed_units: { input_tokens: 9 }, tokens: { input_tokens: 1, output_tokens: 2 } },
      },
      usage(1, 2),
    ],
    ["embeddings", { usage: { prompt_tokens: 8, total_tokens: 8 } }, usage(8, null)],
    ["nonsense", { usage: { prompt_tokens: "8", completion_tokens: -1 } }, usage(null, null)],
    ["an array", [{ usage: { prompt_tokens: 8 } }], usage(null, null)],
    [
      "content",
      { choices: [{ message: { content: '"usage":{"prompt_tokens":5}' } }] },
      usage(null, null),
    ],
  ])("reads %s", (_, message, expected) => {
    expect(addUsage(noUsage, message)).toEqual(expected);
  });
});

describe("usageOf()", () => {
  const gemini = { usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4 } };
  const plain = { usage: { prompt_tokens: 5, completion_tokens: 2 } };
  const cohere = { meta: { billed_units: { input_tokens: 7, output_tokens: 3 } } };

  it("reads a known provider's answers in the words of its family alone", () => {
    expect(usageOf("openai")(noUsage, plain).tokensIn).toBe(5);
    expect(usageOf("openai")(noUsage, gemini)).toEqual(noUsage);
    expect(usageOf("openai")(noUsage, { ...gemini, ...plain }).tokensIn).toBe(5);
    expect(usageOf("google-ai-studio")(noUsage, gemini).tokensIn).toBe(9);
    expect(usageOf("google-ai-studio")(noUsage, plain).tokensIn).toBe(5);
    expect(usageOf("cohere")(noUsage, cohere).tokensIn).toBe(7);
    expect(usageOf("anthropic")(noUsage, cohere)).toEqual(noUsage);
  });

  it("reads those of any other provider in the words of every family", () => {
    for (const slug of ["custom-mine", "aws-bedrock", "google-vertex-ai", "constructor"]) {
      expect(usageOf(slug)(noUsage, gemini).tokensIn).toBe(9);
      expect(usageOf(slug)(noUsage, plain).tokensIn).toBe(5);
      expect(usageOf(slug)(noUsage, cohere).tokensIn).toBe(7);
    }
  });
});
