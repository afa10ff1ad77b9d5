import { describe, expect, it } from "vitest";
import { judge, readQuestions } from "../../../bench/harness/judge.ts";

const found = (...keys: readonly string[]): { text: string; item: { key: string } }[] =>
  keys.map((key) => ({ text: `About\n${key}.`, item: { key } }));

describe("judge()", () => {
  it("counts an item once, by its best chunk, and grades by what is best possible", async () => {
    const questions = readQuestions(
      '{"query": "a", "relevant": {"x": 3, "y": 1, "z": 0}}\n\n{"query": "b", "relevant": ["x", "q"], "answer": "ABOUT x"}\n',
      "f",
    );
    const result = await judge(questions, () => Promise.resolve(found("y", "y", "x", "z")));
    const first = (1 + 3 / Math.log2(3)) / (3 + 1 / Math.log2(3));
    const second = 1 / Math.log2(3) / (1 + 1 / Math.log2(3));
    expect(result["nDCG@10"]).toBeCloseTo((first + second) / 2, 9);
    expect(result).toMatchObject({ recall: 0.75, "answer coverage": 1 });
  });

  it("says nothing of what no question tells", async () => {
    const questions = readQuestions('{"query": "a", "answer": "nowhere"}', "f");
    expect(await judge(questions, () => Promise.resolve(found("x")))).toEqual({
      "answer coverage": 0,
    });
  });
});

describe("the coverage of answers", () => {
  const coverage = async (
    answer: unknown,
    passages: readonly { text: string; heading?: string }[],
  ) => {
    const questions = readQuestions(JSON.stringify({ query: "a", answer }), "f");
    const chunks = passages.map((one) => ({ ...one, item: { key: "k" } }));
    return (await judge(questions, () => Promise.resolve(chunks)))["answer coverage"];
  };

  it("is the share of what is to be said that the first ten passages say, headings included", async () => {
    const passages = [{ text: "At\n noon." }, { text: "Daily.", heading: "Ferries > Pier 4" }];
    expect(await coverage("AT NOON", passages)).toBe(1);
    expect(await coverage(["at noon", "pier 4", "20 euros", "daily"], passages)).toBe(0.75);
    const late = [...Array.from({ length: 10 }, () => ({ text: "x" })), { text: "at noon" }];
    expect(await coverage("at noon", late)).toBe(0);
  });

  it.each(["", " \n", [], ["a", ""], 7, [7], null])(
    "is of no answer that says nothing: %j",
    (answer) => {
      const line = JSON.stringify({ query: "a", relevant: ["k"], answer });
      expect(() => readQuestions(line, "f")).toThrow(
        'f, line 1: "answer" must be a text, or a list',
      );
    },
  );
});

describe("readQuestions()", () => {
  it.each([
    ["", "f: Expected 1 to 10000 lines"],
    ["[]", "f, line 1: Expected a JSON object"],
    ['\n{"relevant": ["a"]}', 'f, line 2: "query" must be a text'],
    ['{"query": "a", "relevant": [1]}', 'f, line 1: "relevant" must be a list of keys'],
    ['{"query": "a", "relevant": "a"}', 'f, line 1: "relevant" must be a list of keys'],
    ['{"query": "a"}', 'f, line 1: "relevant" or "answer" must say'],
  ])("refuses %j and says why", (text, why) => {
    expect(() => readQuestions(text, "f")).toThrow(why);
  });
});
