import { expect, it } from "vitest";
import { inFlight } from "../../adapters/shared/http/in-flight.ts";

it("inFlight() holds what was added and not taken out, and takes an item out once", () => {
  const all = inFlight<string>();
  const [removeA, removeB] = [all.add("a"), all.add("b")];
  removeA();
  removeA();
  const removeC = all.add("c");
  expect([all.size, ...all]).toEqual([2, "c", "b"]);
  removeA();
  expect(all.size).toBe(2);
  removeB();
  removeC();
  expect([all.size, ...all]).toEqual([0]);
});
