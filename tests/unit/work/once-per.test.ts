import { expect, it } from "vitest";
import { oncePer } from "../../../core/work/once-per.ts";

it("makes a value once for each object, also one that is undefined", () => {
  const made: object[] = [];
  const lengthOf = oncePer((list: readonly string[]) => {
    made.push(list);
    return list.length === 0 ? undefined : list.length;
  });
  const [one, none] = [["a"], []];
  expect([lengthOf(one), lengthOf(one), lengthOf(none), lengthOf(none)]).toEqual([
    1,
    1,
    undefined,
    undefined,
  ]);
  expect(lengthOf(["a"])).toBe(1);
  expect(made).toEqual([one, none, ["a"]]);
});
