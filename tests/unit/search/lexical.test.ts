import { describe, expect, it } from "vitest";
import { runThrough } from "../../../core/work/background.ts";
import { dot } from "../../../core/search/vectors/dense.ts";
import {
  lexicalModel,
  trainLexical,
  type Trained,
} from "../../../core/search/lexical/lexical-model.ts";
import { stem } from "../../../core/search/text/porter.ts";
import { calibrated } from "../../../core/search/lexical/trained-model.ts";
import { rightSingularVectors } from "../../../core/search/lexical/truncated-svd.ts";
import { topicTexts } from "../../fakes/search-corpus.ts";

const learned = (): Trained => runThrough(trainLexical(topicTexts));

describe("stem()", () => {
  // Examples of M. F. Porter's paper of 1980.
  it.each([
    ["caresses", "caress"],
    ["ponies", "poni"],
    ["cats", "cat"],
    ["feed", "feed"],
    ["agreed", "agre"],
    ["plastered", "plaster"],
    ["motoring", "motor"],
    ["sing", "sing"],
    ["conflated", "conflat"],
    ["hopping", "hop"],
    ["falling", "fall"],
    ["filing", "file"],
    ["happy", "happi"],
    ["sky", "sky"],
    ["relational", "relat"],
    ["conditional", "condit"],
    ["vietnamization", "vietnam"],
    ["triplicate", "triplic"],
    ["hopeful", "hope"],
    ["revival", "reviv"],
    ["adjustment", "adjust"],
    ["adoption", "adopt"],
    ["probate", "probat"],
    ["rate", "rate"],
    ["controll", "control"],
    ["roll", "roll"],
    ["über", "über"],
    ["at", "at"],
  ])("of %s is %s", (word, expected) => {
    expect(stem(word)).toBe(expected);
  });
});

describe("rightSingularVectors()", () => {
  it("finds the directions of a matrix of low rank", () => {
    // Rows lie in the plane of (1, 1, 0, 0) and (0, 0, 1, 1); the first direction is the stronger one.
    const rows = Array.from({ length: 40 }, (_, n) => ({
      columns: Uint32Array.from(n % 4 === 0 ? [2, 3] : [0, 1]),
      values: Float32Array.from([1, 1]),
    }));
    const v = runThrough(rightSingularVectors(rows, 4, 2));
    const column = (k: number): number[] =>
      [0, 1, 2, 3].map((row) => Math.abs(v[row * 2 + k] ?? 0));
    for (const [k, expected] of [
      [0, [Math.SQRT1_2, Math.SQRT1_2, 0, 0]],
      [1, [0, 0, Math.SQRT1_2, Math.SQRT1_2]],
    ] as const) {
      for (const [row, value] of column(k).entries()) expect(value).toBeCloseTo(expected[row]!, 4);
    }
  });
});

describe("lexicalModel()", () => {
  it("gives unit vectors of 512 dimensions before a training and of 640 after one", () => {
    const before = lexicalModel(null);
    const after = lexicalModel(learned());
    for (const [model, dimensions] of [
      [before, 512],
      [after, 640],
    ] as const) {
      const vector = model.embed("The choir sang a quiet melody in the church.");
      expect([model.dimensions, vector.length]).toEqual([dimensions, dimensions]);
      expect(dot(vector, vector, 0)).toBeCloseTo(1, 5);
      expect(model.embed("the of and").every((value) => value === 0)).toBe(true);
    }
  });

  it("learns the same model from the same texts, whatever the runtime", () => {
    const [one, two] = [learned(), learned()];
    expect(two.latent).toEqual(one.latent);
    const model = lexicalModel(one);
    const cosine = dot(model.embed("choir melody"), model.embed("song of the choir"), 0);
    // Written down from one runtime: the others must agree.
    expect(cosine).toBeCloseTo(0.601, 4);
  });

  it("sees that words of one topic belong together", () => {
    const model = lexicalModel(learned());
    const music = model.embed("melody");
    expect(dot(music, model.embed("choir"), 0)).toBeGreaterThan(
      dot(music, model.embed("anchor"), 0) + 0.1,
    );
  });
});

describe("calibrated()", () => {
  it("grows with the cosine from 0 to 1 and puts related text at the default threshold", () => {
    const scale = { floor: 0.05, related: 0.2 };
    expect([-1, 0.05, 0.2, 1].map((cosine) => calibrated(cosine, scale))).toEqual([0, 0, 0.4, 1]);
    expect(calibrated(0.1, scale)).toBeLessThan(calibrated(0.15, scale));
    expect(calibrated(0.75, null)).toBe(0.75);
    expect(calibrated(Number.NaN, null)).toBe(0);
  });
});
