import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { awsEventUsage } from "../../../../core/gateway/providers/amazon/aws-events.ts";
import { noUsage, type TokenUsage } from "../../../../core/gateway/chat/usage.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A frame with headers of this many bytes; the checksums are nobody's business here. */
function frame(payload: string, headers: number = 40): Uint8Array {
  const body = bytes(payload);
  const all = new Uint8Array(16 + headers + body.length);
  const view = new DataView(all.buffer);
  view.setUint32(0, all.length);
  view.setUint32(4, headers);
  all.set(body, 12 + headers);
  return all;
}

/** An event of a model's own, as `InvokeModelWithResponseStream` sends it. */
const own = (event: object): Uint8Array =>
  frame(JSON.stringify({ bytes: btoa(JSON.stringify(event)), p: "abcdefgh" }));

function read(frames: readonly Uint8Array[], size: number): TokenUsage {
  const stream = new Uint8Array(frames.flatMap((one) => [...one]));
  const events = awsEventUsage();
  for (let at = 0; at < stream.length; at += size) events.push(stream.subarray(at, at + size));
  return events.usage();
}

const sizes = [1, 7, 64, 100_000];
const start = { type: "message_start", message: { usage: { input_tokens: 10, output_tokens: 1 } } };
const delta = { type: "message_delta", usage: { output_tokens: 42 } };
const metrics = { "amazon-bedrock-invocationMetrics": { inputTokenCount: 3, outputTokenCount: 4 } };

describe("awsEventUsage()", () => {
  it.each(sizes)("finds what Converse reports, in chunks of %d bytes", (size) => {
    const text = frame(
      '{"contentBlockIndex":0,"delta":{"text":"\\"usage\\":{\\"inputTokens\\":9}"}}',
    );
    const usage = { inputTokens: 3, outputTokens: 4, cacheReadInputTokens: 5, totalTokens: 12 };
    const report = frame(JSON.stringify({ usage, metrics: { latencyMs: 7 } }));
    expect(read([text, frame(""), report], size)).toEqual({
      ...noUsage,
      tokensIn: 8,
      tokensOut: 4,
      cachedIn: 5,
    });
  });

  it.each(sizes)("finds what a model's own events report, in chunks of %d bytes", (size) => {
    const claude = [own(start), own({ delta: { text: "é" } }), own(delta), own(metrics)];
    expect(read(claude, size)).toEqual({ ...noUsage, tokensIn: 10, tokensOut: 42 });
    expect(read([own({ generation: "x" }), own(metrics)], size)).toEqual({
      ...noUsage,
      tokensIn: 3,
      tokensOut: 4,
    });
  });

  it("keeps what was seen of a stream that breaks off, and reads past long frames", () => {
    const cut = own(delta).subarray(0, 60);
    const long = frame("x".repeat(300_000));
    for (const size of [7, 100_000]) {
      expect(read([own(start), cut], size)).toMatchObject({ tokensIn: 10, tokensOut: 1 });
      expect(read([own(start), long, own(delta)], size)).toMatchObject({ tokensOut: 42 });
    }
  });

  it("reads nothing behind what is no frame, whatever the bytes", () => {
    expect(read([bytes("{}".repeat(20)), own(start)], 7)).toEqual(noUsage);
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 10 }), (chunks) => {
        const events = awsEventUsage();
        for (const chunk of chunks) events.push(chunk);
        expect(events.usage()).toEqual(noUsage);
      }),
    );
  });
});
