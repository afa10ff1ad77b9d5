import fc from "fast-check";
import { expect, it } from "vitest";
import { editDistance } from "../../../core/text/nearest.ts";

const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 12 });

it("an edit distance with a limit is the whole one up to that limit, and any larger number beyond", () => {
  fc.assert(
    fc.property(word, word, fc.nat(5), (a, b, limit) => {
      const whole = editDistance(a, b);
      const limited = editDistance(a, b, limit);
      if (whole <= limit) expect(limited).toBe(whole);
      else expect(limited).toBeGreaterThan(limit);
    }),
  );
});

it.each([
  ["", "", 0],
  ["", "abc", 3],
  ["recieve", "receive", 1],
  ["kitten", "sitting", 3],
])("the edit distance of %j and %j is %d", (a, b, distance) => {
  expect(editDistance(a, b)).toBe(distance);
  expect(editDistance(b, a, distance)).toBe(distance);
});
