import { describe, expect, it } from "vitest";
import { objectClock } from "../../../adapters/workers/objects/object-clock.ts";

describe("objectClock()", () => {
  it("never goes back, not in the next life of the object either, and tells the platform's time", () => {
    const kept = new Map<string, number>();
    const kv = {
      get: (key: string) => kept.get(key),
      put: (key: string, to: number) => void kept.set(key, to),
    };
    let wall = 10_000_000;
    const first = objectClock(kv, () => wall);
    expect(first.now()).toBe(10_000_000);
    wall -= 3_600_000;
    expect(first.now()).toBe(10_000_000);
    wall += 500;
    expect(first.now()).toBe(10_000_500);
    expect(first.toWall(10_001_000)).toBe(wall + 500);
    expect(objectClock(kv, () => wall).now()).toBe(10_000_500);
  });

  it("follows a clock that is set ahead", () => {
    let wall = 1000;
    const clock = objectClock(
      { get: () => undefined, put: () => expect.fail("no write") },
      () => wall,
    );
    clock.now();
    wall += 3_600_000;
    expect(clock.now()).toBe(wall);
    expect(clock.toWall(5)).toBe(5);
  });
});
