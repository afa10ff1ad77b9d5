import { expect, it } from "vitest";
import { withCustomCost } from "../../../../core/gateway/metering/spend/expected-use.ts";

const tokens = { needed: 100, guessed: 4096 };
const listed = { needed: 0.001, guessed: 0.04 };

it("a cost that a caller names is set aside once, not beside what the list says of the output", () => {
  expect(withCustomCost({ cost: listed, tokens }, { total: 0.1 })).toEqual({
    needed: 0.1,
    guessed: 0,
  });
});

it("a cost below the list's frees nothing of what the list says", () => {
  const { needed, guessed } = withCustomCost({ cost: listed, tokens }, { total: 0.01 });
  expect(needed).toBe(0.01);
  expect(needed + guessed).toBeCloseTo(0.041, 12);
  expect(withCustomCost({ cost: listed, tokens }, { total: 0 })).toEqual(listed);
});

it("costs by the token that a caller names count for the input and for the guess of the output", () => {
  const custom = { perTokenIn: 0.001, perTokenOut: 0.002 };
  const { needed, guessed } = withCustomCost({ cost: listed, tokens }, custom);
  expect(needed).toBeCloseTo(0.2, 12);
  expect(guessed).toBeCloseTo(8.192, 12);
});
