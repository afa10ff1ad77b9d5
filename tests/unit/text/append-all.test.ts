import { describe, expect, it } from "vitest";
import type { ChatMessage } from "../../../core/gateway/chat/chat-format.ts";
import { parseFrame } from "../../../core/agents/protocol/protocol.ts";
import { rightToLeft } from "../../../core/files/pdf-right-to-left.ts";
import { withTextResults } from "../../../core/gateway/chat/text-results.ts";
import { mendChat } from "../../../core/gateway/models/mend-chat.ts";
import { anthropicTranslator } from "../../../core/gateway/providers/anthropic/anthropic.ts";
import { geminiTranslator } from "../../../core/gateway/providers/google/gemini.ts";
import { appendAll } from "../../../core/text/append-all.ts";

/** More than Node takes as arguments of a call. */
const MANY = 200_000;
const many = <T>(item: T, count = MANY): T[] => Array<T>(count).fill(item);

it("a list of any length is appended, and to nothing", () => {
  const list = [0];
  appendAll(list, many(1, 1_000_000));
  expect(list).toHaveLength(1_000_001);
  expect(() => appendAll(undefined, [1])).not.toThrow();
});

describe("lists of any length that a caller sends", () => {
  const text = { type: "text", text: "x" } as const;
  const messages: ChatMessage[] = [
    { role: "user", content: "first" },
    { role: "user", content: many(text) },
  ];

  it.each([
    ["Anthropic's messages", anthropicTranslator],
    ["Gemini's contents", geminiTranslator],
  ])("become %s", (_, translator) => {
    const { body } = translator.request({ model: "m", messages });
    expect(JSON.stringify(body).split('"x"')).toHaveLength(MANY + 1);
  });

  it("stay beside results of tools", () => {
    const content = many({
      type: "image_url",
      image_url: { url: "https://x.test/a.png" },
    } as const);
    const result = { role: "tool", tool_call_id: "1", content } as const;
    expect(withTextResults([result]).at(-1)?.content).toHaveLength(MANY + 1);
    const asked = many({ role: "user", content: "x" } as const);
    const call = { id: "1", type: "function", function: { name: "f", arguments: "{}" } } as const;
    const answer: ChatMessage = { role: "assistant", content: null, tool_calls: [call] };
    const told: ChatMessage = { role: "assistant", content: "y" };
    const { messages: mended } = mendChat({ model: "m", messages: [answer, ...asked, told] });
    expect(mended.length).toBeGreaterThan(0);
  });

  it("are one line of a PDF", () => {
    const item = { text: "x", x: 0, y: 0, width: 1, height: 1, endsLine: false };
    const line = [...many(item), { ...item, endsLine: true }];
    expect(rightToLeft(line)).toHaveLength(MANY + 1);
  });

  it("are no arguments of a call: the frame is refused by its bound", () => {
    const frame = (count: number): string =>
      JSON.stringify({ type: "rpc", id: "1", method: "echo", args: Array<number>(count).fill(1) });
    expect(parseFrame(frame(1000))).toMatchObject({ type: "rpc" });
    const reason = "A call has more than 1000 arguments";
    expect(parseFrame(frame(1001))).toEqual({ type: "refused", reason });
  });
});
