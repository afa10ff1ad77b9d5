import { describe, expect, it } from "vitest";
import { BoundedMap, BoundedSet } from "../../../core/work/bounded-map.ts";

describe("BoundedMap", () => {
  it("gives a new key the place of the one that was set first", () => {
    const map = new BoundedMap<string, number>(2);
    map.set("a", 1).set("b", 2).set("c", 3);
    expect([...map]).toEqual([
      ["b", 2],
      ["c", 3],
    ]);
  });

  it("drops and moves nothing for a key that it has", () => {
    const map = new BoundedMap<string, number>(2);
    map.set("a", 1).set("b", 2).set("a", 3);
    expect([...map]).toEqual([
      ["a", 3],
      ["b", 2],
    ]);
  });

  it("lets a loop over its entries set them", () => {
    const map = new BoundedMap<string, number>(2);
    map.set("a", 1).set("b", 2);
    for (const [key, value] of map) map.set(key, value + 1);
    expect([...map.values()]).toEqual([2, 3]);
  });
});

describe("BoundedSet", () => {
  it("gives a new value the place of the one that was added first", () => {
    const set = new BoundedSet<string>(2);
    set.add("a").add("b").add("a").add("c");
    expect([...set]).toEqual(["b", "c"]);
  });
});
