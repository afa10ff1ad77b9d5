import { describe, expect, it } from "vitest";
import type { CheckResult } from "../../../../core/gateway/guard/detect/checker.ts";
import { profiles } from "../../../../core/gateway/guard/checkers/policies.ts";
import { atOnce } from "../../../../core/gateway/guard/text/slices.ts";
import { readJsonText as readText } from "../../../../core/gateway/guard/text/text.ts";

const { signal } = new AbortController();
const JSON_TYPE = "application/json";

const textOf = (...body: Parameters<typeof readText>): string =>
  atOnce(readText(...body)).text ?? "";

async function found(profile: string, text: string): Promise<Record<string, number>> {
  const result = (await profiles[profile]?.check(text, "prompt", signal)) as CheckResult;
  return Object.fromEntries(result.findings.map(({ type, count }) => [type, count]));
}

describe("the profile secrets", () => {
  it("knows the keys of common services", async () => {
    // Put together here, so that no scanner takes the test itself for a leak.
    const tail = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z";
    const samples = [
      ["sk", `-proj-${tail}${tail}`],
      ["sk", `-ant-api03-${tail}`],
      ["AK", "IAIOSFODNN7EXAMPLE"],
      ["gh", `p_${tail}Ab3d`],
      ["github", `_pat_${tail}`],
      ["AI", `za${tail}Ab3`],
      ["xo", "xb-123456789012-abcdef"],
      ["sk", `_live_${tail}`],
      ["hf", `_${tail}Ab`],
      ["ey", `JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.${tail}`],
      ["-----BEGIN RSA", " PRIVATE KEY-----"],
    ].map((halves) => halves.join(""));
    for (const sample of samples) {
      expect([sample, await found("secrets", `key = "${sample}", keep it`)]).toEqual([
        sample,
        { secret: 1 },
      ]);
    }
  });

  it("lets ordinary words and code pass", async () => {
    const text = "A risk-averse task-oriented desk-lamp; sk-learn; hash a1b2c3; eyJust a word.";
    expect(await found("secrets", text)).toEqual({});
  });
});

describe("the profile financial", () => {
  it("finds card numbers by shape, network and check digit", async () => {
    for (const number of [
      "4111111111111111",
      "4111 1111 1111 1111",
      "4111-1111-1111-1111",
      "378282246310005",
      "3782 822463 10005",
      "5555555555554444",
      "2223003122003222",
      "6011111111111117",
    ]) {
      expect([number, await found("financial", `pay ${number}, please`)]).toEqual([
        number,
        { credit_card: 1 },
      ]);
    }
    expect(await found("financial", "12 4111 1111 1111 1111 2030")).toEqual({ credit_card: 1 });
    expect(await found("financial", "4111111111111111 5555555555554444")).toEqual({
      credit_card: 2,
    });
  });

  it("finds them behind any separator, and at the borders of words and marks", async () => {
    for (const text of [
      "4111.1111.1111.1111",
      "4111\u00A01111\u00A01111\u00A01111",
      "4111\u202F1111\u202F1111\u202F1111",
      "4111\u20111111\u20111111\u20111111",
      "4111 \u2013 1111 \u2013 1111 \u2013 1111",
      "4111  1111  1111  1111",
      "_4111 1111 1111 1111_",
      "card no.4111111111111111.",
      "カード4111111111111111です",
      '{\\"note\\":\\"card\\\\n4111111111111111\\"}',
      '{"n":"\\u0034111111111111111"}',
    ]) {
      expect([text, await found("financial", text)]).toEqual([text, { credit_card: 1 }]);
    }
  });

  it("is not misled by other digits", async () => {
    for (const text of [
      "12.4111111111111111",
      "1111.4111.1111.1111.11112",
      "4111111111111112",
      "0000000000000000",
      "0.4111111111111111",
      "order4111111111111111",
      "41111111111111111111111",
      "1700000000000000",
      "9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d",
    ]) {
      expect([text, await found("financial", text)]).toEqual([text, {}]);
    }
  });

  it("finds IBANs by length and check digits", async () => {
    expect(await found("financial", "to DE89370400440532013000.")).toEqual({ iban: 1 });
    expect(await found("financial", "GB29 NWBK 6016 1331 9268 19 IS MINE")).toEqual({ iban: 1 });
    expect(await found("iban", "NO9386011117947 FR1420041010050500013M02606")).toEqual({ iban: 2 });
    for (const text of [
      "DE89-3704-0044-0532-0130-00",
      "DE89.3704.0044.0532.0130.00",
      "DE89\u00A03704\u00A00044\u00A00532\u00A00130\u00A000",
      "de89 3704 0044 0532 0130 00",
      "_DE89370400440532013000_",
      "IBAN:\\nDE89370400440532013000",
      "FK88SC123456789012",
    ])
      expect([text, await found("iban", text)]).toEqual([text, { iban: 1 }]);
    for (const text of [
      "DE89-37040-0440-5320-1300-0",
      "DE89370400440532013001",
      "XX89370400440532013000",
      "DE8937040044053201300",
    ])
      expect([text, await found("iban", text)]).toEqual([text, {}]);
  });
});

