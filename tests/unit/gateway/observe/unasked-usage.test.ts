import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withoutUnaskedUsage } from "../../../../core/gateway/providers/openai/unasked-usage.ts";

const encoder = new TextEncoder();

/** How OpenAI writes a stream, with and without the question for its usage. */
interface Stream {
  readonly events: readonly object[];
  /** Members behind the choices, in front of the usage and behind it. */
  readonly before: object;
  readonly after: object;
  readonly end: string;
  readonly space: boolean;
  readonly first: boolean;
}

function written(value: object, space: boolean): string {
  return space ? JSON.stringify(value, null, " ").replaceAll(/\n */g, " ") : JSON.stringify(value);
}

function sent({ events, before, after, end, space, first }: Stream, asked: boolean): string {
  const head = { id: "chatcmpl-1", object: "chat.completion.chunk" };
  const none = asked ? { usage: null } : {};
  const chunks = events.map((delta, index) => {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: null }];
    const event = first
      ? { ...none, ...head, choices, ...before, ...after, index }
      : { ...head, choices, ...before, ...none, ...after };
    return `data: ${written(event, space)}${end}${end}`;
  });
  const report = {
    ...head,
    choices: [],
    ...before,
    usage: { prompt_tokens: 1, details: { a: {} } },
  };
  const told = asked ? [`data: ${written(report, space)}${end}${end}`] : [];
  return [`: hello${end}${end}`, ...chunks, ...told, `data: [DONE]${end}${end}`].join("");
}

/** The bytes in pieces that end anywhere. */
function cut(text: string, sizes: readonly number[]): Uint8Array[] {
  const bytes = encoder.encode(text);
  const pieces: Uint8Array[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    pieces.push(bytes.slice(at, at + size));
    at += size;
  }
  return pieces;
}

function passed(pieces: readonly Uint8Array[], isOwn = false): string {
  const change = withoutUnaskedUsage(isOwn);
  const out = [...pieces.map((piece) => change.push(piece).slice()), change.end().slice()];
  return new TextDecoder().decode(new Uint8Array(out.flatMap((bytes) => [...bytes])));
}

const tricky = fc.constantFrom(
  { content: 'he said "usage":null, and "usage": {' },
  { content: "usage" },
  { content: '","usage":null' },
  { content: "\\" },
  { content: '{"choices":[],"usage":{}}' },
  { content: "模型 \u2028 🙂" },
  { usage: null },
  { usage: { prompt_tokens: 3 } },
  { tool_calls: [{ function: { arguments: '{"usage":null}' }, usage: null }] },
  {},
);
const members = fc.constantFrom(
  {},
  { service_tier: "default", system_fingerprint: "fp_1" },
  { obfuscation: "aB3}" },
  { obfuscation: "x{[" },
  { x_other: { usage: null } },
  { usages: null, "use\\age": 1 },
);
const streams: fc.Arbitrary<Stream> = fc.record({
  events: fc.array(tricky, { maxLength: 6 }),
  before: members,
  after: members,
  end: fc.constantFrom("\n", "\r\n", "\r"),
  space: fc.boolean(),
  first: fc.boolean(),
});

describe("withoutUnaskedUsage()", () => {
  it("leaves the bytes that come unasked, whatever the events, their line ends and their pieces", () => {
    fc.assert(
      fc.property(
        streams,
        fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 5 }),
        (stream, sizes) => {
          expect(passed(cut(sent(stream, true), sizes))).toBe(sent(stream, false));
          expect(passed(cut(sent(stream, true), sizes), true)).toBe(sent(stream, false));
          const events = sent(stream, true).match(/[^]*?(?:\n\n|\r\n\r\n|\r\r|$)/g) ?? [];
          const whole = events.map((event) => encoder.encode(event));
          expect(passed(whole, true)).toBe(sent(stream, false));
          expect(passed(cut(sent(stream, false), sizes))).toBe(sent(stream, false));
        },
      ),
      { numRuns: 1000 },
    );
  });

  it("hands on each event as soon as it is whole", () => {
    const change = withoutUnaskedUsage();
    const event = 'data: {"choices":[{"delta":{}}],"usage":null}\n\n';
    const plain = 'data: {"choices":[{"delta":{}}]}\n\n';
    const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
    expect(text(change.push(encoder.encode(event)))).toBe(plain);
    expect(text(change.push(encoder.encode(`${event}data: {"ch`)))).toBe(plain);
    expect(text(change.push(encoder.encode(event.slice(10))))).toBe(plain);
    expect(text(change.end())).toBe("");
  });

  it("hands on what was held when the stream breaks off", () => {
    expect(passed([encoder.encode('data: {"choices":[{"delta":{"content":"ha')])).toBe(
      'data: {"choices":[{"delta":{"content":"ha',
    );
  });

  it("takes out a report without its blank line", () => {
    const report = 'data: {"choices":[],"usage":{"prompt_tokens":1}}';
    expect(passed([encoder.encode(`data: {}\n\n${report}`)])).toBe("data: {}\n\n");
  });

  it("keeps events that say more than the usage: Azure's first one, and reports with choices", () => {
    const azure = 'data: {"choices":[],"prompt_filter_results":[{"a":1}]';
    expect(passed([encoder.encode(`${azure},"usage":null}\n\n`)])).toBe(`${azure}}\n\n`);
    const last =
      'data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}\n\n';
    expect(passed([encoder.encode(last)])).toBe(last);
  });

  it("passes on events that are too long to be held, and goes on behind them", () => {
    const long = `data: {"choices":[{"delta":{"content":"${"x".repeat(600_000)}"}}],"usage":null}\n\n`;
    const event = 'data: {"choices":[{}],"usage":null}\n\n';
    for (const size of [1000, 65_536, 100_001]) {
      expect(passed(cut(event + long + event, [size]))).toBe(
        `data: {"choices":[{}]}\n\n${long}data: {"choices":[{}]}\n\n`,
      );
    }
  });

  it("takes time in proportion to the bytes, also in pieces of one", () => {
    const event = `data: {"choices":[{"delta":{"content":"${'"usage" '.replaceAll('"', '\\"').repeat(2000)}"}}],"usage":null}\n\n`;
    expect(passed(cut(event.repeat(5), [1]))).toBe(event.replace(',"usage":null', "").repeat(5));
  });
});
