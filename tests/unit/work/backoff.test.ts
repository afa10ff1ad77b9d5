import { expect, it } from "vitest";
import { doubledPause } from "../../../core/work/backoff.ts";

it("doubledPause() doubles up to the longest pause, however often", () => {
  const pause = { baseMs: 100, maxMs: 1000 };
  const pauses = [0, 1, 2, 3, 4, 5000].map((doublings) => doubledPause(pause, doublings));
  expect(pauses).toEqual([100, 200, 400, 800, 1000, 1000]);
  expect(doubledPause({ baseMs: 0, maxMs: 1000 }, 5000)).toBe(0);
});