describe("a number that is cut up", () => {
  it.each([
    "4111/1111/1111/1111",
    "4111_1111_1111_1111",
    "4111, 1111, 1111, 1111",
    "| 4111 | 1111 | 1111 | 1111 |",
    "|4111|1111|1111|1111|",
    "**4111** **1111** **1111** **1111**",
    "4111 **1111** 1111 1111",
    "3782/822463/10005",
    "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
    "3 7 8 2 8 2 2 4 6 3 1 0 0 0 5",
  ])("%s is a card number", async (text) => {
    expect(await found("financial", `Card: ${text} please`)).toEqual({ credit_card: 1 });
  });

  it.each([
    "DE89/3704/0044/0532/0130/00",
    "DE89_3704_0044_0532_0130_00",
    "DE89, 3704, 0044, 0532, 0130, 00",
    "| DE89 | 3704 | 0044 | 0532 | 0130 | 00 |",
    "DE89 **3704** 0044 0532 0130 00",
  ])("%s is an IBAN", async (text) => {
    expect(await found("financial", `To ${text}.`)).toEqual({ iban: 1 });
  });

  it.each([
    // Part of a longer row of figures.
    "| 9 | 4111 | 1111 | 1111 | 1111 |",
    "| 4111 | 1111 | 1111 | 1111 | 12 |",
    "1,4111,1111,1111,1111",
    "0 4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
    "4111/1111/1111/1112",
    "x4111/1111/1111/1111",
    "2024/2025/2026/2027",
  ])("%s is none", async (text) => {
    expect(await found("financial", text)).toEqual({});
  });
});

describe("the profile pii", () => {
  it("finds addresses and numbers", async () => {
    const text =
      "Write to ann.b+c@mail.example.org or call +49 (30) 1234567, (555) 123-4567; 078-05-1120";
    expect(await found("pii", text)).toEqual({ email: 1, phone: 2, us_ssn: 1 });
    const others = "_a@b.example_ 1-800-555-1234 +1\u00A0555\u00A0123\u00A04567";
    expect(await found("pii", others)).toEqual({ email: 1, phone: 2 });
  });

  it("lets similar text pass", async () => {
    expect(
      await found("pii", "user@localhost @decorator 1+2345 3.141-592 2026-11-21 v1.2.3"),
    ).toEqual({});
  });
});

describe("the patterns", () => {
  it("take time in proportion to the text, whatever is in it", async () => {
    // Time that grew with the square of this would outlast the test by far.
    const length = 400_000;
    const pieces = ["eyJ", "a.", "a@a.", "4111 ", "1", "DE89 ", "+1 1", "sk-", "-----BEGIN A"];
    pieces.push("\\", "\\n", "1234.", "DE89-", "1   ", "4 ", "4111|", "4111 ** ", "DE89_");
    for (const piece of pieces) {
      const text = piece.repeat(Math.ceil(length / piece.length));
      for (const profile of ["secrets", "financial", "pii"]) {
        expect(Object.keys(await found(profile, text)).length).toBeLessThan(3);
      }
    }
  });

  it("read lists of millions of numbers", async () => {
    // An expression that repeats a group as often runs out of stack.
    const text = `${"1234 ".repeat(2_000_000)}x 4111 1111 1111 1111`;
    expect(await found("credit_card", text)).toEqual({ credit_card: 1 });
  });

  it("find secrets in runs of millions of letters", async () => {
    // A repetition without a bound runs out of stack.
    const run = "a".repeat(10_000_000);
    const starts = ["sk-", "xoxb-", "whsec_", "ghp_", "eyJabcdefghij.eyJabcdefghij."];
    for (const start of starts)
      expect(await found("secrets", `x ${start}${run}`)).toEqual({ secret: 1 });
    expect(await found("secrets", `x eyJ${run}`)).toEqual({});
  });
});

