import { describe, expect, it } from "vitest";
import { peekFailure } from "../../../../core/gateway/chat/failures/peek-failure.ts";
import { keptAlive } from "../../../../core/gateway/entry/silence.ts";
import { placeholders } from "../../../../core/gateway/guard/mask/placeholders.ts";
import { unmaskedEvents } from "../../../../core/gateway/guard/mask/unmasked-events.ts";
import { passedTokens } from "../../../../core/gateway/metering/usage/passed-tokens.ts";
import { usageScanner } from "../../../../core/gateway/metering/usage/sse-usage.ts";
import { withoutUnaskedUsage } from "../../../../core/gateway/providers/openai/unasked-usage.ts";
import { isLastEvent } from "../../../../core/gateway/wire/last-event.ts";
import { contentDecoding } from "../../../../core/http/body/content-decoder.ts";
import { fedStream } from "../../../fakes/gateway-fed-stream.ts";
import { bytes } from "../../../fakes/gateway-transport.ts";
import { fakeClock, settled } from "../../../fakes/rendering-system.ts";

/** Each way to end an event: the end of its line, and that of the blank line, in any of three forms. */
const ends = ["\n", "\r", "\r\n"].flatMap((line) =>
  // LF behind a CR belongs to it.
  ["\n", "\r", "\r\n"]
    .filter((blank) => !(line === "\r" && blank === "\n"))
    .map((blank) => line + blank),
);

const text = (chunk: Uint8Array): string => new TextDecoder().decode(chunk);

describe.each(ends)("an event that ends in %j", (end) => {
  it("is read for its failure before the next one comes", async () => {
    const clock = fakeClock();
    const source = fedStream();
    const answer = {
      status: 200,
      headers: [["content-type", "text/event-stream"]] as const,
      body: source.body,
    };
    const parts = { system: clock.system, decoding: contentDecoding({}) };
    let failed: boolean | undefined;
    const peeked = (async () => {
      failed = (await peekFailure(answer, parts)).failure !== null;
    })();
    source.send(`data: {"error":{"message":"busy"}}${end}d`);
    await settled();
    expect(failed).toBe(true);
    source.close();
    await peeked;
  });

  it("gets its values back before the next one comes", () => {
    const names = placeholders();
    const name = names.of("email", "ann@example.org");
    const pass = unmaskedEvents(names);
    const event = (value: string): string => `data: {"text":"to ${value}."}${end}`;
    expect(pass.push(`${event(name ?? "")}d`)).toBe(event("ann@example.org"));
    expect(pass.push(`${event(name ?? "").slice(1)}d`)).toBe(event("ann@example.org"));
  });

  it("counts as one that repeats, and not those behind it", () => {
    const said = `data: {"choices":[{"delta":{"content":"one two three four five six seven"}}]}${end}`;
    const counted = (stream: string): number => {
      const counter = passedTokens();
      counter.push(bytes(stream));
      return counter.end();
    };
    expect(counted(`data: {"type":"response.created"}${end}${said}`)).toBe(counted(said));
    expect(counted(said)).toBeGreaterThan(1);
  });

  it("reports its own usage alone", () => {
    const read = (blank: string): unknown => {
      const scanner = usageScanner();
      for (const tokens of [1, 2])
        for (const one of `data: {"usage":{"prompt_tokens":${tokens}}}${blank}`) scanner.push(one);
      return scanner.usage();
    };
    expect(read(end)).toEqual(read("\n\n"));
  });

  it("is handed on without the usage that nobody asked for", () => {
    const change = withoutUnaskedUsage();
    const out = change.push(bytes(`data: {"choices":[{}],"usage":null}${end}: next`));
    expect(text(out)).toBe(`data: {"choices":[{}]}${end}`);
    change.push(bytes(`${end}data: {"choices":[],"usage":{"prompt_tokens":1}}${end}`));
    expect(text(change.end())).not.toContain("usage");
  });

  it("says that nothing follows", () => {
    expect(isLastEvent(`data: {}${end}data: [DONE]${end}`)).toBe(!end.endsWith("\n\r"));
    expect(isLastEvent(`data: {}${end}data: [DONE]\r\n`)).toBe(false);
  });

  it("may be followed by a comment, however it is cut", async () => {
    for (const cut of [0, 1, 2]) {
      const clock = fakeClock();
      const source = fedStream();
      const read: string[] = [];
      const reading = (async () => {
        for await (const chunk of keptAlive(source.body, 15_000, clock.system))
          read.push(text(chunk));
      })();
      const event = `data: 1${end}`;
      const pieces = [event.slice(0, event.length - cut), event.slice(event.length - cut)];
      for (const piece of pieces.filter((one) => one !== "")) {
        source.send(piece);
        await settled();
      }
      await clock.advance(15_000);
      source.close();
      await reading;
      // LF may follow.
      expect(read.join("")).toBe(end.endsWith("\n\r") ? event : `${event}:\n\n`);
    }
  });
});
