import { describe, expect, it } from "vitest";
import { judgeSetting, readQuestions } from "../../../adapters/cli/api/search-eval.ts";

const found = (...keys: readonly string[]): { text: string; item: { key: string } }[] =>
  keys.map((key) => ({ text: `About\n${key}.`, item: { key } }));

describe("judgeSetting()", () => {
  it("counts an item once, by its best chunk, and grades by what is best possible", async () => {
    const questions = readQuestions(
      '{"query": "a", "relevant": {"x": 3, "y": 1, "z": 0}}\n\n{"query": "b", "relevant": ["x", "q"], "answer": "ABOUT x"}\n',
      "f",
    );
    const result = await judgeSetting("s", questions, () =>
      Promise.resolve(found("y", "y", "x", "z")),
    );
    const first = (1 + 3 / Math.log2(3)) / (3 + 1 / Math.log2(3));
    const second = 1 / Math.log2(3) / (1 + 1 / Math.log2(3));
    expect(result.ndcg_at_10).toBeCloseTo((first + second) / 2, 9);
    expect(result).toMatchObject({ setting: "s", questions: 2, recall: 0.75, answers: 1 });
  });

  it("says nothing of what no question tells", async () => {
    const questions = readQuestions('{"query": "a", "answer": "nowhere"}', "f");
    expect(await judgeSetting("s", questions, () => Promise.resolve(found("x")))).toEqual({
      setting: "s",
      questions: 1,
      ndcg_at_10: null,
      recall: null,
      answers: 0,
    });
  });
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