describe("textOf()", () => {
  it("takes memory in proportion to the body, however long the names in it", () => {
    // Each text under the path to it, written out, would take 40 GB.
    const texts = Array.from({ length: 20_000 }, (_, index) => `text ${index}`);
    const body = JSON.stringify({ ["k".repeat(1_000_000)]: { ["l".repeat(1_000_000)]: texts } });
    expect(textOf(body, "application/json", "all")).toBe(texts.join("\n"));
  });

  const openai = {
    model: "gpt",
    messages: [
      { role: "system", content: "Be kind" },
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(2000)}` } },
        ],
      },
      {
        role: "assistant",
        tool_calls: [{ id: "1", function: { name: "f", arguments: '{"q":"x"}' } }],
      },
    ],
    tools: [{ type: "function", function: { name: "lookup", description: "looks up" } }],
  };

  it("reads the conversation of every provider's format", () => {
    const anthropic = {
      system: [{ type: "text", text: "Be kind" }],
      messages: [{ role: "user", content: [{ type: "tool_result", content: "42" }] }],
    };
    const gemini = {
      contents: [{ parts: [{ text: "Hello" }] }],
      systemInstruction: { parts: [{ text: "Be kind" }] },
    };
    const workers = { prompt: "Say hi" };
    const read = (value: unknown): string => textOf(JSON.stringify(value), JSON_TYPE, "spoken");
    expect(read(openai)).toBe('Be kind\nWhat is this?\nf\n{"q":"x"}');
    expect(read(anthropic)).toBe("Be kind\n42");
    expect(read(gemini)).toBe("Hello\nBe kind");
    expect(read(workers)).toBe("Say hi");
    expect(read({ model: "m", query: "Who?", documents: ["Ann", { text: "Bob" }] })).toBe(
      "Who?\nAnn\nBob",
    );
    expect(read({ choices: [{ message: { content: "Hi" } }] })).toBe("Hi");
    expect(read({ content: [{ type: "text", text: "Hi" }] })).toBe("Hi");
    expect(read({ candidates: [{ content: { parts: [{ text: "Hi" }] } }] })).toBe("Hi");
    expect(read({ result: { response: "Hi" }, success: true })).toBe("Hi");
  });

  it("reads everything that could carry data when asked to", () => {
    expect(textOf(JSON.stringify(openai), JSON_TYPE, "all")).toContain("looks up");
    expect(textOf(JSON.stringify({ prompt: 4111111111111111 }), JSON_TYPE, "all")).toContain(
      "4111111111111111",
    );
    expect(textOf("plain", "text/plain", "all")).toBe("plain");
    expect(textOf("{broken", JSON_TYPE, "all")).toBe("{broken");
  });

  it("joins the deltas of a stream, each text by itself", () => {
    const sse = (...events: unknown[]): string =>
      `: hi\r\n\r\n${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]`;
    const delta = (index: number, content: string): object => ({
      id: "x",
      choices: [{ index, delta: { content } }],
    });
    const read = (...events: unknown[]): string =>
      textOf(sse(...events), "text/event-stream", "all");
    expect(read(delta(0, "41"), delta(1, "B"), delta(0, "41"), delta(1, "C"))).toBe("4141\nBC");
    const block = (index: number, text: string): object => ({
      type: "content_block_delta",
      index,
      delta: { type: "text_delta", text },
    });
    expect(read(block(0, "4"), block(1, "x"), block(0, "2"))).toContain("42");
    const part = (text: string): object => ({ candidates: [{ content: { parts: [{ text }] } }] });
    expect(read(part("He"), part("llo"))).toBe("Hello");
    expect(read({ response: "Hel" }, { response: "lo" })).toBe("Hello");
    expect(textOf(JSON.stringify([part("He"), part("llo")]), JSON_TYPE, "all")).toBe("Hello");
  });

  it("reads what a stream calls a tool with, whatever its members are named", () => {
    const args = { id: "one", status: "two", model: "three" };
    const call = { candidates: [{ content: { parts: [{ functionCall: { name: "f", args } }] } }] };
    const text = textOf(`data: ${JSON.stringify(call)}\n\n`, "text/event-stream", "all");
    expect(text.split("\n")).toEqual(["f", "one", "two", "three"]);
  });

  it("is not misled by a declared type: a stream that is none, and one that is", () => {
    expect(textOf('{"content":"x"}', "text/event-stream", "all")).toBe("x");
    const delta = (text: string): string => `data: {"response":"${text}"}\n\n`;
    expect(textOf(delta("He") + delta("llo"), JSON_TYPE, "all")).toContain("Hello\n");
    expect(textOf("data: a\nand b", "text/plain", "all")).toContain("and b");
  });
});
